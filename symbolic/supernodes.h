#pragma once
// Supernodes: neighbouring columns of L with the same pattern, loaded and applied together.

#include <cstdint>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// Columns first[s] .. first[s + 1] - 1 form supernode s.
struct Supernodes {
  std::vector<std::int32_t> first = {0};  // (size + 1)
  std::vector<std::int32_t> of;           // (n) supernode of each column

  std::int32_t size() const { return static_cast<std::int32_t>(first.size()) - 1; }
};

/// Columns k and k + 1 share a supernode if the rows of L(:,k) are k+1 and the rows of L(:,k+1), U(k,k+1) != 0, and the
/// supernode has at most max_width columns. It follows: the columns of L in a supernode are a dense triangle above rows
/// common to all; U(k,j) != 0 implies U(k',j) != 0 for all later k' < j of the supernode; and k is finished when k' is.
///
/// Requires  a valid FilledPattern, max_width >= 1.
/// Cost      O(nnz(L) + n).
/// Source    Demmel, Eisenstat, Gilbert, Li & Liu 1999, section 2.1 (type T2, here with the dependency).
Supernodes find_supernodes(const FilledPattern& filled, std::int32_t max_width);

}  // namespace lulab
