#pragma once
// Copies of index arrays for SuiteSparse's 64-bit interfaces, which need SuiteSparse_long.

#include <span>
#include <vector>

#include <SuiteSparse_config.h>

namespace lulab::suitesparse {

/// A copy with capacity for one more element, so that data() is never null.
template <class Index>
std::vector<SuiteSparse_long> widen(std::span<const Index> from) {
  std::vector<SuiteSparse_long> to;
  to.reserve(from.size() + 1);
  to.assign(from.begin(), from.end());
  return to;
}

}  // namespace lulab::suitesparse
