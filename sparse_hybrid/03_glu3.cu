// Hybrid right-looking LU with three kernel modes.               Peng & Tan 2020, Algorithms 2 and 4, section III-B2
//
//   for each level of the relaxed rule, in order
//     many columns (A):     a block of W warps a column, W = all warps / columns; a warp a subcolumn     one launch
//     fewer (B):            a block of all its warps a column; a warp a subcolumn                        one launch
//     up to a threshold (C): launches for each column, in up to 16 streams; a block a subcolumn
//
// Which mode when: kernel_modes.h. Their kernels and launches: column_by_block.h, adaptive_modes.h.

#include "sparse_hybrid/adaptive_modes.h"
#include "sparse_hybrid/rungs.h"

namespace lulab::sparse_hybrid {
namespace {

template <class T>
class Glu3 final : public AdaptiveModesFactorizer<T> {
 public:
  using AdaptiveModesFactorizer<T>::AdaptiveModesFactorizer;

 protected:
  Status prepare() override { return this->prepare_modes(); }
  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    return this->enqueue_levels(f, stream);
  }
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<Glu3<T>>(options);
}

}  // namespace

const Rung glu3 = {
    .facts = {.id = "sparse_hybrid/03_glu3",
              .stage = "sparse_hybrid",
              .paper = "Peng & Tan 2020, Algorithms 2 and 4, section III-B2: GLU3.0",
              .idea = "one launch a level of the relaxed dependencies, few or many warps a column by the level's size; "
                      "a block a subcolumn, columns in streams, where levels are narrow",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::levels,
              .deterministic = false,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_hybrid
