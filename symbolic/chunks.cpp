#include "symbolic/chunks.h"

#include <algorithm>

namespace lulab {

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

}  // namespace lulab
