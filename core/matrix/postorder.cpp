#include "core/matrix/postorder.h"

#include <utility>

namespace lulab {

std::vector<std::int32_t> postorder(std::span<const std::int32_t> parent) {
  const auto n = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> next_child(n + std::size_t(1), -1), next_sibling(n, -1), path = {n}, ordered;
  ordered.reserve(n);
  for (std::int32_t k = n - 1; k >= 0; --k) {
    const bool root = parent[k] < 0 || parent[k] >= n;
    next_sibling[k] = std::exchange(next_child[root ? n : parent[k]], k);
  }
  while (!path.empty()) {
    const std::int32_t k = path.back(), child = next_child[k];
    if (child >= 0) {
      next_child[k] = next_sibling[child];
      path.push_back(child);
    } else {
      if (k < n) ordered.push_back(k);
      path.pop_back();
    }
  }
  return ordered;
}

}  // namespace lulab
