#pragma once
// The systems that lulab refactor runs through: files, folders of files, or A - s E for many s. One pattern for all.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/input.h"
#include "core/matrix/pencil.h"

namespace lulab::app {

struct SequenceStep {
  std::string name;  // "A_00", "A - 3 E"
  CscMatrix<double> a;
  std::vector<double> b;        // (n)
  std::string right_side;       // the file that holds b; empty: b is A times ones
  std::optional<double> shift;  // the s of A - s E
};

/// Read or formed step by step: one matrix in memory, and the first one's pattern.
class Sequence {
 public:
  /// Each path is a Matrix Market file or a folder, which stands for all its .mtx and .mtx.gz files but right sides, in
  /// the order of their names with numbers by value (A_2 before A_10). The right side of NAME is the file NAME_b beside
  /// it; that of A_k also b_k.
  /// Errors    invalid_argument naming the path: a folder that cannot be read or holds no matrix.
  static Result<Sequence> of_paths(const std::vector<std::string>& paths);
  /// A - s E for every s, in their order; the right side is that of A.
  /// Errors    as load_matrix(); invalid_argument: a folder, or E is not of A's size.
  static Result<Sequence> sweep(const std::string& a, const std::string& e, std::vector<double> shifts);

  std::size_t size() const { return shifts_.empty() ? paths_.size() : shifts_.size(); }
  /// Requires  k < size(); load(0) comes first.
  /// Errors    as load_matrix() and read_vector(); invalid_argument: a right side of another length, or a pattern other
  ///           than the first one's, naming the first entry that only one of them has.
  Result<SequenceStep> load(std::size_t k);

 private:
  std::vector<std::string> paths_;
  CscPattern first_;
  std::vector<double> shifts_;  // empty: not a sweep
  Pencil pencil_;
  std::string a_name_, e_name_;
};

/// "0:1:10" is 0, 1, ..., 10 (first:step:last); "0,0.5,1e3" a list, whose items may be such ranges.
///
/// Errors    invalid_argument naming the item: no finite number, a step that does not lead from first to last, or more
///           than 1000000 values.
Result<std::vector<double>> parse_shifts(std::string_view text);

}  // namespace lulab::app
