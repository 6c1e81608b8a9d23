#pragma once
// The lists of find_dependencies(), built by several CPU threads.

#include "symbolic/dependencies.h"

namespace lulab {

/// The same result as find_dependencies(filled, rule). Each thread owns a range of columns with about the same number
/// of entries of U. It finds their rows of L in the sorted columns to the left, then merges each row with its column of
/// U. No two threads write the same list, so no locks are needed.
///
/// Requires  a valid FilledPattern. threads <= 0: useful_threads(), one for a small pattern.
/// Cost      O(nnz(L+U) / threads + n log n) time; memory of the result and of the rows of L.
/// Source    Peng & Tan 2020, Algs. 3 and 4: the work of each k is independent.
ColumnDependencies find_dependencies(const FilledPattern& filled, DependencyRule rule, int threads);

/// The number of threads that find_dependencies() uses for threads <= 0.
int useful_threads(const FilledPattern& filled);

}  // namespace lulab
