// Synchronization-free LU as published: one launch, a block a column, a degree to wait for.
// Zhao et al. 2021, Algorithm 2
//
//   for all columns k, in parallel
//     wait for each column that k needs, in the order of its rows, and subtract it
//     divide by the pivot, count its degree down to 0                        01_sflu_kernel.h

#include "sparse_syncfree/01_sflu_kernel.h"
#include "sparse_syncfree/rungs.h"

namespace lulab::sparse_syncfree {
namespace {}  // namespace

const Rung sflu = rung_of<SfluBackend>(
    {.id = "sparse_syncfree/01_sflu",
     .stage = "sparse_syncfree",
     .paper = "Zhao et al. 2021 (SFLU), Algorithm 2",
     .idea = "one launch, one block per column; its thread 0 waits until the degree of each column it needs is "
             "zero",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::walking,
     .deterministic = true,
     .refactors = true});

}  // namespace lulab::sparse_syncfree
