#include "driver/analysis_sequence.h"

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "model/panel_costs_cpu.h"
#include "preprocess/btf.h"
#include "preprocess/kept_scalings.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab {

namespace {

bool equal_patterns(CscPatternView a, CscPatternView b) {
  return a.n_rows == b.n_rows && a.n_cols == b.n_cols && std::ranges::equal(a.col_ptr, b.col_ptr) &&
         std::ranges::equal(a.row_idx, b.row_idx);
}

std::span<const std::int32_t> rows_of(CscPatternView a, std::int32_t j) {
  return a.row_idx.subspan(a.col_ptr[j], a.col_ptr[j + 1] - a.col_ptr[j]);
}

/// Entries that only one of two graphs has.   row_of_column: of the graph of a, of that of b; permutations.
std::int64_t changed_entries(CscPatternView a, const Permutation& rows_of_a, CscPatternView b,
                             const Permutation& rows_of_b) {
  const bool same_rows = rows_of_a == rows_of_b;
  const Permutation vertex_a = inverse(rows_of_a), vertex_b = inverse(rows_of_b);
  std::vector<std::int32_t> seen(a.n_cols, -1);  // the last column of a with this vertex
  std::int64_t changed = 0;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    const auto in_a = rows_of(a, j), in_b = rows_of(b, j);
    if (same_rows && std::ranges::equal(in_a, in_b)) continue;
    for (const std::int32_t i : in_a) seen[vertex_a[i]] = j;
    const auto common = std::ranges::count_if(in_b, [&](std::int32_t i) { return seen[vertex_b[i]] == j; });
    changed += std::ssize(in_a) + std::ssize(in_b) - 2 * common;
  }
  return changed;
}

double cpu_us(const FilledPattern& filled) { return cpu_costs(filled, 1).predicted_us; }

}  // namespace

bool AnalysisSequence::Known::takes_longer(const KnownCosts& now) const {
  const auto is_slower = [](const auto& costs, double known_us) {
    return !(costs && costs->predicted_us <= max_slowdown * known_us);
  };
  return gpu_us ? is_slower(now.gpu, *gpu_us) : is_slower(now.cpu, *cpu_us);
}

Result<AnalysisSequence::Next> AnalysisSequence::next(const CscView<double>& a, Analysis* earlier) try {
  const bool similar = earlier != nullptr && known_ && a.n_rows == earlier->a.n_rows && a.n_cols == earlier->a.n_cols;
  const bool known = similar && equal_patterns(a, earlier->a);
  if (similar && !known) LULAB_RETURN_IF_ERROR(check_sorted(a));
  std::optional<MatchedRows> rows;
  if (similar) rows = kept_rows(a);
  if (!rows) {
    const auto preferred =
        similar ? std::span<const std::int32_t>(known_->rows.row_of_column) : std::span<const std::int32_t>();
    LULAB_ASSIGN_OR_RETURN(rows, match_rows(a, options_, preferred));
  }
  if (!similar) {
    LULAB_ASSIGN_OR_RETURN(auto chosen, fresh(a, std::move(*rows), purpose_));
    return Next{std::move(chosen)};
  }
  if (!known || rows->row_of_column != known_->rows.row_of_column) return with_changes(a, std::move(*rows), *earlier);
  return with_scales(a, std::move(*rows), *earlier);
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the analysis of A");
}

/// Those of the earlier matrix, where match_rows() would promise no more.
std::optional<MatchedRows> AnalysisSequence::kept_rows(const CscView<double>& a) const {
  if (!options_.matching || !options_.scaling || !options_.power_of_two) return std::nullopt;
  auto c = kept_scalings(a, known_->rows);
  if (!c) return std::nullopt;
  return MatchedRows{known_->rows.row_of_column, known_->rows.r, std::move(*c), {}};
}

/// The pattern and the rows are known.
Result<AnalysisSequence::Next> AnalysisSequence::with_scales(const CscView<double>& a, MatchedRows rows,
                                                             Analysis& earlier) {
  const bool new_scales = rows.r != known_->rows.r || rows.c != known_->rows.c;
  rows.moved = {};
  known_->rows = std::move(rows);
  Plan plan = known_->plan();
  if (plan.p != earlier.plan.p || plan.q != earlier.plan.q) {  // since then pivots were chosen by value
    LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_with_plan(a, std::move(plan)));
    return Next{CostedAnalysis{std::move(analysis), {}, known_->put_off_us}};
  }
  earlier.plan = std::move(plan);
  return Next{{}, new_scales};
}

Result<AnalysisSequence::Next> AnalysisSequence::with_changes(const CscView<double>& a, MatchedRows rows,
                                                              const Analysis& earlier) {
  const std::int64_t changed = changed_entries(earlier.a, known_->rows.row_of_column, a, rows.row_of_column);
  const auto is_few = [&](std::int64_t entries) {
    return static_cast<double>(entries) <= max_changed * static_cast<double>(a.nnz());
  };
  known_->changed += changed;
  if (!known_->cpu_us && !known_->gpu_us && earlier.plan.p == known_->plan().p && earlier.plan.q == known_->vertices)
    known_->cpu_us = cpu_us(earlier.filled);
  if (is_few(known_->changed) && (known_->cpu_us || known_->gpu_us)) {
    LULAB_ASSIGN_OR_RETURN(auto analysis, in_known_order(a, rows, earlier.fronts != nullptr));
    if (analysis) {
      known_->vertices = analysis->analysis.plan.q;
      known_->rows = {std::move(rows.row_of_column), std::move(rows.r), std::move(rows.c), {}};
      return Next{std::move(analysis)};
    }
  }
  rows.move(a);
  const FirstSteps first_steps = is_few(changed) ? known_->first_steps : FirstSteps{};
  Purpose purpose = purpose_;
  if (first_steps.are_over) purpose.first_answer_first = false;
  LULAB_ASSIGN_OR_RETURN(auto chosen, fresh(a, std::move(rows), purpose));
  known_->first_steps = first_steps;
  return Next{std::move(chosen)};
}

Result<CostedAnalysis> AnalysisSequence::order_for_all_steps(const CscView<double>& a) try {
  std::optional<MatchedRows> rows = kept_rows(a);
  if (rows) {
    rows->move(a);
  } else {
    LULAB_ASSIGN_OR_RETURN(rows, match_rows(a, options_, known_->rows.row_of_column));
  }
  LULAB_ASSIGN_OR_RETURN(auto chosen, fresh(a, std::move(*rows), {.expected_steps = purpose_.expected_steps}));
  known_->first_steps.are_over = true;
  return chosen;
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the analysis of A");
}

/// Nothing where another order is to be chosen.
Result<std::optional<CostedAnalysis>> AnalysisSequence::in_known_order(const CscView<double>& a,
                                                                       const MatchedRows& rows, bool by_fronts) const {
  const std::optional<CostedAnalysis> another_order;
  MatchedRows with_graph = rows;
  with_graph.move(a);
  LULAB_ASSIGN_OR_RETURN(const auto how, with_order({}, known_->order));
  if (how.blocks) {
    const CscPatternView graph = with_graph.graph(a);
    LULAB_ASSIGN_OR_RETURN(const auto components, strong_components(graph));
    if (!is_block_order(graph, components, known_->vertices)) return another_order;
  }
  const KnownOrder known = {known_->vertices, known_->order, known_->gpu_us.has_value(), by_fronts};
  LULAB_ASSIGN_OR_RETURN(auto in_order, analyze_in_order(a, std::move(with_graph), known, fill_on_));
  if (known_->takes_longer(in_order.costs)) return another_order;
  in_order.put_off_us = known_->put_off_us;
  return std::optional(std::move(in_order));
}

Result<CostedAnalysis> AnalysisSequence::fresh(const CscView<double>& a, MatchedRows rows, const Purpose& purpose) {
  Known known = {.rows = {rows.row_of_column, rows.r, rows.c, {}}};
  LULAB_ASSIGN_OR_RETURN(auto chosen, analyze_matched(a, std::move(rows), options_, purpose, fill_on_));
  known.vertices = chosen.analysis.plan.q;
  known.order = chosen.analysis.plan.order;
  if (chosen.costs.gpu) known.gpu_us = chosen.costs.gpu->predicted_us;
  if (chosen.costs.cpu) known.cpu_us = chosen.costs.cpu->predicted_us;
  known.put_off_us = chosen.put_off_us;
  known_ = std::move(known);
  return chosen;
}

}  // namespace lulab
