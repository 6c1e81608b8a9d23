#include "sparse_leftlooking/column_panels.h"

#include <algorithm>
#include <iterator>

namespace lulab::sparse_leftlooking {

namespace {

// In units of one multiply-add of a single column, measured: what a panel pays for one entry of L in all its lanes, and
// what starting on a column of L costs.
constexpr double panel_entry = 3;
constexpr double source_start = 4;

using Rows = std::vector<std::int32_t>;

class Builder {
 public:
  explicit Builder(const FilledPattern& filled) : f_(filled) {
    panels_.panel_of.resize(f_.n);
    describe_columns_of_l();
  }

  ColumnPanels build() {
    for (std::int32_t d = 0; d < f_.n;) {
      const std::int32_t end = d + best_width(d);
      start(d);
      for (std::int32_t k = d + 1; k < end; ++k) take(d, k);
      finish(d, end);
      d = end;
    }
    return std::move(panels_);
  }

 private:
  double pass(std::int32_t j) const { return source_start + panels_.l[j].length; }
  auto at(std::int64_t p) const { return f_.row_idx.begin() + p; }

  void describe_columns_of_l() {
    panels_.l.resize(f_.n);
    for (std::int32_t j = f_.n - 1; j >= 0; --j) {
      const std::int64_t begin = f_.diag[j] + 1, end = f_.col_ptr[j + 1];
      panels_.l[j] = {begin, static_cast<std::int32_t>(end - begin), 1};
      if (j + 1 < f_.n && panels_.l[j].length == panels_.l[j + 1].length + 1 &&
          std::equal(at(begin), at(end), at(f_.diag[j + 1])))
        panels_.l[j].run = panels_.l[j + 1].run + 1;
    }
  }

  double passes_of_column(std::int32_t k) const {
    double sum = 0;
    for (std::int64_t p = f_.col_ptr[k]; p < f_.diag[k]; ++p) sum += pass(f_.row_idx[p]);
    return sum;
  }
  double panel_cost(std::int32_t width) const {
    return panel_entry * (source_passes_ + static_cast<double>(std::ssize(rows_) * width));
  }

  void start(std::int32_t d) {
    sources_.assign(at(f_.col_ptr[d]), at(f_.diag[d]));
    rows_.assign(at(f_.diag[d]), at(f_.col_ptr[d + 1]));
    source_passes_ = single_passes_ = passes_of_column(d);
  }

  /// The width that saves most, 1 when none saves.
  std::int32_t best_width(std::int32_t d) {
    start(d);
    std::int32_t best = 1;
    double most_saved = 0;
    for (std::int32_t w = 2; w <= ColumnPanels::max_width && d + w <= f_.n; ++w) {
      take(d, d + w - 1);
      const double saved = single_passes_ - panel_cost(w);
      if (saved > most_saved) best = w;
      most_saved = std::max(saved, most_saved);
      // Not even if the columns to come were like these and brought nothing new.
      if (panel_entry * source_passes_ > single_passes_ * ColumnPanels::max_width / w) break;
    }
    return best;
  }

  /// Column k joins the panel that starts at d.
  void take(std::int32_t d, std::int32_t k) {
    const auto inside = std::lower_bound(at(f_.col_ptr[k]), at(f_.diag[k]), d);
    merged_rows_.clear();
    std::set_union(rows_.begin(), rows_.end(), inside, at(f_.col_ptr[k + 1]), std::back_inserter(merged_rows_));
    double passes = source_passes_;
    merged_sources_.clear();
    auto old = sources_.begin();
    for (auto j = at(f_.col_ptr[k]); j != inside; ++j) {
      while (old != sources_.end() && *old < *j) merged_sources_.push_back(*old++);
      if (old != sources_.end() && *old == *j)
        ++old;
      else
        passes += pass(*j);
      merged_sources_.push_back(*j);
    }
    merged_sources_.insert(merged_sources_.end(), old, sources_.end());
    single_passes_ += passes_of_column(k);
    source_passes_ = passes;
    sources_.swap(merged_sources_);
    rows_.swap(merged_rows_);
  }

  void finish(std::int32_t d, std::int32_t end) {
    std::fill(panels_.panel_of.begin() + d, panels_.panel_of.begin() + end, panels_.size());
    panels_.first.push_back(end);
    panels_.source_cols.insert(panels_.source_cols.end(), sources_.begin(), sources_.end());
    panels_.source_ptr.push_back(std::ssize(panels_.source_cols));
    panels_.rows.insert(panels_.rows.end(), rows_.begin(), rows_.end());
    panels_.row_ptr.push_back(std::ssize(panels_.rows));
    panels_.work.push_back(end - d == 1 ? single_passes_ + static_cast<double>(rows_.size()) : panel_cost(end - d));
  }

  const FilledPattern& f_;
  ColumnPanels panels_;
  Rows sources_, rows_, merged_sources_, merged_rows_;
  double source_passes_ = 0;  // over the columns of L for the panel, and for its columns one by one
  double single_passes_ = 0;
};

}  // namespace

ColumnPanels column_panels(const FilledPattern& filled) { return Builder(filled).build(); }

}  // namespace lulab::sparse_leftlooking
