// Hybrid right-looking LU with three kernel modes.               Peng & Tan 2020, Algorithms 2 and 4, section III-B2
//
//   for each level of the relaxed rule, in order
//     many columns (A):       one launch; a block of W = all warps / columns for each column, a warp for each subcolumn
//     fewer (B):              one launch; a block of as many warps as it can have for each column, else the same
//     up to a threshold (C):  two launches for each column, in up to 16 streams; a block for each subcolumn
//
// Kernels of A and B: 01_column_by_block.h. Kernels of C and all launches: 03_adaptive_modes.h. Which mode a level
// gets:
// 03_kernel_modes.h.

#include "sparse_hybrid/03_adaptive_modes.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {

template <class T>
class Glu3 final : public AdaptiveModesBackend<T> {
 public:
  using AdaptiveModesBackend<T>::AdaptiveModesBackend;

 protected:
  Status prepare_rung() override { return this->prepare_modes(); }
  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    return this->enqueue_levels(f, stream);
  }
};

}  // namespace

const Rung glu3 = rung_of<Glu3>(
    {.id = "sparse_hybrid/03_glu3",
     .stage = "sparse_hybrid",
     .paper = "Peng & Tan 2020, Algorithms 2 and 4, section III-B2: GLU3.0",
     .idea = "levels of the relaxed dependencies; one launch per level, few or many warps per column by the size "
             "of the level; in narrow levels one block per subcolumn and columns in streams",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::levels,
     .deterministic = false,
     .refactors = true,
     .options = mode_options});

}  // namespace lulab::sparse_hybrid
