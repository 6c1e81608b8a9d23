#include "symbolic/analyze.h"

#include <algorithm>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "preprocess/btf.h"
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

/// Improves a plan and its fill: other orders of the columns, their rows with them, where they are predicted to be faster.
class BestOrder {
 public:
  BestOrder(CscPatternView a, Plan& plan, Result<FilledPattern>& filled)
      : plan_(plan), filled_(filled), row_of_column_(plan.p.size()) {
    for (std::size_t k = 0; k < plan.p.size(); ++k) row_of_column_[plan.q[k]] = plan.p[k];
    matched_ = permute(a, row_of_column_, identity_permutation(a.n_cols));
    if (filled.ok()) costs_ = panel_costs(*filled);
  }

  /// A with each row where its column is.
  CscPatternView matched() const { return matched_; }
  const std::string& name() const { return plan_.order; }
  double multiply_adds() const { return costs_.multiply_adds; }

  void offer(Result<Permutation> q, std::string_view name) {
    if (!q.ok()) return;
    Result<FilledPattern> filled = fill_gilbert_peierls(permute(matched_, *q, *q));
    if (!filled.ok()) return;
    const PanelCosts costs = panel_costs(*filled);
    if (filled_.ok() && !(costs.predicted_us < costs_.predicted_us)) return;
    plan_.p = compose(row_of_column_, *q);
    plan_.q = std::move(*q);
    plan_.order = name;
    filled_ = std::move(filled);
    costs_ = costs;
  }

 private:
  Plan& plan_;
  Result<FilledPattern>& filled_;
  PanelCosts costs_ = {.multiply_adds = std::numeric_limits<double>::infinity()};  // of filled_, unless that failed
  Permutation row_of_column_;
  CscPattern matched_;
};

constexpr double small_multiply_adds = 1e6;  // so little that every order is cheap to try
constexpr double clearly_smaller = 0.99;     // a block with fewer of the columns

/// Requires  AMD's is there, inside the blocks if these are asked for.
void try_other_orders(BestOrder& best, bool blocks) {
  const CscPatternView b = best.matched();
  const bool small = best.multiply_adds() < small_multiply_adds;
  if (!blocks) {
    best.offer(metis_order(b), "metis");
    // It bounds the fill under any row pivots; with the pivots given it won none of 67 real matrices by 0.1 us or more.
    if (small) best.offer(colamd_order(b), "colamd");
  }
  const Result<BlockTriangularForm> components = strong_components(b);
  if (!components.ok()) return;
  // One big block and a few columns: up to 3 % slower than without blocks, and as expensive as METIS.
  if (!blocks && components->biggest() > clearly_smaller * b.n_cols) return;
  const bool metis_was_better = best.name() == "metis";
  if (blocks || small || metis_was_better) best.offer(block_order(b, *components, metis_order), "btf+metis");
  if (!blocks && (small || !metis_was_better)) best.offer(block_order(b, *components, amd_order), "btf+amd");
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
      BestOrder best(a, *plan, filled);
      try_other_orders(best, options.blocks);
    } catch (const std::bad_alloc&) {  // the best so far is there
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
