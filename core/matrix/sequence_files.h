#pragma once
// Systems of one pattern as files: a folder's matrices in order, and the right-hand side beside each.

#include <optional>
#include <string>
#include <vector>

#include "core/matrix/csc.h"
#include "core/status.h"

namespace lulab {

/// All .mtx and .mtx.gz matrices of a folder but right-hand sides, sorted by name with numbers by value (A_2 before
/// A_10).
/// Errors    invalid_argument naming the folder: it cannot be read, or holds no matrix.
Result<std::vector<std::string>> matrices_in(const std::string& folder);

struct LoadedRightSide {
  std::vector<double> b;  // (n)
  std::string file;       // that holds it; empty: b = A times ones
};
/// The right-hand side of NAME is the file NAME_b next to it, that of A_k also b_k; without one, A times ones.
///
/// Errors    as read_vector(); invalid_argument naming the file: of another length.
Result<LoadedRightSide> right_side_of(const CscView<double>& a, const std::string& matrix_path);

/// Errors    invalid_argument naming `path` and the first entry that only one of them has.
Status check_same_pattern(const CscPattern& first, const std::string& first_path, const CscMatrix<double>& other,
                          const std::string& path);

}  // namespace lulab
