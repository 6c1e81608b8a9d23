#include "symbolic/chunks.h"

#include <algorithm>

#include "symbolic/chunk_trees.h"

namespace lulab {
namespace {

constexpr std::int64_t few_in_layer = 32;  // chunks: hykkt, 265, and af23560, 75, have no fewer layers by need

/// Does a column that has a parent have none of its entries in L, or none in U?
bool is_joined_by_one_side(const FilledPattern& f, std::span<const std::int32_t> parent) {
  std::vector<bool> has_row_of_u(f.n, false);
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t k = f.col_ptr[j]; k < f.diag[j]; ++k) has_row_of_u[f.row_idx[k]] = true;
  for (std::int32_t j = 0; j < f.n; ++j)
    if (parent[j] > j && parent[j] < f.n && (f.diag[j] + 1 == f.col_ptr[j + 1] || !has_row_of_u[j])) return true;
  return false;
}

}  // namespace

Chunks find_chunks(std::span<const std::int32_t> parent, std::int32_t max_columns) {
  const auto n = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> layer(n, 0), top(n, -1);  // of each column; the highest of its children
  std::vector<std::int64_t> columns(n, 1);            // of its chunk, up to it
  std::vector<std::int64_t> together(n, 1);           // ... if it joins those of its children's highest layer
  for (std::int32_t i = 0; i < n; ++i) {
    if (together[i] > max_columns) {
      layer[i] = top[i] + 1;
    } else {
      layer[i] = std::max(top[i], 0);
      columns[i] = together[i];
    }
    const std::int32_t p = parent[i];
    if (p < 0 || p >= n || layer[i] < top[p]) continue;
    if (layer[i] > top[p]) together[p] = 1;
    top[p] = layer[i];
    together[p] += columns[i];
  }

  std::vector<std::int32_t> last(n), number(n, -1);  // column of the chunk, which has its number
  for (std::int32_t i = n - 1; i >= 0; --i) {
    const std::int32_t p = parent[i];
    last[i] = p >= 0 && p < n && layer[p] == layer[i] ? last[p] : i;
  }
  Chunks chunks;
  chunks.of.resize(n);
  for (std::int32_t i = 0; i < n; ++i) {
    std::int32_t& of = number[last[i]];
    if (of < 0) {
      of = chunks.size();
      chunks.layer.push_back(layer[i]);
      chunks.n_layers = std::max(chunks.n_layers, layer[i] + 1);
    }
    chunks.of[i] = of;
  }
  return chunks;
}

Chunks find_chunks_by_need(const FilledPattern& filled, std::int32_t max_columns) {
  ChunkTrees<std::int64_t> trees(std::vector<std::int64_t>(filled.n, 1));
  trees.grow(filled, rows_of_l(filled),
             [&](std::int32_t, std::int32_t, std::int64_t columns) { return columns <= max_columns; });
  return trees.number();
}

Chunks find_chunks(const FilledPattern& filled, std::span<const std::int32_t> parent, std::int32_t max_columns) {
  Chunks chunks = find_chunks(parent, max_columns);
  const bool is_narrow = chunks.size() < few_in_layer * chunks.n_layers;
  if (!is_narrow || chunks.n_layers <= 1 || !is_joined_by_one_side(filled, parent)) return chunks;
  Chunks by_need = find_chunks_by_need(filled, max_columns);
  return by_need.n_layers < chunks.n_layers ? by_need : chunks;
}

}  // namespace lulab
