// Left-looking LU, one warp a column, one launch for all columns.        Chen et al. 2015, appendix A.1 (pipeline mode)
//
//   while a column is left, in parallel           resident warps only, columns handed out in level order
//     eliminate column j, waiting for each L(:,k) with U(k,j) != 0 before it is used
//     publish column j                            02_pipeline_kernel.h
//
// No launch lies between levels: a column of the next level starts while the longest of this one is still being
// eliminated.

#include "sparse_leftlooking/02_pipeline_backend.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {

const Rung pipeline = rung_of<Pipeline>(
    {.id = "sparse_leftlooking/02_pipeline",
     .stage = "sparse_leftlooking",
     .paper = "Chen et al. 2015, section 4 and appendix A.1, pipeline mode",
     .idea = "one launch: resident warps take columns in level order and wait for the flag of each column "
             "they need",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::fine,  // a warp passes over finished columns without a hop
     .deterministic = true,
     .refactors = true,
     .options = warp_options});

}  // namespace lulab::sparse_leftlooking
