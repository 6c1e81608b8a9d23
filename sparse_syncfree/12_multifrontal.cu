// Multifrontal LU of large matrices: dense fronts in device memory, cut into tiles, one launch for all of them.
//
// 10_supernode_panels reads a panel once for each panel that it updates, and most of its time on a large matrix is that
// (G3_circuit: 110 GB for 1.4 GB of L and U). Here a front adds what its children left and leaves one sum to its
// parent, so an entry travels once a level of the tree; and inside a front a tile of 64 x 64 does 64 products for each
// scalar that it reads.
//
//   while a tile is left, in parallel                  resident blocks only, tiles handed out in order
//     X = As(tile)                                     in registers                             12_front_tile.h
//     X(i,j) += what the children left                 once it is there
//     X -= L(I,K) · U(K,J) for tiles K before it       once they are there
//     eliminate: L U = X, X / U or L \ X               in shared memory                         12_front_eliminate.h
//     or leave X to the parent
//
// Children are added in a fixed order and no atomics touch values: results repeat bit by bit. The plan is made on the
// host once a pattern (12_front_plan.h) from an assembly tree (symbolic/assembly_tree.h).

#include "sparse_syncfree/12_front_backend.h"
#include "sparse_syncfree/rungs.h"

namespace lulab::sparse_syncfree {
static constexpr RungOption multifrontal_options[] = {memory_ratio_option};

const Rung multifrontal = rung_of<FrontBackend>(
    {.id = "sparse_syncfree/12_multifrontal",
     .stage = "sparse_syncfree",
     .paper = "ours; multifrontal (Duff & Reid 1983), fronts in tiles by dataflow (Buttari et al. 2009)",
     .idea =
         "dense fronts in device memory, one block per tile of 64 x 64; tiles wait for tiles, a front adds what its "
         "children left",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::panels,
     .deterministic = true,
     .refactors = true,
     .perturbs_pivots = true,
     .options = multifrontal_options,
     .takes_batches = true});

}  // namespace lulab::sparse_syncfree
