#include <algorithm>
#include <new>
#include <utility>

#include "symbolic/fill.h"
#include "symbolic/rungs.h"
#include "symbolic/sorted_columns.h"

namespace lulab {

const FillRung fill_rungs::gilbert_peierls = {
    .id = "symbolic/01_gilbert_peierls",
    .paper = "Gilbert & Peierls 1988; Eisenstat & Liu 1992",
    .idea = "a column at a time, what it reaches in the graph of L, which symmetric entries prune",
    .device = Device::cpu,
    .is_fast = true,
    .fill = [](CscPatternView b, const FillLimits&, FillWork*) { return fill_gilbert_peierls(b); }};

namespace {

/// Pattern of L + U of A(p,q), rows of a column in any order.
///
/// Column j is what B(:,j) reaches in the graph of L: k -> i when L(i,k) != 0, through vertices k < j. U(:,j) itself
/// is the queue of that search. Once L(j,k) and U(k,j) are both nonzero, every row i > j of L(:,k) is also a row
/// of L(:,j): a later search that visits k visits j too, so k needs to lead to rows <= j only.   Eisenstat & Liu 1992
CscPattern reach_columns(CscPatternView a, std::span<const std::int32_t> p, std::span<const std::int32_t> q) {
  const std::int32_t n = a.n_cols;
  const Permutation new_row = inverse(p);
  CscPattern f;
  f.n_rows = f.n_cols = n;
  f.col_ptr.reserve(n + std::size_t(1));
  f.row_idx.reserve(2 * (a.row_idx.size() + n));
  std::vector<std::int64_t> lower(n), search_end(n);  // L(:,k) starts at lower[k]; rows to follow end at search_end[k]
  std::vector<std::int32_t> seen_in(n, -1);
  std::vector<std::int32_t> u(n + std::size_t(1)), l(n + std::size_t(1));  // of column j
  std::vector<std::int32_t> symmetric;                                     // columns k with L(j,k) and U(k,j)
  for (std::int32_t j = 0; j < n; ++j) {
    std::int32_t u_size = 0, l_size = 0;
    const auto visit = [&](std::int32_t i) {
      if (std::exchange(seen_in[i], j) == j) return;
      u[u_size] = l[l_size] = i;  // into both: whether it is above j cannot be predicted
      u_size += i < j;
      l_size += i > j;
    };
    for (std::int64_t s = a.col_ptr[q[j]]; s < a.col_ptr[q[j] + 1]; ++s) visit(new_row[a.row_idx[s]]);
    symmetric.clear();
    for (std::int32_t head = 0; head < u_size; ++head) {
      const std::int32_t k = u[head];
      bool leads_to_j = false;
      for (std::int64_t s = lower[k]; s < search_end[k]; ++s) {
        const std::int32_t i = f.row_idx[s];
        leads_to_j |= i == j;
        visit(i);
      }
      if (leads_to_j) symmetric.push_back(k);
    }
    const auto rows = f.row_idx.begin();
    for (const std::int32_t k : symmetric)  // only a column not yet pruned holds row j: pruned ones end before j
      search_end[k] =
          std::partition(rows + lower[k], rows + search_end[k], [j](std::int32_t i) { return i <= j; }) - rows;
    f.row_idx.insert(f.row_idx.end(), u.begin(), u.begin() + u_size);
    f.row_idx.push_back(j);
    lower[j] = f.nnz();
    f.row_idx.insert(f.row_idx.end(), l.begin(), l.begin() + l_size);
    search_end[j] = f.nnz();
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

}  // namespace

Result<FilledPattern> fill_gilbert_peierls(CscPatternView b) {
  LULAB_RETURN_IF_ERROR(check_fillable(b));
  const Permutation same = identity_permutation(b.n_cols);
  return fill_permuted(b, same, same);
}

Result<FilledPattern> fill_permuted(CscPatternView a, std::span<const std::int32_t> p,
                                    std::span<const std::int32_t> q) try {
  return sorted_columns(reach_columns(a, p, q));
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

}  // namespace lulab
