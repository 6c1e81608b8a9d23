#include "preprocess/ordering.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <amd.h>
#include <colamd.h>
#include <fmt/format.h>

#include "core/matrix/permutation.h"
#include "core/matrix/postorder.h"
#include "preprocess/checks.h"
#include "preprocess/dissection.h"
#include "preprocess/graph_reduction.h"
#include "preprocess/similar_vertices.h"
#include "preprocess/suitesparse.h"

namespace lulab {

namespace {

Status failed(std::string_view library, bool memory) {
  return memory ? Status::error(StatusCode::out_of_memory, fmt::format("{} ran out of memory", library))
                : Status::error(StatusCode::invalid_argument, fmt::format("{} rejected the matrix", library));
}

/// dissect() of groups of similar vertices, where there are.
Result<Permutation> dissect_groups(const CscPattern& graph) {
  const auto groups = group_similar_vertices(graph);
  if (!groups) return dissect(graph);
  LULAB_ASSIGN_OR_RETURN(const auto q, dissect(groups->graph, groups->sizes()));
  return groups->expand(q);
}

/// Postorders the elimination tree of q: every column follows the columns of its subtree. Fill and levels stay the
/// same, and columns that can be eliminated together become neighbours.
/// Source    Liu 1990 (elimination tree with path compression).
Permutation postordered(const CscPattern& g, const Permutation& q) {
  const auto n = static_cast<std::int32_t>(q.size());
  const Permutation place = inverse(q);
  std::vector<std::int32_t> parent(n, n), ancestor(n, n);
  for (std::int32_t k = 0; k < n; ++k)
    for (std::int64_t e = g.col_ptr[q[k]]; e < g.col_ptr[q[k] + 1]; ++e)
      for (std::int32_t i = place[g.row_idx[e]]; i < k;) {
        const std::int32_t up = ancestor[i];
        ancestor[i] = k;
        if (up == n) parent[i] = k;
        i = up == n ? k : up;
      }
  return compose(q, postorder(parent));
}

}  // namespace

namespace {

constexpr double quick_dense = 2;

/// dense: rows and columns with more than dense · √n entries come last, in any order.
Result<Permutation> amd_order(CscPatternView a, double dense, FillEstimate* estimate = nullptr) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "AMD"));
  const std::int64_t most_memory = 12 * a.nnz() / 5 + 8 * std::int64_t(a.n_cols);  // elements of AMD's workspace
  Permutation q(a.n_cols);
  int status = AMD_OK;
  double control[AMD_CONTROL], info[AMD_INFO] = {};
  amd_defaults(control);
  control[AMD_DENSE] = dense;
  if (a.nnz() == 0) {
    std::iota(q.begin(), q.end(), 0);  // a null pointer would be refused
  } else if (most_memory < std::numeric_limits<int>::max()) {
    const std::vector<int> col_ptr(a.col_ptr.begin(), a.col_ptr.end());
    status = ::amd_order(a.n_cols, col_ptr.data(), a.row_idx.data(), q.data(), control, info);
  } else {
    const std::vector<SuiteSparse_long> col_ptr = suitesparse::widen(a.col_ptr),
                                        row_idx = suitesparse::widen(a.row_idx);
    std::vector<SuiteSparse_long> wide_q(a.n_cols);
    status = static_cast<int>(amd_l_order(a.n_cols, col_ptr.data(), row_idx.data(), wide_q.data(), control, info));
    std::ranges::copy(wide_q, q.begin());
  }
  if (status != AMD_OK) return failed("AMD", status == AMD_OUT_OF_MEMORY);
  if (estimate != nullptr) {
    // AMD takes each dense row for full, which most are far from: of circuit_1 and memplus it counts 11 times the
    // entries and 40 times the multiply-adds. Here they count as empty.
    const double full = info[AMD_NDENSE], others = a.n_cols - full;
    const double below = info[AMD_LNZ] - full * (others + (full - 1) / 2);
    const double multiply_adds = info[AMD_NMULTSUBS_LU] - full * (2 * below + others * full + full * full / 3);
    *estimate = {2 * below + a.n_cols, std::max(multiply_adds, 0.0)};
  }
  return q;
}

}  // namespace

Result<Permutation> amd_order(CscPatternView a) { return amd_order(a, AMD_DEFAULT_DENSE); }
Result<Permutation> quick_amd_order(CscPatternView a) { return amd_order(a, quick_dense); }

Result<Permutation> grouped_amd_order(CscPatternView a, FillEstimate& estimate) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "AMD"));
  constexpr std::int64_t least = 4000, least_mean = 10;
  std::optional<VertexGroups> groups;
  if (a.n_cols >= least && a.nnz() >= least_mean * a.n_cols) groups = group_similar_vertices(symmetrized_graph(a));
  if (!groups) return amd_order(a, quick_dense, &estimate);
  const CscPattern sorted = transpose(groups->graph);  // symmetric: itself
  LULAB_ASSIGN_OR_RETURN(const auto q, amd_order(sorted, quick_dense, &estimate));
  const double size = static_cast<double>(a.n_cols) / sorted.n_cols;
  estimate = {estimate.entries * size * size, estimate.multiply_adds * size * size * size};
  return groups->expand(q);
}

Result<Permutation> degree_order(CscPatternView a) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "the order by degree"));
  std::vector<std::int64_t> degree(a.n_cols);
  for (std::int32_t j = 0; j < a.n_cols; ++j) degree[j] = a.col_ptr[j + 1] - a.col_ptr[j];
  for (const std::int32_t i : a.row_idx) ++degree[i];
  Permutation q = identity_permutation(a.n_cols);
  std::ranges::stable_sort(q, {}, [&](std::int32_t j) { return degree[j]; });
  return q;
}

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
  const CscPattern graph = symmetrized_graph(a);
  LULAB_ASSIGN_OR_RETURN(const auto q, dissect_by_metis(graph));
  return postordered(graph, q);
}

Result<Permutation> nd_order(CscPatternView a) {
  LULAB_ASSIGN_OR_RETURN(const auto prepared, NestedDissection::prepare(a));
  return prepared.order();
}

Result<NestedDissection> NestedDissection::prepare(CscPatternView a) {
  LULAB_RETURN_IF_ERROR(checks::square(a, "nested dissection"));
  NestedDissection prepared;
  prepared.graph_ = symmetrized_graph(a);
  prepared.reduced_ = reduce_graph(prepared.graph_);
  return prepared;
}

Result<Permutation> NestedDissection::order() const {
  LULAB_ASSIGN_OR_RETURN(const auto q, dissect_groups(reduced_ ? reduced_->rest : graph_));
  return postordered(graph_, reduced_ ? reduced_->expand(q) : q);
}

}  // namespace lulab
