// Left-looking LU, one warp a column, one launch a level.         Chen et al. 2015, section 4 (cluster mode), appendix
// A
//
//   for each level, in order                      one kernel launch; its end orders the levels
//     for each column j of the level, in parallel one warp
//       eliminate column j                        01_warp_per_column_kernel.h

#include "sparse_leftlooking/01_warp_per_column_kernel.h"
#include "sparse_leftlooking/column_by_warp.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

template <class T>
class WarpPerColumn final : public ColumnByWarpBackend<T> {
 public:
  using ColumnByWarpBackend<T>::ColumnByWarpBackend;

 protected:
  Status prepare_rung() override {
    LULAB_ASSIGN_OR_RETURN(auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(eliminate_level_kernel<T>, 32 * warps_per_block));
    const auto& level_ptr = this->analysis().schedule.level_ptr;
    std::int64_t widest = 0;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l) widest = std::max(widest, level_ptr[l + 1] - level_ptr[l]);
    return this->make_work(blocks_per_sm, widest);
  }

  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->analysis().schedule.level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l)
      LULAB_RETURN_IF_ERROR(
          this->eliminate(eliminate_level_kernel<T>, f, level_ptr[l], level_ptr[l + 1] - level_ptr[l], stream));
    return {};
  }
};

}  // namespace

const Rung warp_per_column =
    rung_of<WarpPerColumn>({.id = "sparse_leftlooking/01_warp_per_column",
                            .stage = "sparse_leftlooking",
                            .paper = "Chen et al. 2015, section 4, cluster mode",
                            .idea = "one warp eliminates one column in a dense work vector; one launch per level",
                            .pivoting = Pivoting::fixed,
                            .device = Device::gpu,
                            .dependencies = Dependencies::levels,
                            .deterministic = true,
                            .refactors = true,
                            .options = warp_options});

}  // namespace lulab::sparse_leftlooking
