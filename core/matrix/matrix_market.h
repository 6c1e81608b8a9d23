#pragma once
// Matrix Market files (Boisvert, Pozo & Remington 1996, NISTIR 5935), plain or gzip-compressed, read and written.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix/csc.h"
#include "core/matrix/dense.h"
#include "core/matrix/line_reader.h"
#include "core/matrix/permutation.h"
#include "core/status.h"

namespace lulab {

enum class MatrixMarketField { real, integer, pattern, complex };
enum class MatrixMarketSymmetry { general, symmetric, skew_symmetric, hermitian };
std::string_view to_string(MatrixMarketField field);
std::string_view to_string(MatrixMarketSymmetry symmetry);

/// A matrix read from a file.
struct MatrixMarket {
  CscMatrix<double> matrix;  // both triangles, rows sorted, explicit zeros kept
  MatrixMarketField field = MatrixMarketField::real;
  MatrixMarketSymmetry symmetry = MatrixMarketSymmetry::general;
  bool pattern_only = false;        // the file has positions but no values; all values here are 1
  std::int64_t stored_entries = 0;  // entries in the file (one triangle if symmetric)
  std::int64_t duplicates = 0;      // entries, after expansion, that were added to an earlier one
};

/// The location of an error that concerns a whole file.
inline Where in_file(std::string path) { return {std::move(path), 0, {}, {}}; }

/// Reads a sparse matrix.
///
/// Entries may come in any order and repeat; repeated ones are summed in the file's order. Symmetric, skew-symmetric
/// and hermitian files are expanded to both triangles. An array (dense) file gives its nonzero entries.
///
/// Errors    parse_error naming file and line: cannot be opened or read; no banner; a size, index or value that is
///           malformed, out of range or not finite; fewer or more entries than declared; an entry above the diagonal of
///           a symmetric file; a nonzero diagonal in a skew-symmetric one; sizes that are impossible for the length of
///           the file, or more than 64 times its number of entries. not_implemented: complex. out_of_memory.
///           Memory is bounded by the length of the file, not by its size line.
/// Cost      O(n + nnz), one pass over the file.
Result<MatrixMarket> read_matrix_market(const std::string& path, ReadProgress progress = {});
/// The same from memory; errors name it `name`.
Result<MatrixMarket> parse_matrix_market(std::string_view text, std::string name = "text");

/// Reads a dense matrix, usually a block of right-hand sides: array format, or coordinate format with zeros elsewhere.
/// Errors    as read_matrix_market(); parse_error for a pattern file.
Result<DenseMatrix<double>> read_dense_matrix_market(const std::string& path);
Result<DenseMatrix<double>> parse_dense_matrix_market(std::string_view text, std::string name = "text");

/// Reads a file of one column as a vector.
/// Errors    as read_dense_matrix_market(); parse_error if it has more than one column.
Result<std::vector<double>> read_vector(const std::string& path);

/// Reads a permutation, counted from 1 in the file and from 0 in memory.
/// Errors    as read_vector(); parse_error if it is not a permutation.
Result<Permutation> read_permutation(const std::string& path);

/// Writes coordinate real general; values with the fewest digits that read back bit for bit. Gzip when path ends in
/// ".gz". Lines of `comment` become comments of the file.
///
/// Errors    invalid_argument: not well formed (check_sorted), a value that is not finite (where = row and column), or
///           the file cannot be written (with the system's reason; what was there before is kept).
template <class T>
Status write_matrix_market(const std::string& path, const CscView<T>& a, std::string_view comment = {});
template <class T>
Status write_matrix_market(const std::string& path, const CscMatrix<T>& a, std::string_view comment = {}) {
  return write_matrix_market(path, a.view(), comment);
}

/// Writes array real general with one column.   Errors as write_matrix_market().
template <class T>
Status write_vector(const std::string& path, std::span<const T> x, std::string_view comment = {});

/// Writes array integer general with one column, counted from 1.   Requires is_permutation(p).
Status write_permutation(const std::string& path, std::span<const std::int32_t> p, std::string_view comment = {});

}  // namespace lulab
