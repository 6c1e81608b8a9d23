#include "symbolic/analyze_with_plan.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "core/in_parallel.h"
#include "symbolic/column_parts.h"
#include "symbolic/fill.h"

namespace lulab {

namespace {

constexpr std::int64_t entries_a_thread = 500'000;  // of L+U: half a millisecond
constexpr int most_map_threads = 8;

Status check_plan(CscPatternView a, const Plan& plan) {
  const auto bad = [](std::string message) { return Status::error(StatusCode::invalid_argument, std::move(message)); };
  if (a.n_rows != a.n_cols)
    return bad(fmt::format("analysis needs a square matrix; this one is {} x {}", a.n_rows, a.n_cols));
  LULAB_RETURN_IF_ERROR(check_sorted(a));
  const auto n = static_cast<std::size_t>(a.n_cols);
  if (plan.p.size() != n || plan.q.size() != n || plan.r.size() != n || plan.c.size() != n)
    return bad(fmt::format("the plan's p, q, r, c have {}, {}, {}, {} elements; the matrix has n = {}", plan.p.size(),
                           plan.q.size(), plan.r.size(), plan.c.size(), n));
  if (!is_permutation(plan.p)) return bad("the plan's p is not a permutation");
  if (!is_permutation(plan.q)) return bad("the plan's q is not a permutation");
  return {};
}

/// Names the first entry in column k of P·R·A·C·Q that the pattern lacks.
Status not_in_pattern(CscPatternView a, const Plan& plan, const FilledPattern& filled, const Permutation& new_row,
                      std::int32_t k) {
  const std::int32_t j = plan.q[k];
  const auto begin = filled.row_idx.begin() + filled.col_ptr[k], end = filled.row_idx.begin() + filled.col_ptr[k + 1];
  std::int64_t s = a.col_ptr[j];
  while (std::binary_search(begin, end, new_row[a.row_idx[s]])) ++s;
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("entry ({}, {}) of A, ({}, {}) under the plan, is not in the filled pattern",
                                   a.row_idx[s] + 1, j + 1, new_row[a.row_idx[s]] + 1, k + 1),
                       {{}, 0, {a.row_idx[s]}, {j}});
}

}  // namespace

Result<FilledPattern> fill_under(CscPatternView a, const Plan& plan) { return fill_permuted(a, plan.p, plan.q); }

Result<Analysis> analyze_with_fill(CscPatternView a, Plan plan, FilledPattern filled,
                                   std::span<const WorkOnFill> beside) try {
  Result<std::vector<std::int64_t>> map = std::vector<std::int64_t>{};
  CscPattern pattern{a.n_rows, a.n_cols, {a.col_ptr.begin(), a.col_ptr.end()}, {a.row_idx.begin(), a.row_idx.end()}};
  const auto items = static_cast<int>(beside.size()) + 1;
  share_out(items, threads_for(filled.nnz(), entries_a_thread, items), [&](std::int32_t item, int) {
    if (item + 1 == items)
      map = map_into_filled(a, plan, filled);
    else
      beside[item](filled);
  });
  if (!map.ok()) return map.status();
  return Analysis{std::move(pattern), std::move(plan), std::move(filled), std::move(*map)};
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "the maps of the analysis do not fit into memory; try another order");
}

Result<Analysis> analyze_with_plan(CscPatternView a, Plan plan) {
  LULAB_RETURN_IF_ERROR(check_plan(a, plan));
  LULAB_ASSIGN_OR_RETURN(auto filled, fill_under(a, plan));
  return analyze_with_fill(a, std::move(plan), std::move(filled));
}

Result<std::vector<std::int64_t>> map_into_filled(CscPatternView a, const Plan& plan, const FilledPattern& filled) {
  const Permutation new_row = inverse(plan.p);
  std::vector<std::int64_t> position(a.nnz());
  const int parts = threads_for(filled.nnz(), entries_a_thread, most_map_threads);
  std::vector<std::int32_t> missing(parts, filled.n);  // the first column of each part with such an entry
  in_parallel(parts, [&](int part) {
    std::vector<std::int64_t> place(filled.n, -1);  // of a row in the current column, if not before its start
    for (std::int32_t k = first_column(filled, part, parts); k < first_column(filled, part + 1, parts); ++k) {
      const std::int64_t begin = filled.col_ptr[k];
      for (std::int64_t s = begin; s < filled.col_ptr[k + 1]; ++s) place[filled.row_idx[s]] = s;
      const std::int32_t j = plan.q[k];
      for (std::int64_t s = a.col_ptr[j]; s < a.col_ptr[j + 1]; ++s) {
        position[s] = place[new_row[a.row_idx[s]]];
        if (position[s] < begin) missing[part] = std::min(missing[part], k);
      }
    }
  });
  if (const std::int32_t k = std::ranges::min(missing); k < filled.n)
    return not_in_pattern(a, plan, filled, new_row, k);
  return position;
}

}  // namespace lulab
