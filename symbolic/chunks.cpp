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

  Chunks chunks;
  chunks.of.resize(n);
  std::vector<std::int32_t> number(n, -1);
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t root = trees.root(i);
    if (number[root] < 0) {
      number[root] = chunks.size();
      chunks.layer.push_back(layer[root]);
      chunks.n_layers = std::max(chunks.n_layers, layer[root] + 1);
    }
    chunks.of[i] = number[root];
  }
  return chunks;
}

}  // namespace lulab
