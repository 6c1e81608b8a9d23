#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lulab {

/// The nodes of a forest in an order in which each follows all of its subtree, and subtrees are consecutive.
///
/// Shapes    parent, result: (n).   Requires parent[k] > k, or outside 0 .. n - 1: a root.
/// Source    Liu 1990, section 5.   Cost O(n).
std::vector<std::int32_t> postorder(std::span<const std::int32_t> parent);

}  // namespace lulab
