#include "symbolic/analyze.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "preprocess/ordering.h"
#include "symbolic/fill.h"
#include "symbolic/levels.h"
#include "symbolic/panel_costs.h"

namespace lulab {

namespace {

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

Result<FilledPattern> fill_under(CscPatternView a, const Plan& plan) {
  return fill_gilbert_peierls(permute(a, plan.p, plan.q));
}

/// The same row matching under nested dissection: row p[k] stays with column q[k].
Result<Plan> with_metis_order(CscPatternView a, Plan plan) {
  Permutation row_of_column(plan.p.size());
  for (std::size_t k = 0; k < plan.p.size(); ++k) row_of_column[plan.q[k]] = plan.p[k];
  Result<Permutation> q = metis_order(permute(a, row_of_column, identity_permutation(a.n_cols)));
  if (!q.ok()) return q.status();
  plan.q = std::move(*q);
  plan.p = compose(row_of_column, plan.q);
  plan.order = to_string(Order::metis);
  return plan;
}

Result<Analysis> finish(CscPatternView a, Plan plan, FilledPattern filled) try {
  Result<std::vector<std::int64_t>> map = map_into_filled(a, plan, filled);
  if (!map.ok()) return map.status();
  Schedule schedule = levels_left_looking(filled);
  CscPattern pattern{a.n_rows, a.n_cols, {a.col_ptr.begin(), a.col_ptr.end()}, {a.row_idx.begin(), a.row_idx.end()}};
  return Analysis{std::move(pattern), std::move(plan), std::move(filled), std::move(*map), std::move(schedule)};
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "the maps of the analysis do not fit into memory");
}

}  // namespace

Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options) {
  Result<Plan> plan = preprocess(a, options);
  if (!plan.ok()) return plan.status();
  Result<FilledPattern> filled = fill_under(a, *plan);
  if (options.order == Order::automatic) try {
      Result<Plan> other_plan = with_metis_order(a, *plan);
      if (other_plan.ok()) {
        Result<FilledPattern> other = fill_under(a, *other_plan);
        if (other.ok() && (!filled.ok() || panel_costs(*other).predicted_us < panel_costs(*filled).predicted_us)) {
          plan = std::move(other_plan);
          filled = std::move(other);
        }
      }
    } catch (const std::bad_alloc&) {  // AMD's is there
    }
  if (!filled.ok()) return filled.status();
  return finish(a, std::move(*plan), std::move(*filled));
}

Result<Analysis> analyze_with_plan(CscPatternView a, Plan plan) {
  LULAB_RETURN_IF_ERROR(check_plan(a, plan));
  Result<FilledPattern> filled = fill_under(a, plan);
  if (!filled.ok()) return filled.status();
  return finish(a, std::move(plan), std::move(*filled));
}

Result<std::vector<std::int64_t>> map_into_filled(CscPatternView a, const Plan& plan, const FilledPattern& filled) {
  const Permutation new_row = inverse(plan.p), new_column = inverse(plan.q);
  const auto rows = filled.row_idx.begin();
  std::vector<std::int64_t> position(a.nnz());
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    const auto begin = rows + filled.col_ptr[new_column[j]], end = rows + filled.col_ptr[new_column[j] + 1];
    for (std::int64_t s = a.col_ptr[j]; s < a.col_ptr[j + 1]; ++s) {
      const std::int32_t i = new_row[a.row_idx[s]];
      const auto found = std::lower_bound(begin, end, i);
      if (found == end || *found != i)
        return Status::error(StatusCode::invalid_argument,
                             fmt::format("entry ({}, {}) of A, ({}, {}) under the plan, is not in the filled pattern",
                                         a.row_idx[s], j, i, new_column[j]),
                             {{}, 0, {a.row_idx[s]}, {j}});
      position[s] = found - rows;
    }
  }
  return position;
}

}  // namespace lulab
