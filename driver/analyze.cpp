#include "driver/analyze.h"

#include <algorithm>
#include <limits>
#include <new>

#include "model/panel_costs.h"
#include "model/panel_costs_cpu.h"
#include "preprocess/btf.h"
#include "preprocess/ordering.h"
#include "symbolic/analyze_with_plan.h"
#include "symbolic/fill.h"

namespace lulab {

namespace {

/// Improves a plan and its fill: other orders of the columns, their rows with them, where they are predicted to be
/// faster.
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
    Result<FilledPattern> filled = fill_permuted(matched_, *q, *q);
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
constexpr double metis_us_an_entry = 0.35;   // of A; eleven matrices of bench/results, within a factor of 2

/// Not where all the steps together take less on one core of the host than METIS would.
bool other_orders_pay(const FilledPattern& of_amd, std::int64_t entries, double expected_steps) {
  return cpu_costs(of_amd, 1).predicted_us * expected_steps > metis_us_an_entry * static_cast<double>(entries);
}

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

}  // namespace

Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options, double expected_steps) {
  LULAB_ASSIGN_OR_RETURN(auto plan, preprocess(a, options));
  Result<FilledPattern> filled = fill_under(a, plan);
  if (options.order == Order::automatic) try {
      if (!filled.ok() || other_orders_pay(*filled, a.nnz(), expected_steps)) {
        BestOrder best(a, plan, filled);
        try_other_orders(best, options.blocks);
      }
    } catch (const std::bad_alloc&) {  // the best so far is there
    }
  if (!filled.ok()) return filled.status();
  return analyze_with_fill(a, std::move(plan), std::move(*filled));
}

}  // namespace lulab
