// Multifrontal LU by chunks of columns, one launch for all of them.
//
// In 10_supernode_panels a block applies all updates of its panel one after the other, though most have long been
// there: two thirds of its critical path. Here the sender adds. A chunk eliminates its columns and the rows of the same
// numbers (entry (i,j) belongs to the chunk of min(i,j)), sums what its pivots subtract from an entry of another chunk,
// and publishes that sum as one full/empty scalar (core/awaited_scalar.h). The owner adds one scalar a chunk and entry,
// in a fixed order: no atomics touch values, and results repeat bit by bit.
//
//   while a task is left, in parallel                 resident blocks only, tasks handed out in order
//     X = A(rows and columns of the chunk)            in shared memory                        11_fan_in_kernel.h
//     X(i,j) -= Σ words, once they are written                                                11_fan_in_words.h
//     for its pivots k:  X(i,j) -= L(i,k) · U(k,j)    by lists, level by level                11_fan_in_sparse.h
//                                                     or as a dense front                     11_fan_in_dense.h
//     publish Σ L(i,k) · U(k,j) for entries (i,j) of other chunks
//
// The plan is made on the host once a pattern (11_fan_in_plan.h) from chunks of its own (11_fan_in_chunks.h).

#include "sparse_syncfree/11_fan_in_backend.h"
#include "sparse_syncfree/rungs.h"

namespace lulab::sparse_syncfree {
static constexpr RungOption fan_in_rung_options[] = {memory_ratio_option};

const Rung fan_in = rung_of<FanInBackend>(
    {.id = "sparse_syncfree/11_fan_in",
     .stage = "sparse_syncfree",
     .paper =
         "ours; multifrontal (Duff & Reid 1983), contributions summed by the sender (fan-in, Ashcraft et al. 1990)",
     .idea = "one block per chunk of columns and rows; it sums what it subtracts from an entry of a later chunk, and "
             "publishes one scalar for it",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::panels,
     .deterministic = true,
     .refactors = true,
     .perturbs_pivots = true,
     .options = fan_in_rung_options,
     .takes_batches = true});

}  // namespace lulab::sparse_syncfree
