#include "driver/analysis_sequence.h"

#include <algorithm>
#include <new>
#include <utility>

#include "preprocess/kept_scalings.h"
#include "symbolic/analyze_with_plan.h"

namespace lulab {

namespace {

bool equal_patterns(CscPatternView a, CscPatternView b) {
  return a.n_rows == b.n_rows && a.n_cols == b.n_cols && std::ranges::equal(a.col_ptr, b.col_ptr) &&
         std::ranges::equal(a.row_idx, b.row_idx);
}

}  // namespace

Result<AnalysisSequence::Next> AnalysisSequence::next(const CscView<double>& a, Analysis* earlier) try {
  if (earlier == nullptr || !known_ || !equal_patterns(a, earlier->a)) {
    LULAB_ASSIGN_OR_RETURN(auto rows, match_rows(a, options_));
    return fresh(a, std::move(rows));
  }
  const bool may_keep = options_.matching && options_.scaling && options_.power_of_two;
  auto kept = may_keep ? kept_scalings(a, known_->rows) : std::nullopt;
  bool new_scales = false;
  if (kept) {
    new_scales = *kept != known_->rows.c;
    known_->rows.c = std::move(*kept);
  } else {
    LULAB_ASSIGN_OR_RETURN(auto rows, match_rows(a, options_));
    if (rows.row_of_column != known_->rows.row_of_column) return fresh(a, std::move(rows));
    new_scales = rows.r != known_->rows.r || rows.c != known_->rows.c;
    known_->rows = {std::move(rows.row_of_column), std::move(rows.r), std::move(rows.c), {}};
  }
  Plan plan = known_->plan();
  if (plan.p != earlier->plan.p || plan.q != earlier->plan.q) {  // since then pivots were chosen by value
    LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_with_plan(a, std::move(plan)));
    return Next{CostedAnalysis{std::move(analysis)}};
  }
  earlier->plan = std::move(plan);
  return Next{{}, new_scales};
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the analysis of A");
}

Result<AnalysisSequence::Next> AnalysisSequence::fresh(const CscView<double>& a, MatchedRows rows) {
  Known known = {{rows.row_of_column, rows.r, rows.c, {}}, {}, {}};
  LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_matched(a, std::move(rows), options_, expected_steps_));
  known.vertices = analysis.analysis.plan.q;
  known.order = analysis.analysis.plan.order;
  known_ = std::move(known);
  return Next{std::move(analysis)};
}

}  // namespace lulab
