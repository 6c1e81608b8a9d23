#pragma once
// What every rung must do, on any matrix, beyond being accurate once: the contract of core/factorizer.h.

#include <cstdint>
#include <string>
#include <vector>

#include "core/matrix/csc.h"
#include "core/rung.h"

namespace lulab {

/// Puts a rung through its contract on one matrix and says what it broke, one sentence each; empty: it conforms.
///
/// - Calls in the wrong order and values of the wrong length are errors, and leave the factorizer usable.
/// - factor() gives factors that pass judge() and, for exact_pattern, have KLU's pattern; re-pivoted where it needs to
///   be.
/// - refactor() with other values gives factors of those, close to the ones of a fresh factor(); nothing of the old
///   values stays.
/// - Values with a NaN, and values that make the matrix singular, are errors by wait() or download() at the latest; no
///   factors are to be had after them, and the next factor() with good values succeeds.
/// - A rung that says deterministic repeats itself bit for bit.
///
/// Shapes    A: n x n, sorted, structurally nonsingular and numerically far from singular.
/// Requires  rung.supports<T>().
/// Cost      about ten factorizations.
template <class T>
std::vector<std::string> conformance_failures(const Rung& rung, const CscView<double>& a, std::uint64_t seed = 1);

}  // namespace lulab
