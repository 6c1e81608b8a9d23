#include "preprocess/graph_reduction.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <unordered_set>
#include <utility>

namespace lulab {

namespace {

constexpr std::int32_t first_degree = 2, telling_degree = 3,
                       last_degree = 12;  // preprocess/NOTES.md: how they were chosen
constexpr double hardly_reduced = 0.95;   // of the edges left after telling_degree: as of a mesh, more will be left
constexpr std::int32_t few = 32;  // a round that eliminates less than 1/few of the vertices is the last of its degree
constexpr std::int64_t is_long = 64;  // a list that should not be walked for each pair it is part of

/// Spread over all bits, so that sums of different sets differ: those of plain numbers would often be equal.
/// Source    Steele, Lea & Flood 2014 (SplitMix64).
std::uint64_t mixed(std::uint64_t v) {
  v += 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

/// representative[v]: the smallest vertex with the neighbours of v that is a neighbour of v itself; else v.
std::vector<std::int32_t> find_representatives(const CscPattern& g) {
  const std::int32_t n = g.n_cols;
  std::vector<std::int32_t> representative(n), next(n, -1), bucket(n, -1), mark(n, -1);
  std::vector<std::uint64_t> sum(n);  // of v and its neighbours
  const auto neighbours = [&](std::int32_t v) {
    return std::span(g.row_idx).subspan(g.col_ptr[v], g.col_ptr[v + 1] - g.col_ptr[v]);
  };
  for (std::int32_t v = n - 1; v >= 0; --v) {
    representative[v] = v;
    const auto of_v = neighbours(v);
    sum[v] = mixed(v);
    for (const std::int32_t u : of_v) sum[v] += mixed(u);
    next[v] = std::exchange(bucket[sum[v] % n], v);
  }
  for (std::int32_t v = 0; v < n; ++v) {
    if (representative[v] != v) continue;
    const auto of_v = neighbours(v);
    for (std::int32_t w = next[v]; w >= 0; w = next[w]) {
      const auto of_w = neighbours(w);
      if (sum[w] != sum[v] || of_w.size() != of_v.size() || representative[w] != w) continue;
      if (mark[v] != v) {
        for (const std::int32_t u : of_v) mark[u] = v;
        mark[v] = v;
      }
      const auto marked = [&](std::int32_t u) { return mark[u] == v; };
      if (marked(w) && std::ranges::all_of(of_w, marked)) representative[w] = v;
    }
  }
  return representative;
}

/// A graph whose vertices are eliminated one by one. Lists keep eliminated vertices until they are walked.
class Elimination {
 public:
  Elimination(const CscPattern& g, const std::vector<std::int32_t>& representative)
      : lists_(g.n_cols), columns_(g.n_cols, 0), degree_(g.n_cols, 0), mark_(g.n_cols, 0) {
    for (const std::int32_t v : representative) ++columns_[v];
    entries_.reserve(2 * g.row_idx.size());
    for (std::int32_t v = 0; v < g.n_cols; ++v) {
      if (columns_[v] == 0) continue;
      ++left_;
      List& list = lists_[v];
      list.begin = std::ssize(entries_);
      degree_[v] = columns_[v] - 1;
      for (std::int64_t e = g.col_ptr[v]; e < g.col_ptr[v + 1]; ++e) {
        const std::int32_t u = g.row_idx[e];
        if (columns_[u] == 0) continue;
        entries_.push_back(u);
        degree_[v] += columns_[u];
      }
      edges_ += std::ssize(entries_) - list.begin;
      list.size = list.capacity = std::ssize(entries_) - list.begin;
    }
  }

  std::int32_t left() const { return left_; }
  /// Between those that are left, at both ends.
  std::int64_t edges() const { return edges_; }
  bool is_left(std::int32_t v) const { return columns_[v] > 0; }
  /// Columns that v's share a row with, less one.
  std::int32_t degree(std::int32_t v) const { return degree_[v]; }
  /// Those of v that are left; valid until the next elimination.
  std::span<const std::int32_t> neighbours(std::int32_t v) {
    return neighbours(v, [](std::int32_t) {});
  }

  /// Connects the neighbours of v with each other, and returns them.
  const std::vector<std::int32_t>& eliminate(std::int32_t v) {
    const auto of_v = neighbours(v);
    joined_.assign(of_v.begin(), of_v.end());
    for (const std::int32_t u : joined_) degree_[u] -= columns_[v];
    columns_[v] = 0;
    --left_;
    edges_ -= 2 * std::ssize(joined_);
    std::ranges::sort(joined_, {}, [&](std::int32_t u) { return std::pair(lists_[u].size, u); });
    for (std::size_t k = 0; k + 1 < joined_.size(); ++k)  // the longest list is not walked
      connect(joined_[k], std::span(joined_).subspan(k + 1));
    return joined_;
  }

 private:
  struct List {
    std::int64_t begin = 0, size = 0, capacity = 0;  // in entries_
  };

  /// The same; sees all of the list on the way, those eliminated since the last walk, too.
  template <class See>
  std::span<const std::int32_t> neighbours(std::int32_t v, const See& see) {
    List& list = lists_[v];
    std::int32_t* const begin = entries_.data() + list.begin;
    std::int32_t* end = begin;
    for (std::int64_t k = 0; k < list.size; ++k) {
      const std::int32_t u = begin[k];
      see(u);
      *end = u;  // whether it is left cannot be predicted
      end += is_left(u) ? 1 : 0;
    }
    list.size = end - begin;
    return {begin, end};
  }

  /// Requires  that the list of u is the shortest.
  void connect(std::int32_t u, std::span<const std::int32_t> others) {
    const bool both_long = lists_[u].size > is_long;
    const auto pair = [&](std::int32_t w) {
      return static_cast<std::uint64_t>(std::min(u, w)) << 32 | static_cast<std::uint64_t>(std::max(u, w));
    };
    if (both_long && std::ranges::all_of(others, [&](std::int32_t w) { return long_pairs_.contains(pair(w)); })) return;
    ++connected_;
    (void)neighbours(u, [&](std::int32_t w) { mark_[w] = connected_; });
    for (const std::int32_t w : others) {
      if (both_long) long_pairs_.insert(pair(w));
      if (mark_[w] == connected_) continue;
      append(u, w);
      append(w, u);
      edges_ += 2;
      degree_[u] += columns_[w];
      degree_[w] += columns_[u];
    }
  }

  void append(std::int32_t v, std::int32_t u) {
    List& list = lists_[v];
    if (list.size == list.capacity && 2 * std::ssize(neighbours(v)) >= list.capacity) {
      list.capacity = 2 * list.size + 4;
      const std::int64_t moved = std::ssize(entries_);
      entries_.resize(moved + list.capacity);
      std::copy_n(entries_.begin() + list.begin, list.size, entries_.begin() + moved);
      list.begin = moved;
    }
    entries_[list.begin + list.size++] = u;
  }

  std::vector<std::int32_t> entries_;             // of all lists
  std::vector<List> lists_;                       // (n) neighbours, with some that are eliminated
  std::vector<std::int32_t> columns_;             // (n) that a representative stands for; 0: none, or eliminated
  std::vector<std::int32_t> degree_;              // (n)
  std::vector<std::int64_t> mark_;                // (n) the last connect() whose vertex is a neighbour
  std::int64_t connected_ = 0;                    // calls of connect()
  std::vector<std::int32_t> joined_;              // neighbours of the last one eliminated
  std::unordered_set<std::uint64_t> long_pairs_;  // neighbours, both with a long list, that are known to be
  std::int32_t left_ = 0;
  std::int64_t edges_ = 0;
};

/// Eliminates independent sets, round by round.
class Rounds {
 public:
  Rounds(Elimination& graph, std::int32_t n) : graph_(graph), n_(n), kept_in_(n, -1), listed_in_(n, -1) {
    eliminated_.reserve(n);
  }

  void eliminate_up_to(std::int32_t degree) {
    candidates_.clear();
    for (std::int32_t v = 0; v < n_; ++v)
      if (graph_.is_left(v) && graph_.degree(v) <= degree) candidates_.push_back(v);
    while (!candidates_.empty()) {
      const std::int32_t before = graph_.left();
      eliminate_candidates(degree);
      if (before - graph_.left() < before / few) return;
      candidates_.swap(next_);
    }
  }
  std::vector<std::int32_t> eliminated() && { return std::move(eliminated_); }

 private:
  /// No two neighbours. Ensures  next_: those that are candidates now, ascending.
  void eliminate_candidates(std::int32_t degree) {
    ++round_;
    next_.clear();
    const auto list = [&](std::int32_t v) {
      if (graph_.degree(v) <= degree && std::exchange(listed_in_[v], round_) != round_) next_.push_back(v);
    };
    for (const std::int32_t v : candidates_) {
      if (kept_in_[v] == round_) {
        list(v);
      } else if (graph_.degree(v) <= degree) {
        eliminated_.push_back(v);
        for (const std::int32_t u : graph_.eliminate(v)) {
          kept_in_[u] = round_;
          list(u);
        }
      }
    }
    std::ranges::sort(next_);
  }

  Elimination& graph_;
  const std::int32_t n_;
  std::vector<std::int32_t> eliminated_, candidates_, next_;
  std::vector<std::int32_t> kept_in_,
      listed_in_;  // (n) the last round that a neighbour was eliminated in, that listed v
  std::int32_t round_ = -1;
};

}  // namespace

CscPattern symmetrized_graph(CscPatternView a) {
  const CscPattern at = transpose(a);
  CscPattern g;
  g.n_rows = g.n_cols = a.n_cols;
  g.col_ptr = {0};
  g.col_ptr.reserve(a.n_cols + std::size_t(1));
  g.row_idx.reserve(2 * a.row_idx.size());
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    std::int64_t s = a.col_ptr[j], t = at.col_ptr[j];
    while (s < a.col_ptr[j + 1] || t < at.col_ptr[j + 1]) {
      const std::int32_t from_a = s < a.col_ptr[j + 1] ? a.row_idx[s] : a.n_rows;
      const std::int32_t from_at = t < at.col_ptr[j + 1] ? at.row_idx[t] : a.n_rows;
      const std::int32_t i = std::min(from_a, from_at);
      s += from_a == i;
      t += from_at == i;
      if (i != j) g.row_idx.push_back(i);
    }
    g.col_ptr.push_back(g.nnz());
  }
  return g;
}

Permutation GraphReduction::expand(const Permutation& order_of_rest) const {
  const auto n = static_cast<std::int32_t>(representative.size());
  std::vector<std::int32_t> first_like(n, -1), next_like(n);
  for (std::int32_t v = n - 1; v >= 0; --v) next_like[v] = std::exchange(first_like[representative[v]], v);
  Permutation q;
  q.reserve(n);
  const auto take = [&](std::int32_t v) {
    for (std::int32_t like = first_like[v]; like >= 0; like = next_like[like]) q.push_back(like);
  };
  for (const std::int32_t v : eliminated) take(v);
  for (const std::int32_t k : order_of_rest) take(vertex_of_rest[k]);
  return q;
}

std::optional<GraphReduction> reduce_graph(const CscPattern& g) {
  GraphReduction reduced;
  reduced.representative = find_representatives(g);
  Elimination graph(g, reduced.representative);
  Rounds rounds(graph, g.n_cols);
  for (std::int32_t degree = first_degree; degree <= last_degree; ++degree) {
    rounds.eliminate_up_to(degree);
    const double left = static_cast<double>(graph.edges()) / static_cast<double>(g.nnz());
    if (left > 1 || (degree == telling_degree && left > hardly_reduced)) return std::nullopt;
  }
  reduced.eliminated = std::move(rounds).eliminated();
  std::vector<std::int32_t> number(g.n_cols, -1);
  for (std::int32_t v = 0; v < g.n_cols; ++v) {
    if (!graph.is_left(v)) continue;
    number[v] = static_cast<std::int32_t>(reduced.vertex_of_rest.size());
    reduced.vertex_of_rest.push_back(v);
  }
  CscPattern& rest = reduced.rest;
  rest.n_rows = rest.n_cols = graph.left();
  rest.col_ptr = {0};
  for (const std::int32_t v : reduced.vertex_of_rest) {
    for (const std::int32_t u : graph.neighbours(v)) rest.row_idx.push_back(number[u]);
    rest.col_ptr.push_back(rest.nnz());
  }
  return reduced;
}

}  // namespace lulab
