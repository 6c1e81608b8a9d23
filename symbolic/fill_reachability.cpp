#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "symbolic/fill.h"

namespace lulab {

namespace {

using Set = std::uint64_t;  // bit v: vertex v

Set single(std::int32_t v) { return Set(1) << v; }

/// Is there a path i -> j in the graph (edges_from[v]: where v leads) whose inner vertices all lie in `inner`?
bool path_exists(const std::vector<Set>& edges_from, std::int32_t i, std::int32_t j, Set inner) {
  Set visited = 0;
  Set frontier = edges_from[i];
  while (!(frontier & single(j))) {
    const Set next = frontier & inner & ~visited;
    if (next == 0) return false;
    const int v = std::countr_zero(next);
    visited |= single(v);
    frontier |= edges_from[v];
  }
  return true;
}

}  // namespace

Result<FilledPattern> fill_reachability(CscPatternView b) {
  if (b.n_rows != b.n_cols) return Status::error(StatusCode::invalid_argument, "fill needs a square matrix");
  LULAB_RETURN_IF_ERROR(check_sorted(b));
  if (b.n_cols > 64)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("brute-force fill is for n <= 64; n = {}: use fill_gilbert_peierls", b.n_cols));
  std::vector<Set> edges_from(b.n_rows, 0);
  for (std::int32_t j = 0; j < b.n_cols; ++j)
    for (std::int64_t s = b.col_ptr[j]; s < b.col_ptr[j + 1]; ++s) edges_from[b.row_idx[s]] |= single(j);
  FilledPattern f;
  f.n = b.n_cols;
  for (std::int32_t j = 0; j < f.n; ++j) {
    for (std::int32_t i = 0; i < f.n; ++i) {
      if (i == j) f.diag.push_back(f.nnz());
      if (i == j || path_exists(edges_from, i, j, single(std::min(i, j)) - 1)) f.row_idx.push_back(i);
    }
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

}  // namespace lulab
