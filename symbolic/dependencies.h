#pragma once
// Dependencies of right-looking columns: which columns must finish before a column may start.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan.h"

namespace lulab {

/// Column j of the hybrid right-looking algorithm divides its part of L by the pivot, then subtracts L(:,j) · U(j,k)
/// from every column k with U(j,k) != 0 (Peng & Tan 2020, Alg. 2). Columns of one level do so at the same time.
/// Therefore:
enum class DependencyRule {
  up_looking,  // k needs i if U(i,k) != 0 (GLU1.0). Not enough: i may write U(t,k) while t reads it
  double_u,    // and t needs i if i writes such a U(t,k), k > t (GLU2.0, Alg. 3): exactly the hazards
  relaxed,     // and t needs i if L(t,i) != 0 (GLU3.0, Alg. 4): the hazards and some more
};
inline constexpr std::array dependency_rules = {DependencyRule::up_looking, DependencyRule::double_u,
                                                DependencyRule::relaxed};
/// "up_looking", "double_u", "relaxed".
std::string_view to_string(DependencyRule rule);

/// Whether column j has entries in L. Without them it updates nothing.
inline bool has_l(const FilledPattern& f, std::int32_t j) { return f.diag[j] + 1 < f.col_ptr[j + 1]; }

/// Column j needs columns[ptr[j]] .. columns[ptr[j + 1] - 1].
struct ColumnDependencies {
  std::vector<std::int64_t> ptr = {0};  // (n + 1)
  std::vector<std::int32_t> columns;    // ascending for each j, all < j

  std::int32_t n() const { return static_cast<std::int32_t>(ptr.size()) - 1; }
};

/// A column without entries in L updates nothing, so by every rule no column needs it (Alg. 4, line 4).
///
/// Requires  a valid FilledPattern. Fill makes double_u cheap to test: i writes a U(t,k), k > t, that t reads exactly
///           if L(t,i) != 0, the last entry of U(i,:) lies right of t, and L(:,t) has entries. Alg. 3 as printed lets j
///           start at t and so also adds i for a column t without L, where nothing is read.
/// Cost      O(nnz(L+U)), memory of the result.
/// Source    Peng & Tan 2020, section II-C (Alg. 3), section III-A (Alg. 4).
ColumnDependencies find_dependencies(const FilledPattern& filled, DependencyRule rule);

/// level(j) = 1 + the largest level of the columns that j needs; 0 if it needs none.
/// Requires  every column needs only columns left of it.
/// Cost      O(n + dependencies).
Schedule levels_of(const ColumnDependencies& dependencies);

/// levels_of(find_dependencies(filled, rule)) without the list: one pass over the pattern, for double_u another over U.
/// A column takes its level from the columns above it in U and passes it on to the rows below it in L.
///
/// Requires  a valid FilledPattern.
/// Cost      O(nnz(L+U)), memory O(n).
Schedule levels_right_looking(const FilledPattern& filled, DependencyRule rule);

}  // namespace lulab
