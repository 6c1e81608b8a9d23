// Left-looking LU, one warp a column, one launch a level.         Chen et al. 2015, section 4 (cluster mode), appendix
// A
//
//   for each level, in order                      one kernel launch; its end orders the levels
//     for each column j of the level, in parallel one warp
//       eliminate column j                        01_warp_per_column_kernel.h

#include "sparse_leftlooking/01_warp_per_column_backend.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {

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
