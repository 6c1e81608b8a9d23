#pragma once
// Subtrees of a postordered elimination tree, in kernels: each node follows all of its subtree, which is consecutive.

#include "core/simt/kernel.h"
#include "symbolic/tree_on_device.h"

namespace lulab {

/// Node v is below node k, or k itself.   node: (n) of a postordered tree   Requires v <= k.
__device__ __forceinline__ bool reaches(const TreeNode* node, std::int32_t v, std::int32_t k) {
  while (v <= k) {
    const TreeNode chain = node[v];
    if (chain.last >= k) return true;
    v = chain.parent;
  }
  return false;
}

/// The first of the nodes, or chains, that are below k: in a postordered tree they are those right in front of k.
/// is_below(v): whether v < k is one of them; asked some 2 log2 of their number times.   Returns k where none is.
template <class IsBelow>
__device__ __forceinline__ std::int32_t first_below(std::int32_t k, const IsBelow& is_below) {
  std::int32_t first = k;
  std::int64_t step = 1;
  for (; step <= k && is_below(static_cast<std::int32_t>(k - step)); step *= 2)
    first = static_cast<std::int32_t>(k - step);
  for (std::int32_t outside = static_cast<std::int32_t>(max(k - step, std::int64_t{-1})); first - outside > 1;) {
    const std::int32_t middle = outside + (first - outside) / 2;
    (is_below(middle) ? first : outside) = middle;
  }
  return first;
}

}  // namespace lulab
