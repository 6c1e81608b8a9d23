#include "sparse_leftlooking/07_column_groups.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace lulab::sparse_leftlooking {

namespace {

// In units of one multiply-add of a single column, measured: the cost of one entry of L in all lanes of a group, and of
// starting on a column of L.
constexpr double group_entry = 3;
constexpr double source_start = 4;

using Rows = std::vector<std::int32_t>;

std::vector<ColumnGroups::LColumn> columns_of_l(const FilledPattern& f) {
  std::vector<ColumnGroups::LColumn> l(f.n);
  const auto row = f.row_idx.begin();
  for (std::int32_t j = f.n - 1; j >= 0; --j) {
    const std::int64_t begin = f.diag[j] + 1, end = f.col_ptr[j + 1];
    l[j] = {begin, static_cast<std::int32_t>(end - begin), 1};
    if (j + 1 < f.n && l[j].length == l[j + 1].length + 1 && std::equal(row + begin, row + end, row + f.diag[j + 1]))
      l[j].run = l[j + 1].run + 1;
  }
  return l;
}

class Builder {
 public:
  explicit Builder(const FilledPattern& filled) : f_(filled) {
    groups_.group_of.resize(f_.n);
    groups_.source_cols.reserve(f_.nnz_u() - f_.n);
    groups_.rows.reserve(f_.nnz_l() + f_.n);
    groups_.l = columns_of_l(f_);
    passes_.resize(f_.n);
    for (std::int32_t k = 0; k < f_.n; ++k)
      for (std::int64_t p = f_.col_ptr[k]; p < f_.diag[k]; ++p) passes_[k] += pass(f_.row_idx[p]);
  }

  ColumnGroups build() {
    for (std::int32_t d = 0; d < f_.n;) {
      const std::int32_t end = d + best_width(d);
      start(d);
      for (std::int32_t k = d + 1; k < end; ++k) take(d, k);
      finish(d, end);
      d = end;
    }
    return std::move(groups_);
  }

 private:
  double pass(std::int32_t j) const { return source_start + groups_.l[j].length; }
  auto at(std::int64_t p) const { return f_.row_idx.begin() + p; }

  static double group_cost(double source_passes, std::int64_t rows, std::int32_t width) {
    return group_entry * (source_passes + static_cast<double>(rows * width));
  }

  /// Could some width from d on save anything? A group needs at least the sources and rows of each of its columns.
  bool may_save(std::int32_t d) const {
    double single_passes = passes_[d], most_passes = passes_[d];
    std::int64_t most_rows = f_.col_ptr[d + 1] - f_.diag[d];
    for (std::int32_t w = 2; w <= ColumnGroups::max_width && d + w <= f_.n; ++w) {
      const std::int32_t k = d + w - 1;
      double passes = passes_[k];
      std::int64_t p = f_.diag[k];
      while (p > f_.col_ptr[k] && f_.row_idx[p - 1] >= d) passes -= pass(f_.row_idx[--p]);
      single_passes += passes_[k];
      most_passes = std::max(most_passes, passes);
      most_rows = std::max(most_rows, f_.col_ptr[k + 1] - p);
      if (single_passes > group_cost(most_passes, most_rows, w)) return true;
    }
    return false;
  }

  void start(std::int32_t d) {
    sources_.assign(at(f_.col_ptr[d]), at(f_.diag[d]));
    rows_.assign(at(f_.diag[d]), at(f_.col_ptr[d + 1]));
    source_passes_ = single_passes_ = passes_[d];
  }

  /// The width that saves most, 1 when none saves.
  std::int32_t best_width(std::int32_t d) {
    if (!may_save(d)) return 1;
    start(d);
    std::int32_t best = 1;
    double most_saved = 0;
    for (std::int32_t w = 2; w <= ColumnGroups::max_width && d + w <= f_.n; ++w) {
      take(d, d + w - 1);
      const double saved = single_passes_ - group_cost(source_passes_, std::ssize(rows_), w);
      if (saved > most_saved) best = w;
      most_saved = std::max(saved, most_saved);
      // Wider groups save nothing even if the columns to come need only what these need.
      if (group_entry * source_passes_ > single_passes_ * ColumnGroups::max_width / w) break;
    }
    return best;
  }

  /// Column k joins the group that starts at d.
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
    single_passes_ += passes_[k];
    source_passes_ = passes;
    sources_.swap(merged_sources_);
    rows_.swap(merged_rows_);
  }

  void finish(std::int32_t d, std::int32_t end) {
    std::fill(groups_.group_of.begin() + d, groups_.group_of.begin() + end, groups_.size());
    groups_.first.push_back(end);
    groups_.source_cols.insert(groups_.source_cols.end(), sources_.begin(), sources_.end());
    groups_.source_ptr.push_back(std::ssize(groups_.source_cols));
    groups_.rows.insert(groups_.rows.end(), rows_.begin(), rows_.end());
    groups_.row_ptr.push_back(std::ssize(groups_.rows));
    groups_.work.push_back(end - d == 1 ? single_passes_ + static_cast<double>(rows_.size())
                                        : group_cost(source_passes_, std::ssize(rows_), end - d));
  }

  const FilledPattern& f_;
  ColumnGroups groups_;
  std::vector<double> passes_;  // (n) cost of the passes over columns of L for each column alone
  Rows sources_, rows_, merged_sources_, merged_rows_;
  double source_passes_ = 0;  // cost of the passes over columns of L, once for the group
  double single_passes_ = 0;  // and once for each of its columns
};

}  // namespace

ColumnGroups make_column_groups(const FilledPattern& filled) { return Builder(filled).build(); }

ColumnGroups single_columns(const FilledPattern& filled) {
  ColumnGroups groups;
  groups.first.resize(filled.n + std::size_t(1));
  std::iota(groups.first.begin(), groups.first.end(), 0);
  groups.l = columns_of_l(filled);
  return groups;
}

}  // namespace lulab::sparse_leftlooking
