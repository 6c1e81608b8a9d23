// Left-looking LU by panels of up to eight columns, one block a task, one launch for all of them.
//
// A panel is a set of consecutive columns with nearly the same rows (a relaxed supernode, symbolic/), stored as a dense
// matrix, rows x columns, with zeros where As has no entry. J is the panel being computed, K an earlier one that
// updates it. A task is a panel, or some rows of one that is too long for the shared memory of a block.
//
//   while a task is left, in parallel                  resident blocks only, tasks handed out in order
//     X = A(rows, J)                                   in shared memory                         10_panel_load_store.h
//     for panels K with U(K,J) != 0, by rank
//       U(K,J) = L(K,K) \ X(K,J)                       every warp for itself                    10_panel_update.h
//       X(i,J) -= L(i,K) · U(K,J)                      a thread a row, once L(i,K) is written;
//                                                      many small panels K in one step          10_panel_gather.h
//     L(J,J) U(J,J) = X(J,J)                           every warp for itself                    10_panel_eliminate.h
//     L(i,J) = X(i,J) / U(J,J)                         a thread a row
//
// A chain of columns then costs a hop between blocks for each panel instead of for each column. The scalars of L are
// full/empty scalars (core/awaited_scalar.h): a reserved NaN means "not written yet", readers spin on the value. The
// tasks of one panel pass U(K,J) to each other in the same way. No atomics touch values: results repeat bit by bit.
//
// The plan is made on the host once a pattern (10_panel_tasks.h), 10_device_panels.h chooses, uploads and launches it;
// the kernel is 10_panel_kernel.h.

#include "sparse_syncfree/10_panel_backend.h"
#include "sparse_syncfree/rungs.h"

namespace lulab::sparse_syncfree {
static constexpr RungOption options[] = {memory_ratio_option};

const Rung supernode_panels = rung_of<PanelBackend>(
    {.id = "sparse_syncfree/10_supernode_panels",
     .stage = "sparse_syncfree",
     .paper = "left-looking supernode-panel updates (Demmel et al. 1999), SFLU's single launch (Zhao et al. 2021)",
     .idea = "one block per panel of up to eight columns in shared memory, updated by whole panels; readers "
             "spin on the values of L instead of flags",
     .pivoting = Pivoting::fixed,
     .device = Device::gpu,
     .dependencies = Dependencies::panels,
     .deterministic = true,
     .refactors = true,
     .perturbs_pivots = true,
     .options = options,
     .takes_batches = true});

}  // namespace lulab::sparse_syncfree
