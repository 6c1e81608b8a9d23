#pragma once
// The systems of lulab refactor: files, folders of files, or A - s E for many s. All have one pattern.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/input.h"
#include "core/matrix/pencil.h"
#include "core/matrix/sequence_files.h"

namespace lulab::app {

struct SequenceStep {
  std::string name;  // "A_00", "A - 3 E"
  CscMatrix<double> a;
  LoadedRightSide right_side;
  std::optional<double> shift;  // the s of A - s E
};

/// Loads one system at a time; keeps the pattern of the first to compare with.
class Sequence {
 public:
  /// Each path is a Matrix Market file, or a folder: matrices_in() it.   Errors as matrices_in().
  static Result<Sequence> of_paths(const std::vector<std::string>& paths);
  /// A - s E for every s, in the given order; the right-hand side is that of A.
  /// Errors    as load_matrix(); invalid_argument: a path is a folder, or A and E differ in size.
  static Result<Sequence> sweep(const std::string& a, const std::string& e, std::vector<double> shifts);

  std::size_t size() const { return shifts_.empty() ? paths_.size() : shifts_.size(); }
  /// Requires  k < size(); load(0) comes first.
  /// Errors    as load_matrix(), right_side_of() and, against the first, check_same_pattern().
  Result<SequenceStep> load(std::size_t k);

 private:
  std::vector<std::string> paths_;
  CscPattern first_;
  std::vector<double> shifts_;  // empty: not a sweep
  Pencil pencil_;
  std::string a_name_, e_name_;
};

/// Parses a list "0,0.5,1e3" whose items are numbers or ranges first:step:last ("0:1:10" is 0, 1, ..., 10).
///
/// Errors    invalid_argument naming the item: not a finite number, a step that never reaches the last value, or
///           more than 1000000 values.
Result<std::vector<double>> parse_shifts(std::string_view text);

}  // namespace lulab::app
