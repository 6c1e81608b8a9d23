#include "sparse_leftlooking/07_column_groups.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/in_parallel.h"

namespace lulab::sparse_leftlooking {

namespace {

// In units of one multiply-add of a single column, measured: the cost of one entry of L in all lanes of a group, and of
// starting on a column of L.
constexpr double group_entry = 3;
constexpr double source_start = 4;

constexpr std::int64_t entries_a_thread = 150'000;  // of L+U: some 1.5 ms
constexpr int max_host_threads = 16;

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

/// Makes the groups of a part of the columns, first .. end - 1.
class Builder {
 public:
  Builder(const FilledPattern& filled, const std::vector<ColumnGroups::LColumn>& l, std::int32_t first,
          std::int32_t end)
      : f_(filled), l_(l), first_(first), end_(end), passes_(end - first) {
    for (std::int32_t k = first; k < end; ++k)
      for (std::int64_t p = f_.col_ptr[k]; p < f_.diag[k]; ++p) passes_[k - first] += pass(f_.row_idx[p]);
  }

  /// first, source_ptr and row_ptr without their zeros; neither group_of nor l.
  ColumnGroups build() {
    groups_.first.clear();
    groups_.source_ptr.clear();
    groups_.row_ptr.clear();
    for (std::int32_t d = first_; d < end_;) {
      const std::int32_t end = d + best_width(d);
      if (taken_ != end - d) {
        start(d);
        for (std::int32_t k = d + 1; k < end; ++k) take(d, k);
      }
      finish(d, end);
      d = end;
    }
    return std::move(groups_);
  }

 private:
  double pass(std::int32_t j) const { return source_start + l_[j].length; }
  double passes(std::int32_t k) const { return passes_[k - first_]; }
  auto at(std::int64_t p) const { return f_.row_idx.begin() + p; }

  static double group_cost(double source_passes, std::int64_t rows, std::int32_t width) {
    return group_entry * (source_passes + static_cast<double>(rows * width));
  }

  /// Could some width from d on save anything? A group needs at least the sources and rows of each of its columns.
  bool may_save(std::int32_t d) const {
    double single_passes = passes(d), most_passes = passes(d);
    std::int64_t most_rows = f_.col_ptr[d + 1] - f_.diag[d];
    for (std::int32_t w = 2; w <= ColumnGroups::max_width && d + w <= end_; ++w) {
      const std::int32_t k = d + w - 1;
      double of_column = passes(k);
      std::int64_t p = f_.diag[k];
      while (p > f_.col_ptr[k] && f_.row_idx[p - 1] >= d) of_column -= pass(f_.row_idx[--p]);
      single_passes += passes(k);
      most_passes = std::max(most_passes, of_column);
      most_rows = std::max(most_rows, f_.col_ptr[k + 1] - p);
      if (single_passes > group_cost(most_passes, most_rows, w)) return true;
    }
    return false;
  }

  void start(std::int32_t d) {
    sources_.assign(at(f_.col_ptr[d]), at(f_.diag[d]));
    rows_.assign(at(f_.diag[d]), at(f_.col_ptr[d + 1]));
    source_passes_ = single_passes_ = passes(d);
    taken_ = 1;
  }

  /// The width that saves most, 1 when none saves.
  std::int32_t best_width(std::int32_t d) {
    taken_ = 0;
    if (!may_save(d)) return 1;
    start(d);
    std::int32_t best = 1;
    double most_saved = 0;
    for (std::int32_t w = 2; w <= ColumnGroups::max_width && d + w <= end_; ++w) {
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
    double source_passes = source_passes_;
    merged_sources_.clear();
    auto old = sources_.begin();
    for (auto j = at(f_.col_ptr[k]); j != inside; ++j) {
      while (old != sources_.end() && *old < *j) merged_sources_.push_back(*old++);
      if (old != sources_.end() && *old == *j)
        ++old;
      else
        source_passes += pass(*j);
      merged_sources_.push_back(*j);
    }
    merged_sources_.insert(merged_sources_.end(), old, sources_.end());
    single_passes_ += passes(k);
    source_passes_ = source_passes;
    sources_.swap(merged_sources_);
    rows_.swap(merged_rows_);
    taken_ += 1;
  }

  void finish(std::int32_t d, std::int32_t end) {
    groups_.first.push_back(end);
    groups_.source_cols.insert(groups_.source_cols.end(), sources_.begin(), sources_.end());
    groups_.source_ptr.push_back(std::ssize(groups_.source_cols));
    groups_.rows.insert(groups_.rows.end(), rows_.begin(), rows_.end());
    groups_.row_ptr.push_back(std::ssize(groups_.rows));
    groups_.work.push_back(end - d == 1 ? single_passes_ + static_cast<double>(rows_.size())
                                        : group_cost(source_passes_, std::ssize(rows_), end - d));
  }

  const FilledPattern& f_;
  const std::vector<ColumnGroups::LColumn>& l_;
  const std::int32_t first_, end_;
  ColumnGroups groups_;
  std::vector<double> passes_;  // (columns) cost of the passes over columns of L for each column alone
  Rows sources_, rows_, merged_sources_, merged_rows_;
  std::int32_t taken_ = 0;    // columns from d on that were merged into them
  double source_passes_ = 0;  // cost of the passes over columns of L, once for the group
  double single_passes_ = 0;  // and once for each of its columns
};

/// What lies in front of a part.
struct Sizes {
  std::int64_t groups = 0, sources = 0, rows = 0;
};

/// The parts, one after the other, in `all`, which has l.
void join(std::vector<ColumnGroups>& parts, int threads, ColumnGroups& all) {
  std::vector<Sizes> before(parts.size());
  Sizes size;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    before[p] = size;
    size.groups += std::ssize(parts[p].first);
    size.sources += std::ssize(parts[p].source_cols);
    size.rows += std::ssize(parts[p].rows);
  }
  all.group_of.resize(all.l.size());
  all.first.resize(size.groups + 1);
  all.source_ptr.resize(size.groups + 1);
  all.row_ptr.resize(size.groups + 1);
  all.work.resize(size.groups);
  all.source_cols.resize(size.sources);
  all.rows.resize(size.rows);
  share_out(static_cast<std::int32_t>(parts.size()), threads, [&](std::int32_t p, int) {
    const ColumnGroups part = std::move(parts[p]);
    const Sizes& at = before[p];
    const auto count = std::ssize(part.first);
    for (std::int64_t s = 0; s < count; ++s) {
      const std::int64_t to = at.groups + s;
      all.first[to + 1] = part.first[s];
      all.source_ptr[to + 1] = at.sources + part.source_ptr[s];
      all.row_ptr[to + 1] = at.rows + part.row_ptr[s];
      all.work[to] = part.work[s];
      std::fill(all.group_of.begin() + (s > 0 ? part.first[s - 1] : p * ColumnGroups::columns_a_part),
                all.group_of.begin() + part.first[s], static_cast<std::int32_t>(to));
    }
    std::ranges::copy(part.source_cols, all.source_cols.begin() + at.sources);
    std::ranges::copy(part.rows, all.rows.begin() + at.rows);
  });
}

}  // namespace

ColumnGroups make_column_groups(const FilledPattern& filled, int host_threads) {
  const int threads = host_threads > 0 ? host_threads : threads_for(filled.nnz(), entries_a_thread, max_host_threads);
  ColumnGroups all;
  all.l = columns_of_l(filled);
  std::vector<ColumnGroups> parts((filled.n + std::int64_t{ColumnGroups::columns_a_part} - 1) /
                                  ColumnGroups::columns_a_part);
  share_out(static_cast<std::int32_t>(parts.size()), threads, [&](std::int32_t p, int) {
    const std::int32_t first = p * ColumnGroups::columns_a_part;
    parts[p] = Builder(filled, all.l, first, first + std::min(ColumnGroups::columns_a_part, filled.n - first)).build();
  });
  join(parts, threads, all);
  return all;
}

ColumnGroups single_columns(const FilledPattern& filled) {
  ColumnGroups groups;
  groups.first.resize(filled.n + std::size_t(1));
  std::iota(groups.first.begin(), groups.first.end(), 0);
  groups.l = columns_of_l(filled);
  return groups;
}

}  // namespace lulab::sparse_leftlooking
