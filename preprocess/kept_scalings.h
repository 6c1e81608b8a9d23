#pragma once
// Matching and scalings of an earlier matrix for the next one of a sequence, where they serve it as well.

#include <optional>
#include <vector>

#include "preprocess/preprocess.h"

namespace lulab {

/// Do the rows matched to columns of an earlier matrix, and its r, still make the matched entries large? Then the
/// column scalings for A: the earlier ones, but for columns that want another power of two.
///
/// Shapes    A: n x n, earlier: of length n -> (n) or nothing.
/// Requires  r of `earlier` finite and positive.
/// Ensures   with the result in place of earlier.c what preprocess() ensures of rounded scalings: |matched entry| in
///           [½, 2], every other |entry| <= 2. Nothing where that cannot be had, as where A has no matched entry in a
///           column, or an entry that is not finite.
/// Cost      O(n + nnz), without a logarithm: about a tenth of the matching.
std::optional<std::vector<double>> kept_scalings(const CscView<double>& a, const MatchedRows& earlier);

}  // namespace lulab
