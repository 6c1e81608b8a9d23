#include "preprocess/similar_vertices.h"

#include <numeric>
#include <span>
#include <utility>

namespace lulab {

namespace {

constexpr std::int64_t is_long = 64;     // neighbours of a vertex that are not walked
constexpr std::int32_t trial_part = 16;  // after n/trial_part groups it shows whether it is worth to go on
constexpr std::int32_t no_group = -1;

std::span<const std::int32_t> neighbours(const CscPattern& g, std::int32_t v) {
  return std::span(g.row_idx).subspan(g.col_ptr[v], g.col_ptr[v + 1] - g.col_ptr[v]);
}

/// Of two neighbours each counts as its own. preprocess/NOTES.md: how the shares were chosen.
bool are_similar(std::int64_t in_common, std::int64_t degree, std::int64_t other_degree, bool are_neighbours) {
  if (!are_neighbours) return 25 * in_common * in_common >= 16 * degree * other_degree;
  in_common += 2;
  return 64 * in_common * in_common >= 49 * (degree + 1) * (other_degree + 1);
}

/// Groups are numbered by their first vertices.
class Grouping {
 public:
  explicit Grouping(const CscPattern& g)
      : graph_(g), group_(g.n_cols, no_group), in_common_(g.n_cols, 0), beside_(g.n_cols, no_group) {}

  bool pays() {
    const std::int32_t n = graph_.n_cols;
    for (std::int32_t v = 0; v < n; ++v) {
      if (group_[v] != no_group) continue;
      open_group(v);
      if (groups_ > n / 2 || (groups_ == n / trial_part && !pays_so_far())) return false;
    }
    return n > 0 && pays_so_far();
  }
  std::int32_t groups() const { return groups_; }
  std::vector<std::int32_t> group_of_vertex() && { return std::move(group_); }

 private:
  /// Of the vertices seen so far, at least every third has joined a group, and few could have joined two.
  bool pays_so_far() const { return 2 * joined_ >= groups_ && 2 * conflicts_ <= joined_; }

  void open_group(std::int32_t first) {
    group_[first] = groups_;
    reached_.clear();
    for (const std::int32_t u : neighbours(graph_, first)) {
      beside_[u] = first;
      const auto of_u = neighbours(graph_, u);
      if (std::ssize(of_u) > is_long) continue;
      for (const std::int32_t w : of_u)
        if (in_common_[w]++ == 0) reached_.push_back(w);
    }
    for (const std::int32_t w : reached_) {
      const std::int64_t in_common = std::exchange(in_common_[w], 0);
      if (w == first || !are_similar(in_common, degree(first), degree(w), beside_[w] == first)) continue;
      if (group_[w] == no_group) {
        group_[w] = groups_;
        ++joined_;
      } else {
        ++conflicts_;
      }
    }
    ++groups_;
  }
  std::int64_t degree(std::int32_t v) const { return graph_.col_ptr[v + 1] - graph_.col_ptr[v]; }

  const CscPattern& graph_;
  std::vector<std::int32_t> group_;      // (n)
  std::vector<std::int32_t> in_common_;  // (n) neighbours that are the first vertex's, too; 0 between groups
  std::vector<std::int32_t> beside_;     // (n) the last first vertex it is a neighbour of
  std::vector<std::int32_t> reached_;    // with neighbours in common
  std::int32_t groups_ = 0;
  std::int64_t joined_ = 0, conflicts_ = 0;  // vertices that joined a group, that are like the first of a later one
};

}  // namespace

std::vector<std::int32_t> VertexGroups::sizes() const {
  std::vector<std::int32_t> sizes;
  sizes.reserve(graph.n_cols);
  for (std::int32_t k = 0; k < graph.n_cols; ++k) sizes.push_back(group_ptr[k + 1] - group_ptr[k]);
  return sizes;
}

Permutation VertexGroups::expand(const Permutation& order_of_groups) const {
  Permutation q;
  q.reserve(vertices.size());
  for (const std::int32_t k : order_of_groups)
    q.insert(q.end(), vertices.begin() + group_ptr[k], vertices.begin() + group_ptr[k + 1]);
  return q;
}

std::optional<VertexGroups> group_similar_vertices(const CscPattern& graph) {
  Grouping grouping(graph);
  if (!grouping.pays()) return std::nullopt;
  const std::int32_t n = graph.n_cols, groups = grouping.groups();
  const std::vector<std::int32_t> group = std::move(grouping).group_of_vertex();
  VertexGroups result;
  result.group_ptr.assign(groups + 1, 0);
  for (const std::int32_t k : group) ++result.group_ptr[k + 1];
  std::partial_sum(result.group_ptr.begin(), result.group_ptr.end(), result.group_ptr.begin());
  result.vertices.resize(n);
  std::vector<std::int32_t> next(result.group_ptr.begin(), result.group_ptr.end() - 1);
  for (std::int32_t v = 0; v < n; ++v) result.vertices[next[group[v]]++] = v;

  CscPattern& of_groups = result.graph;
  of_groups.n_rows = of_groups.n_cols = groups;
  of_groups.col_ptr = {0};
  std::vector<std::int32_t> listed_in(groups, no_group);
  for (std::int32_t k = 0; k < groups; ++k) {
    listed_in[k] = k;  // no loop
    for (std::int32_t s = result.group_ptr[k]; s < result.group_ptr[k + 1]; ++s)
      for (const std::int32_t u : neighbours(graph, result.vertices[s]))
        if (std::exchange(listed_in[group[u]], k) != k) of_groups.row_idx.push_back(group[u]);
    of_groups.col_ptr.push_back(of_groups.nnz());
  }
  return result;
}

}  // namespace lulab
