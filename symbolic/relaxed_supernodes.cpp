#include "symbolic/relaxed_supernodes.h"

#include <algorithm>

namespace lulab {
namespace {

constexpr double slack = 16;           // zeros that every panel may have: cheaper than one more panel
constexpr double subtree_slack = 512;  // zeros that a small subtree may have: as one panel it needs no hops inside

class Builder {
 public:
  Builder(const FilledPattern& filled, const RelaxationOptions& options)
      : f_(filled),
        options_(options),
        parent_(elimination_tree(filled)),
        subtree_(filled.n, 1),
        rows_(filled.n),
        merged_(filled.n) {
    for (std::int32_t j = 0; j < f_.n; ++j)
      if (parent_[j] >= 0) subtree_[parent_[j]] += subtree_[j];
    panels_.of.resize(f_.n);
  }

  RelaxedSupernodes build() {
    for (std::int32_t d = 0; d < f_.n;) {
      n_rows_ = entries_ = 0;
      std::int32_t end = d;
      const std::int32_t last = last_of_subtree(d);
      merge(end);
      take(end++);
      while (end <= last && pays(d, end, subtree_slack)) take(end++);
      while (end > last && end < f_.n && end - d < options_.max_width && parent_[end - 1] == end && pays(d, end, slack))
        take(end++);
      std::fill(panels_.of.begin() + d, panels_.of.begin() + end, panels_.size());
      panels_.first.push_back(end);
      panels_.rows.insert(panels_.rows.end(), rows_.begin(), rows_.begin() + n_rows_);
      panels_.row_ptr.push_back(std::ssize(panels_.rows));
      d = end;
    }
    return std::move(panels_);
  }

 private:
  std::int64_t size(std::int32_t j) const { return f_.col_ptr[j + 1] - f_.col_ptr[j]; }

  /// Root of the largest small subtree whose first leaf is d; d if there is none.
  std::int32_t last_of_subtree(std::int32_t d) const {
    const std::int32_t limit = std::min(options_.max_subtree, options_.max_width);
    std::int32_t root = d;
    if (subtree_[d] > 1) return d;
    for (std::int32_t up = parent_[d]; up >= 0 && subtree_[up] <= limit && up - subtree_[up] + 1 == d; up = parent_[up])
      root = up;
    return root;
  }

  void merge(std::int32_t j) {
    const auto end = std::set_union(rows_.begin(), rows_.begin() + n_rows_, f_.row_idx.begin() + f_.col_ptr[j],
                                    f_.row_idx.begin() + f_.col_ptr[j + 1], merged_.begin());
    n_merged_ = end - merged_.begin();
  }
  /// Requires  merged_ = rows of the panel united with those of column j.
  void take(std::int32_t j) {
    rows_.swap(merged_);
    n_rows_ = n_merged_;
    entries_ += size(j);
  }
  /// Ensures   where it pays, merged_ = rows of the panel united with those of column j.
  bool pays(std::int32_t d, std::int32_t j, double zeros) {
    const double most = options_.padding * static_cast<double>(entries_ + size(j)) + zeros;
    const auto fits = [&](std::int64_t rows) { return static_cast<double>(rows * (j - d + 1)) <= most; };
    if (!fits(std::max(n_rows_, size(j)))) return false;
    merge(j);
    return fits(n_merged_);
  }

  const FilledPattern& f_;
  const RelaxationOptions options_;
  const std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> subtree_;  // (n) columns of the subtree with root j
  RelaxedSupernodes panels_;
  std::vector<std::int32_t> rows_, merged_;  // (n) of the current panel; the first so many:
  std::int64_t n_rows_ = 0, n_merged_ = 0;
  std::int64_t entries_ = 0;  // entries of its columns
};

}  // namespace

std::vector<std::int32_t> elimination_tree(const FilledPattern& f) {
  std::vector<std::int32_t> parent(f.n, -1);
  const auto offer = [&](std::int32_t j, std::int32_t i) {
    if (parent[j] < 0 || i < parent[j]) parent[j] = i;
  };
  for (std::int32_t j = 0; j < f.n; ++j) {
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) offer(f.row_idx[p], j);
    if (f.diag[j] + 1 < f.col_ptr[j + 1]) offer(j, f.row_idx[f.diag[j] + 1]);
  }
  return parent;
}

RelaxedSupernodes find_relaxed_supernodes(const FilledPattern& filled, const RelaxationOptions& options) {
  return Builder(filled, options).build();
}

}  // namespace lulab
