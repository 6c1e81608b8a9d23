#include "symbolic/chunks.h"

#include <algorithm>
#include <numeric>

#include "symbolic/rows_of_l.h"

namespace lulab {
namespace {

/// Trees of columns; the root of a tree stands for its chunk.   Source  Tarjan 1975 (path halving).
struct Trees {
  std::vector<std::int32_t> parent;

  explicit Trees(std::int32_t n) : parent(n) { std::iota(parent.begin(), parent.end(), 0); }
  std::int32_t root(std::int32_t j) {
    while (parent[j] != j) j = parent[j] = parent[parent[j]];
    return j;
  }
};

/// root(i): the column that stands for i's chunk   layer: (n) of those columns
template <class Root>
Chunks number_chunks(const std::vector<std::int32_t>& layer, const Root& root) {
  const auto n = static_cast<std::int32_t>(layer.size());
  Chunks chunks;
  chunks.of.resize(n);
  std::vector<std::int32_t> number(n, -1);
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t of = root(i);
    if (number[of] < 0) {
      number[of] = chunks.size();
      chunks.layer.push_back(layer[of]);
      chunks.n_layers = std::max(chunks.n_layers, layer[of] + 1);
    }
    chunks.of[i] = number[of];
  }
  return chunks;
}

}  // namespace

Chunks find_chunks(const FilledPattern& f, std::int32_t max_columns) {
  const std::int32_t n = f.n;
  const RowsOfL rows = rows_of_l(f);
  Trees trees(n);
  std::vector<std::int32_t> columns(n, 1), layer(n, 0), seen_by(n, -1), highest;
  for (std::int32_t i = 0; i < n; ++i) {
    std::int32_t top = -1;
    std::int64_t together = 1;
    highest.clear();
    const auto needs = [&](std::int32_t j) {
      const std::int32_t root = trees.root(j);
      if (seen_by[root] == i || layer[root] < top) return;
      seen_by[root] = i;
      if (layer[root] > top) {
        top = layer[root];
        together = 1;
        highest.clear();
      }
      together += columns[root];
      highest.push_back(root);
    };
    for (std::int64_t k = f.col_ptr[i]; k < f.diag[i]; ++k) needs(f.row_idx[k]);
    for (std::int64_t k = rows.ptr[i]; k < rows.ptr[i + 1]; ++k) needs(rows.cols[k]);
    if (top < 0) continue;
    if (together > max_columns) {
      layer[i] = top + 1;
      continue;
    }
    layer[i] = top;
    columns[i] = static_cast<std::int32_t>(together);
    for (const std::int32_t root : highest) trees.parent[root] = i;
  }
  return number_chunks(layer, [&](std::int32_t i) { return trees.root(i); });
}

Chunks chunks_of_tree(std::span<const std::int32_t> parent, std::int32_t max_columns) {
  const auto n = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> layer(n, 0), top(n, -1), root(n);
  std::vector<std::int64_t> columns(n, 1), together(n, 1);  // of the chunk; with those of the children's highest layer
  for (std::int32_t i = 0; i < n; ++i) {
    if (together[i] > max_columns) {
      layer[i] = top[i] + 1;
    } else {
      layer[i] = std::max(top[i], 0);
      columns[i] = together[i];
    }
    const std::int32_t p = parent[i];
    if (p < 0 || layer[i] < top[p]) continue;
    if (layer[i] > top[p]) together[p] = 1;
    top[p] = layer[i];
    together[p] += columns[i];
  }
  for (std::int32_t i = n - 1; i >= 0; --i)
    root[i] = parent[i] >= 0 && layer[parent[i]] == layer[i] ? root[parent[i]] : i;
  return number_chunks(layer, [&](std::int32_t i) { return root[i]; });
}

}  // namespace lulab
