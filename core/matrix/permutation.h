#pragma once
// Permutations as vectors: p[i] is the old index that lands at new index i, as in P·A = A(p, :).

#include <cstdint>
#include <span>
#include <vector>

#include "core/matrix/csc.h"

namespace lulab {

using Permutation = std::vector<std::int32_t>;

Permutation identity_permutation(std::int32_t n);

/// The first k where p[k] is none of 0..p.size()-1 or occurred before; -1: p is a permutation.
std::int64_t first_not_permuted(std::span<const std::int32_t> p);

/// Whether p holds each of 0..p.size()-1 exactly once.
inline bool is_permutation(std::span<const std::int32_t> p) { return first_not_permuted(p) < 0; }

/// inverse(p)[p[i]] == i.   Requires is_permutation(p).
Permutation inverse(std::span<const std::int32_t> p);

/// compose(p, q)[i] == p[q[i]]: A(compose(p,q), :) == (A(p, :))(q, :).   Requires equal lengths.
Permutation compose(std::span<const std::int32_t> p, std::span<const std::int32_t> q);

/// B(i,j) = A(p[i], q[j]), rows sorted.   Shapes A: m x n, p: (m), q: (n).   Cost O(m + n + nnz).
CscPattern permute(CscPatternView a, std::span<const std::int32_t> p, std::span<const std::int32_t> q);
template <class T>
CscMatrix<T> permute(const CscView<T>& a, std::span<const std::int32_t> p, std::span<const std::int32_t> q);

/// B(i,j) = r[i] · A(i,j) · c[j].   Shapes A: m x n, r: (m), c: (n).
template <class T>
CscMatrix<T> scale(const CscView<T>& a, std::span<const double> r, std::span<const double> c);

}  // namespace lulab
