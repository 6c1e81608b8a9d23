#include "driver/block_condition.h"

#include <algorithm>

#include "core/factors.h"
#include "driver/pivot_check.h"
#include "driver/solver.h"
#include "preprocess/btf.h"
#include "solve/condest.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab {
namespace {

/// A([first, last), [first, last))
CscMatrix<double> diagonal_block(const CscMatrix<double>& a, std::int32_t first, std::int32_t last) {
  CscMatrix<double> block;
  block.n_rows = block.n_cols = last - first;
  for (std::int32_t j = first; j < last; ++j) {
    for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k) {
      if (a.row_idx[k] < first || a.row_idx[k] >= last) continue;
      block.row_idx.push_back(a.row_idx[k] - first);
      block.values.push_back(a.values[k]);
    }
    block.col_ptr.push_back(block.nnz());
  }
  return block;
}

Result<double> estimate_rcond_scaled(const CscMatrix<double>& a) {
  Solver<double> solver(sparse_leftlooking::reference, {.factor = {.pivot_tol = 0.1}});
  Status status = solver.analyze(a);
  if (status.ok()) status = solver.factor(a);
  if (asks_for_pivots(status) || status.code == StatusCode::structurally_singular) return 0.0;
  LULAB_RETURN_IF_ERROR(std::move(status));
  return estimate_condition<double>(a, solver.factors()).rcond_scaled;
}

}  // namespace

Result<double> estimate_rcond_of_blocks(const CscView<double>& a) {
  LULAB_ASSIGN_OR_RETURN(const auto form, block_triangular_form(a));
  const CscMatrix<double> b = permute(a, form.p, form.q);
  double smallest = 1;
  for (std::int32_t k = 0; k < form.n_blocks(); ++k) {
    LULAB_ASSIGN_OR_RETURN(const double rcond,
                           estimate_rcond_scaled(diagonal_block(b, form.block_ptr[k], form.block_ptr[k + 1])));
    smallest = std::min(smallest, rcond);
  }
  return smallest;
}

}  // namespace lulab
