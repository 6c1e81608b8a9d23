#pragma once
// Which columns must be finished before a column may start, where a finished column updates the columns to its right.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// Column j of the hybrid right-looking algorithm divides its part of L by the pivot, then subtracts L(:,j) · U(j,k) from
/// every column k with U(j,k) != 0 (Peng & Tan 2020, Alg. 2). Columns of one level do so at the same time, hence:
enum class DependencyRule {
  up_looking,  // k needs i when U(i,k) != 0 (GLU1.0). Not enough: i may write U(t,k) while t reads it
  double_u,    // and t needs i when i writes such a U(t,k), k > t (GLU2.0, Alg. 3): all hazards, none besides
  relaxed,     // and t needs i when L(t,i) != 0 (GLU3.0, Alg. 4): these and some more
};
inline constexpr std::array dependency_rules = {DependencyRule::up_looking, DependencyRule::double_u,
                                                DependencyRule::relaxed};
/// "up_looking", "double_u", "relaxed".
std::string_view to_string(DependencyRule rule);

/// Has column j entries in L? Else it updates nothing.
inline bool has_l(const FilledPattern& f, std::int32_t j) { return f.diag[j] + 1 < f.col_ptr[j + 1]; }

/// Column j needs columns[ptr[j]] .. columns[ptr[j + 1] - 1].
struct ColumnDependencies {
  std::vector<std::int64_t> ptr = {0};  // (n + 1)
  std::vector<std::int32_t> columns;    // ascending in each column, all of them left of it

  std::int32_t n() const { return static_cast<std::int32_t>(ptr.size()) - 1; }
};

/// A column i without entries in L updates nothing: under every rule nobody needs it (Alg. 4, line 4).
///
/// Requires  a valid FilledPattern. Its fill is what makes double_u cheap: i writes U(t,k) for a k > t, and t has an entry
///           of L to read it for, exactly when L(t,i) != 0, the last entry of U(i,:) lies right of t and L(:,t) has any.
///           Alg. 3 as printed lets j start at t, so that it adds i for a column t without L, too; nobody reads there.
/// Cost      O(nnz(L+U)), memory that of the result.
/// Source    Peng & Tan 2020, section II-C (Alg. 3), section III-A (Alg. 4).
ColumnDependencies find_dependencies(const FilledPattern& filled, DependencyRule rule);

/// level(j) = 1 + the largest level that j needs, 0 where it needs none.
/// Requires  every column needs only columns left of it.
/// Cost      O(n + dependencies).
Schedule levels_of(const ColumnDependencies& dependencies);

/// levels_of(find_dependencies(filled, rule)) without the list in between: one pass over the pattern, and for double_u
/// another over U. A column takes its level from the columns above it in U and passes it on to the rows below it in L.
///
/// Requires  a valid FilledPattern.
/// Cost      O(nnz(L+U)), memory O(n).
Schedule levels_right_looking(const FilledPattern& filled, DependencyRule rule);

}  // namespace lulab
