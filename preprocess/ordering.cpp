#include "preprocess/ordering.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include <amd.h>
#include <colamd.h>
#include <fmt/format.h>
#include <metis.h>

#include "core/matrix/permutation.h"
#include "preprocess/checks.h"
#include "preprocess/suitesparse.h"

namespace lulab {

namespace {

Status failed(std::string_view library, bool memory) {
  return memory ? Status::error(StatusCode::out_of_memory, fmt::format("{} ran out of memory", library))
                : Status::error(StatusCode::invalid_argument, fmt::format("{} rejected the matrix", library));
}

struct Graph {
  std::vector<idx_t> first, neighbours;  // vertex v: neighbours[first[v] .. first[v+1])
};

/// Off-diagonal entries of A + Aᵀ: the sorted columns of A and of Aᵀ, merged.
Result<Graph> symmetrized_graph(CscPatternView a) {
  constexpr std::size_t limit = std::numeric_limits<idx_t>::max();
  const CscPattern at = transpose(a);
  Graph g;
  g.first.reserve(a.n_cols + std::size_t(1));
  g.first.push_back(0);
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    std::int64_t s = a.col_ptr[j], t = at.col_ptr[j];
    while (s < a.col_ptr[j + 1] || t < at.col_ptr[j + 1]) {
      const std::int32_t from_a = s < a.col_ptr[j + 1] ? a.row_idx[s] : a.n_rows;
      const std::int32_t from_at = t < at.col_ptr[j + 1] ? at.row_idx[t] : a.n_rows;
      const std::int32_t i = std::min(from_a, from_at);
      s += from_a == i;
      t += from_at == i;
      if (i != j) g.neighbours.push_back(i);
    }
    if (g.neighbours.size() > limit)
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("the graph of A + A' has more than {} edges, the limit of this METIS; "
                                       "use the order amd or a METIS built with 64-bit indices",
                                       limit));
    g.first.push_back(static_cast<idx_t>(g.neighbours.size()));
  }
  return g;
}

/// Postorders the elimination tree of q: every column follows the columns of its subtree. Fill and levels stay the
/// same, and columns that can be eliminated together become neighbours.
/// Source    Liu 1990 (elimination tree with path compression; postorder).
Permutation postordered(const Graph& g, const Permutation& q) {
  const auto n = static_cast<std::int32_t>(q.size());
  const Permutation place = inverse(q);
  std::vector<std::int32_t> parent(n, n), ancestor(n, n);
  for (std::int32_t k = 0; k < n; ++k)
    for (idx_t e = g.first[q[k]]; e < g.first[q[k] + 1]; ++e)
      for (std::int32_t i = place[g.neighbours[e]]; i < k;) {
        const std::int32_t up = ancestor[i];
        ancestor[i] = k;
        if (up == n) parent[i] = k;
        i = up == n ? k : up;
      }
  std::vector<std::int32_t> next_child(n + std::size_t(1), -1), next_sibling(n, -1), path = {n};
  for (std::int32_t k = n - 1; k >= 0; --k) next_sibling[k] = std::exchange(next_child[parent[k]], k);
  Permutation ordered;
  ordered.reserve(n);
  while (!path.empty()) {
    const std::int32_t k = path.back(), child = next_child[k];
    if (child >= 0) {
      next_child[k] = next_sibling[child];
      path.push_back(child);
    } else {
      if (k < n) ordered.push_back(q[k]);
      path.pop_back();
    }
  }
  return ordered;
}

}  // namespace

namespace {

/// dense: rows and columns with more than dense · √n entries come last, in any order.
Result<Permutation> amd_order(CscPatternView a, double dense) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "AMD"));
  const std::int64_t most_memory = 12 * a.nnz() / 5 + 8 * std::int64_t(a.n_cols);  // elements of AMD's workspace
  Permutation q(a.n_cols);
  int status = AMD_OK;
  double control[AMD_CONTROL];
  amd_defaults(control);
  control[AMD_DENSE] = dense;
  if (a.nnz() == 0) {
    std::iota(q.begin(), q.end(), 0);  // a null pointer would be refused
  } else if (most_memory < std::numeric_limits<int>::max()) {
    const std::vector<int> col_ptr(a.col_ptr.begin(), a.col_ptr.end());
    status = ::amd_order(a.n_cols, col_ptr.data(), a.row_idx.data(), q.data(), control, nullptr);
  } else {
    const std::vector<SuiteSparse_long> col_ptr = suitesparse::widen(a.col_ptr),
                                        row_idx = suitesparse::widen(a.row_idx);
    std::vector<SuiteSparse_long> wide_q(a.n_cols);
    status = static_cast<int>(amd_l_order(a.n_cols, col_ptr.data(), row_idx.data(), wide_q.data(), nullptr, nullptr));
    std::ranges::copy(wide_q, q.begin());
  }
  if (status != AMD_OK) return failed("AMD", status == AMD_OUT_OF_MEMORY);
  return q;
}

}  // namespace

Result<Permutation> amd_order(CscPatternView a) { return amd_order(a, AMD_DEFAULT_DENSE); }
Result<Permutation> quick_amd_order(CscPatternView a) { return amd_order(a, 2); }

Result<Permutation> colamd_order(CscPatternView a) {
  LULAB_RETURN_IF_ERROR(check_sorted(a));
  std::vector<SuiteSparse_long> q = suitesparse::widen(a.col_ptr), work = suitesparse::widen(a.row_idx);
  const std::size_t length = colamd_l_recommended(a.nnz(), a.n_rows, a.n_cols);
  work.resize(length);
  SuiteSparse_long stats[COLAMD_STATS];
  if (length == 0 ||
      !colamd_l(a.n_rows, a.n_cols, static_cast<SuiteSparse_long>(length), work.data(), q.data(), nullptr, stats))
    return failed("COLAMD", length == 0);
  return Permutation(q.begin(), q.begin() + a.n_cols);
}

Result<Permutation> metis_order(CscPatternView a) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "METIS"));
  LULAB_ASSIGN_OR_RETURN(auto graph, symmetrized_graph(a));
  if (graph.neighbours.empty()) return identity_permutation(a.n_cols);  // METIS needs at least one edge
  idx_t n = a.n_cols;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 4321;
  std::vector<idx_t> q(n), inverse_of_q(n);
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);  // RACE: METIS draws from the process-wide rand(); alone it is repeatable
  const int status =
      METIS_NodeND(&n, graph.first.data(), graph.neighbours.data(), nullptr, options, q.data(), inverse_of_q.data());
  if (status != METIS_OK) return failed("METIS", status == METIS_ERROR_MEMORY);
  return postordered(graph, Permutation(q.begin(), q.end()));
}

}  // namespace lulab
