#include "symbolic/assembly_tree.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/in_parallel.h"
#include "core/large_pages.h"

namespace lulab {
namespace {

constexpr std::int64_t entries_a_tree_thread = 500'000;  // of L+U: about a millisecond
constexpr std::int32_t panels_a_tree_thread = 25'000;    // about a quarter of a millisecond
constexpr int max_tree_threads = 16;
constexpr std::int32_t block_columns = 1024;  // that a thread takes at once

/// Lists of columns, one for each panel, behind each other.
struct Lists {
  std::vector<std::int64_t> ptr;  // (panels + 1)
  std::vector<std::int32_t> columns;

  std::span<const std::int32_t> of(std::int32_t s) const {
    return std::span(columns).subspan(ptr[s], ptr[s + 1] - ptr[s]);
  }
};

/// Of each panel the columns right of it with an entry of U in its rows, ascending.
Lists columns_of_u(const FilledPattern& f, const RelaxedSupernodes& panels) {
  struct Found {
    std::int32_t panel, column;
  };
  const std::int32_t blocks = (f.n + block_columns - 1) / block_columns;
  std::vector<std::vector<Found>> found(blocks);  // in each block of columns, by columns
  share_out(blocks, threads_for(f.nnz(), entries_a_tree_thread, max_tree_threads), [&](std::int32_t block, int) {
    for (std::int32_t j = block * block_columns; j < std::min(f.n, (block + 1) * block_columns); ++j) {
      const std::int32_t own = panels.first[panels.of[j]];
      std::int32_t end = 0;  // of the panel of the row before
      for (std::int64_t p = f.col_ptr[j]; f.row_idx[p] < own; ++p) {
        if (f.row_idx[p] < end) continue;
        const std::int32_t s = panels.of[f.row_idx[p]];
        end = panels.first[s + 1];
        found[block].push_back({s, j});
      }
    }
  });
  Lists lists = {std::vector<std::int64_t>(panels.size() + std::size_t(2), 0), {}};
  for (const auto& of_block : found)
    for (const Found& at : of_block) ++lists.ptr[at.panel + 2];
  std::partial_sum(lists.ptr.begin(), lists.ptr.end(), lists.ptr.begin());
  lists.columns.resize(lists.ptr.back());
  for (const auto& of_block : found)
    for (const Found& at : of_block) lists.columns[lists.ptr[at.panel + 1]++] = at.column;
  lists.ptr.pop_back();
  return lists;
}

/// Of each panel its rows and columns after its pivots, made symmetric and closed: a child's, after the pivots of its
/// parent, are the parent's, too. parent: (panels) -1: none
Lists close(const FilledPattern& f, const RelaxedSupernodes& panels, std::vector<std::int32_t>& parent) {
  const Lists of_u = columns_of_u(f, panels);
  const std::int32_t size = panels.size();
  parent.assign(size, -1);
  Lists closed = {{0}, {}};
  closed.ptr.reserve(size + std::size_t(1));
  closed.columns.reserve(panels.rows.size());
  std::vector<std::int32_t> seen_by(f.n, -1), own, extra, child(size, -1), sibling(size, -1);
  for (std::int32_t s = 0; s < size; ++s) {
    const auto rows = panels.rows_of(s);
    const auto below = std::ranges::lower_bound(rows, panels.first[s + 1]);
    own.clear();
    std::set_union(below, rows.end(), of_u.of(s).begin(), of_u.of(s).end(), std::back_inserter(own));
    for (const std::int32_t i : own) seen_by[i] = s;
    extra.clear();
    for (std::int32_t c = child[s]; c >= 0; c = sibling[c])
      for (const std::int32_t i : closed.of(c))
        if (i >= panels.first[s + 1] && seen_by[i] != s) {
          seen_by[i] = s;
          extra.push_back(i);
        }
    std::ranges::sort(extra);
    std::ranges::merge(own, extra, std::back_inserter(closed.columns));
    closed.ptr.push_back(std::ssize(closed.columns));
    if (closed.of(s).empty()) continue;
    parent[s] = panels.of[closed.of(s).front()];
    sibling[s] = child[parent[s]];
    child[parent[s]] = s;
  }
  return closed;
}

}  // namespace

double FrontCosts::of(std::int64_t pivots, std::int64_t rows) const {
  const auto p = static_cast<double>(pivots), f = static_cast<double>(rows), left = f - p;
  const auto tiles = [&](std::int64_t count) { return double((count + tile - 1) / tile); };
  const double across = rows <= tile ? 1 : tiles(pivots) + tiles(rows - pivots);
  return fixed * across * across + pivot * p + multiply_add * (f * f * f - left * left * left) / 3 +
         left_entry * left * left;
}

AssemblyTree join_panels(std::span<const std::int32_t> first, std::span<const std::int32_t> parent,
                         std::span<const std::int32_t> n_others, const FrontCosts& costs, int host_threads) {
  const auto size = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> begin(size);  // first panel of the front that ends with this one
  std::vector<double> cost(size);         // of this front
  std::vector<char> is_root(size, true);  // it ends one
  std::vector<char> waits(size, false);   // for what a panel of another part becomes
  const auto cost_from = [&](std::int32_t panel, std::int32_t s) {
    const std::int64_t pivots = first[s + 1] - first[panel];
    return costs.of(pivots, pivots + n_others[s]);
  };
  /// Children join the front that ends with s, as far as it is known from panel `least` on what they are.
  const auto join_children = [&](std::int32_t s, std::int32_t least) {
    while (begin[s] > 0) {
      const std::int32_t c = begin[s] - 1;
      if (parent[c] < begin[s] || parent[c] > s) break;
      if (c < least || waits[c]) return false;
      const double together = cost_from(begin[c], s);
      if (together > cost[s] + cost[c]) break;
      is_root[c] = false;
      begin[s] = begin[c];
      cost[s] = together;
    }
    return true;
  };
  const int parts = host_threads > 0 ? host_threads : threads_for(size, panels_a_tree_thread, max_tree_threads);
  in_parallel(parts, [&](int part) {
    const auto cut = [&](int k) { return static_cast<std::int32_t>(std::int64_t(size) * k / parts); };
    for (std::int32_t s = cut(part); s < cut(part + 1); ++s) {
      begin[s] = s;
      cost[s] = cost_from(s, s);
      waits[s] = !join_children(s, cut(part));
    }
  });
  for (std::int32_t s = 0; s < size; ++s)
    if (waits[s]) waits[s] = !join_children(s, 0);
  AssemblyTree tree;
  std::vector<std::int32_t> front_of = std::move(begin);  // each place is read before it is written
  for (std::int32_t s = 0; s < size; ++s) {
    if (!is_root[s]) continue;
    std::fill(front_of.begin() + front_of[s], front_of.begin() + s + 1, tree.size());
    tree.first.push_back(first[s + 1]);
    tree.parent.push_back(parent[s]);  // a panel, until all fronts have numbers
    tree.others_ptr.push_back(tree.others_ptr.back() + n_others[s]);
  }
  for (std::int32_t& p : tree.parent)
    if (p >= 0) p = front_of[p];
  resize_in_large_pages(tree.others, tree.others_ptr.back());
  return tree;
}

AssemblyTree find_assembly_tree(const FilledPattern& filled, const RelaxedSupernodes& panels, const FrontCosts& costs) {
  std::vector<std::int32_t> parent, n_others;
  const Lists closed = close(filled, panels, parent);
  for (std::int32_t s = 0; s < panels.size(); ++s) n_others.push_back(static_cast<std::int32_t>(closed.of(s).size()));
  AssemblyTree tree = join_panels(panels.first, parent, n_others, costs);
  for (std::int32_t s = 0; s < tree.size(); ++s)
    std::ranges::copy(closed.of(panels.of[tree.last_pivot(s)]), tree.others.begin() + tree.others_ptr[s]);
  return tree;
}

std::vector<std::int32_t> rows_in_parent(const AssemblyTree& tree) {
  std::vector<std::int32_t> result(tree.others.size());
  for (std::int32_t s = 0; s < tree.size(); ++s) {
    const std::int32_t p = tree.parent[s];
    if (p < 0) continue;
    const auto of_parent = tree.others_of(p);
    auto at = of_parent.begin();
    std::int32_t* row = result.data() + tree.others_ptr[s];
    for (const std::int32_t i : tree.others_of(s)) {
      if (i < tree.first[p + 1]) {
        *row++ = i - tree.first[p];
        continue;
      }
      while (*at < i) ++at;
      *row++ = tree.pivots(p) + static_cast<std::int32_t>(at - of_parent.begin());
    }
  }
  return result;
}

}  // namespace lulab
