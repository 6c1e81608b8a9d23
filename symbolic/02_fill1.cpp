// Rose & Tarjan 1978; Gaihre et al. 2021, Fig. 3(a): a search in the filled graph.
//
// Theirs finds row src of the factors from the rows of A, through rows of U. The columns of B are the rows of Bᵀ, and
// with all pivots on the diagonal the pattern for Bᵀ is that for B, transposed. So src is a column of B here, A(v,:) is
// B(:,v), U(v,:) is L(:,v), and the rows < src of the result are U(:,src). The same holds for every search below.

#include <new>
#include <utility>

#include "symbolic/fill.h"
#include "symbolic/rungs.h"
#include "symbolic/sorted_columns.h"

namespace lulab {

const FillRung fill_rungs::fill1 = {
    .id = "symbolic/02_fill1",
    .paper = "Rose & Tarjan 1978; Gaihre et al. 2021, Fig. 3(a)",
    .idea = "a source at a time, breadth first in the graph of what is filled so far",
    .device = Device::cpu,
    .fill = [](CscPatternView b, const FillLimits&, FillWork*) { return lulab::fill1(b); }};

namespace {

CscPattern search_filled_graph(CscPatternView b) {
  const std::int32_t n = b.n_cols;
  CscPattern f = {n, n, {0}, {}};
  std::vector<std::int64_t> lower(n);               // L(:,k) starts here
  std::vector<std::int32_t> fill(n, -1);            // fill(v) == src: visited
  std::vector<std::int32_t> frontier_queue, below;  // U(:,src) without its diagonal; L(:,src)
  for (std::int32_t src = 0; src < n; ++src) {
    frontier_queue.clear();
    below.clear();
    fill[src] = src;
    const auto visit = [&](std::int32_t v) {
      if (std::exchange(fill[v], src) != src) (v < src ? frontier_queue : below).push_back(v);
    };
    for (std::int64_t s = b.col_ptr[src]; s < b.col_ptr[src + 1]; ++s) visit(b.row_idx[s]);
    for (std::size_t head = 0; head < frontier_queue.size(); ++head) {
      const std::int32_t frontier = frontier_queue[head];
      for (std::int64_t s = lower[frontier]; s < f.col_ptr[frontier + 1]; ++s) visit(f.row_idx[s]);
    }
    f.row_idx.insert(f.row_idx.end(), frontier_queue.begin(), frontier_queue.end());
    f.row_idx.push_back(src);
    lower[src] = f.nnz();
    f.row_idx.insert(f.row_idx.end(), below.begin(), below.end());
    f.col_ptr.push_back(f.nnz());
  }
  return f;
}

}  // namespace

Result<FilledPattern> fill1(CscPatternView b) try {
  LULAB_RETURN_IF_ERROR(check_fillable(b));
  return sorted_columns(search_filled_graph(b));
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

}  // namespace lulab
