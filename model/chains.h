#pragma once
// Critical path of a left-looking factorization, counted in hops.

#include "core/plan.h"

namespace lulab {

struct Chains {
  std::int32_t levels = 0;   // columns on the longest chain of dependent columns
  std::int64_t walking = 0;  // hops when a block walks the U entries of its column one after the other
  std::int64_t fine = 0;     // hops when independent U entries of one column proceed in parallel
};

/// One hop is one update of a column by an entry U(k,j), or the completion of a column (division by the pivot, flag).
/// With unlimited parallelism, column j finishes at done(j):
///
///     walking:  t = 0;  for k < j with U(k,j) != 0, ascending:  t = max(t, done(k)) + 1;   done(j) = t + 1
///     fine:     at(k) = max(done(k), max at(k') over k' < k with U(k',j) != 0 and L(k,k') != 0) + 1;
///               done(j) = max at(k) + 1
///
/// The result is max done(j). An entry U(k,j) waits for column k and, if walking, for the entry before it in column j;
/// if fine, only for the entries that still change U(k,j). Time per refactorization >= hops x time of one hop.
///
/// Cost      O(nnz(L+U)) for nearly symmetric patterns, at most O(flops): symmetric pairs L(s,k), U(k,s) prune as
///           in fill.h, because the longest chain then leads through entry s. 3n words.
Chains critical_chains(const FilledPattern& filled);

}  // namespace lulab
