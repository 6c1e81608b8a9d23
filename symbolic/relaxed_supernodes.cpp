#include "symbolic/relaxed_supernodes.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/in_parallel.h"
#include "symbolic/column_parts.h"

namespace lulab {
namespace {

constexpr double slack = 16;           // zeros that every panel may have: cheaper than one more panel
constexpr double subtree_slack = 512;  // zeros that a small subtree may have: as one panel it needs no hops inside
constexpr std::int64_t entries_a_thread = 250'000;  // of L+U: about half a millisecond
constexpr int most_threads = 8;

int threads_of(const FilledPattern& f, int host_threads) {
  return host_threads > 0 ? host_threads : threads_for(f.nnz(), entries_a_thread, most_threads);
}

/// What the panels of all parts are made from.
struct Tree {
  const FilledPattern& filled;
  const RelaxationOptions options;
  const std::vector<std::int32_t> parent;
  std::vector<std::int32_t> subtree;  // (n) columns of the subtree with root j

  Tree(const FilledPattern& f, const RelaxationOptions& o, int threads)
      : filled(f), options(o), parent(elimination_tree(f, threads)), subtree(f.n, 1) {
    for (std::int32_t j = 0; j < f.n; ++j)
      if (parent[j] >= 0) subtree[parent[j]] += subtree[j];
  }

  /// Root of the largest small subtree whose first leaf is d; d if there is none.
  std::int32_t last_of_subtree(std::int32_t d) const {
    const std::int32_t limit = std::min(options.max_subtree, options.max_width);
    std::int32_t root = d;
    if (subtree[d] > 1) return d;
    for (std::int32_t up = parent[d]; up >= 0 && subtree[up] <= limit && up - subtree[up] + 1 == d; up = parent[up])
      root = up;
    return root;
  }
};

/// Panels from a column on, one after the other: the next one depends on where it begins, and on nothing before.
class Builder {
 public:
  Builder(const Tree& tree, std::int32_t begin) : tree_(tree), rows_(tree.filled.n), merged_(tree.filled.n) {
    panels_.first = {begin};
  }

  void add_panel() {
    const std::int32_t d = end(), n = tree_.filled.n;
    n_rows_ = entries_ = 0;
    std::int32_t end = d;
    const std::int32_t last = tree_.last_of_subtree(d);
    merge(end);
    take(end++);
    while (end <= last && pays(d, end, subtree_slack)) take(end++);
    while (end > last && end < n && end - d < tree_.options.max_width && tree_.parent[end - 1] == end &&
           pays(d, end, slack))
      take(end++);
    panels_.first.push_back(end);
    panels_.rows.insert(panels_.rows.end(), rows_.begin(), rows_.begin() + n_rows_);
    panels_.row_ptr.push_back(std::ssize(panels_.rows));
  }
  std::int32_t end() const { return panels_.first.back(); }
  /// `of` is missing.
  RelaxedSupernodes& panels() { return panels_; }

 private:
  std::int64_t size(std::int32_t j) const { return tree_.filled.col_ptr[j + 1] - tree_.filled.col_ptr[j]; }

  void merge(std::int32_t j) {
    const auto column = tree_.filled.row_idx.begin() + tree_.filled.col_ptr[j];
    const auto end = std::set_union(rows_.begin(), rows_.begin() + n_rows_, column, column + size(j), merged_.begin());
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
    const double most = tree_.options.padding * static_cast<double>(entries_ + size(j)) + zeros;
    const auto fits = [&](std::int64_t rows) { return static_cast<double>(rows * (j - d + 1)) <= most; };
    if (!fits(std::max(n_rows_, size(j)))) return false;
    merge(j);
    return fits(n_merged_);
  }

  const Tree& tree_;
  RelaxedSupernodes panels_;
  std::vector<std::int32_t> rows_, merged_;  // (n) of the current panel; the first so many:
  std::int64_t n_rows_ = 0, n_merged_ = 0;
  std::int64_t entries_ = 0;  // entries of its columns
};

/// Of the panels that a part has made, those from one on.
struct Kept {
  RelaxedSupernodes* panels;
  std::int32_t from;
};

/// A part goes on past its end until it meets the first column of a panel of the next one: from there on both make the
/// same panels.
std::vector<Kept> meet(std::vector<Builder>& parts, std::int32_t n) {
  std::vector<Kept> kept = {{&parts[0].panels(), 0}};
  for (std::size_t p = 0, next = 1; parts[p].end() < n;) {
    while (parts[next].end() <= parts[p].end()) ++next;
    const std::vector<std::int32_t>& starts = parts[next].panels().first;
    const auto at = std::ranges::lower_bound(starts, parts[p].end());
    if (*at != parts[p].end()) {
      parts[p].add_panel();
      continue;
    }
    kept.push_back({&parts[next].panels(), static_cast<std::int32_t>(at - starts.begin())});
    p = next++;
  }
  return kept;
}

RelaxedSupernodes join(const std::vector<Kept>& kept) {
  RelaxedSupernodes all;
  if (kept.size() == 1) {
    all = std::move(*kept[0].panels);
  } else {
    for (const auto& [panels, from] : kept) {
      const std::int64_t moved = all.row_ptr.back() - panels->row_ptr[from];
      all.first.insert(all.first.end(), panels->first.begin() + from + 1, panels->first.end());
      for (std::int32_t s = from; s < panels->size(); ++s) all.row_ptr.push_back(panels->row_ptr[s + 1] + moved);
      all.rows.insert(all.rows.end(), panels->rows.begin() + panels->row_ptr[from], panels->rows.end());
    }
  }
  all.of.resize(all.first.back());
  for (std::int32_t s = 0; s < all.size(); ++s)
    std::fill(all.of.begin() + all.first[s], all.of.begin() + all.first[s + 1], s);
  return all;
}

}  // namespace

std::vector<std::int32_t> elimination_tree(const FilledPattern& f, int host_threads) {
  constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  const int parts = threads_of(f, host_threads);
  std::vector<std::vector<std::int32_t>> parents(parts);  // by the entries of the part's columns
  in_parallel(parts, [&](int part) {
    std::vector<std::int32_t>& parent = parents[part];
    parent.assign(f.n, none);
    const std::int32_t end = first_column(f, part + 1, parts);
    for (std::int32_t j = first_column(f, part, parts); j < end; ++j) {
      for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) parent[f.row_idx[p]] = std::min(parent[f.row_idx[p]], j);
      if (f.diag[j] + 1 < f.col_ptr[j + 1]) parent[j] = std::min(parent[j], f.row_idx[f.diag[j] + 1]);
    }
  });
  std::vector<std::int32_t> parent = std::move(parents[0]);
  for (std::int32_t j = 0; j < f.n; ++j) {
    for (int part = 1; part < parts; ++part) parent[j] = std::min(parent[j], parents[part][j]);
    if (parent[j] == none) parent[j] = -1;
  }
  return parent;
}

RelaxedSupernodes find_relaxed_supernodes(const FilledPattern& filled, const RelaxationOptions& options,
                                          int host_threads) {
  const int count = threads_of(filled, host_threads);
  const Tree tree(filled, options, count);
  std::vector<Builder> parts;
  parts.reserve(count);
  for (int p = 0; p < count; ++p) parts.emplace_back(tree, first_column(filled, p, count));
  in_parallel(count, [&](int p) {
    while (parts[p].end() < first_column(filled, p + 1, count)) parts[p].add_panel();
  });
  return join(meet(parts, filled.n));
}

}  // namespace lulab
