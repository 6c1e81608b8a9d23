// Left-looking LU by panels of up to eight columns, one block a task, one launch for all of them.
//
//   while a task is left, in parallel                  resident blocks only, tasks handed out in order
//     X = A(rows, J)                                   dense, in shared memory; zeros where As has no entry
//     for panels K with U(K,J) != 0, by rank, many small ones at a time
//       U(K,J) = L(K,K) \ X(K,J)                       every warp for itself
//       X(i,J) -= L(i,K) · U(K,J)                      a thread a row, once L(i,K) is there
//     L(J,J) U(J,J) = X(J,J)                           every warp for itself
//     L(i,J) = X(i,J) / U(J,J)                         a thread a row
//
// What a chain of columns costs is then a hop between blocks a panel instead of one a column. Each scalar of L says by
// itself whether it is there (core/awaited_scalar.h). A panel too long for the shared memory has several tasks; U(K,J)
// goes from the one that has rows K to the others in the same way. No atomics touch values: results repeat bit by bit.

#include <memory>

#include "sparse_syncfree/panel_batch.h"
#include "sparse_syncfree/panel_factorizer.h"
#include "sparse_syncfree/rungs.h"

namespace lulab::sparse_syncfree {
namespace {

PanelOptions panel_options(const FactorOptions& options) {
  return {.perturb_pivots = options.perturb_pivots, .memory_ratio = options.memory_ratio};
}

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<PanelFactorizer<T>>(panel_options(options));
}

template <class T>
std::unique_ptr<BatchFactorizer<T>> make_batch(const FactorOptions& options) {
  return std::make_unique<PanelBatch<T>>(panel_options(options));
}

}  // namespace

const Rung supernode_panels = {
    .facts = {.id = "sparse_syncfree/10_supernode_panels",
              .stage = "sparse_syncfree",
              .paper =
                  "left-looking supernode-panel updates (Demmel et al. 1999), SFLU's single launch (Zhao et al. 2021)",
              .idea = "one block a panel of up to eight columns in shared memory, updated by a panel at a time; each "
                      "scalar of L is its own flag",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::panels,
              .deterministic = true,
              .refactors = true,
              .perturbs_pivots = true},
    .make_float = make<float>,
    .make_double = make<double>,
    .make_batch_float = make_batch<float>,
    .make_batch_double = make_batch<double>};

}  // namespace lulab::sparse_syncfree
