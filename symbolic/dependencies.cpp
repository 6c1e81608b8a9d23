#include "symbolic/dependencies.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "symbolic/levels.h"
#include "symbolic/rows_of_u.h"

namespace lulab {

std::string_view to_string(DependencyRule rule) {
  switch (rule) {
    case DependencyRule::up_looking: return "up_looking";
    case DependencyRule::double_u: return "double_u";
    case DependencyRule::relaxed: return "relaxed";
  }
  return "?";
}

namespace {

/// Last column with an entry in each row of U.
std::vector<std::int32_t> last_of_u(const FilledPattern& f) {
  std::vector<std::int32_t> last(f.n);
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int64_t p = f.col_ptr[k]; p <= f.diag[k]; ++p) last[f.row_idx[p]] = k;
  return last;
}

/// add(i, j) once for every pair "j needs i", i ascending.
template <class Add>
void for_each_dependency(const FilledPattern& f, const RowsOfU& u, DependencyRule rule, const Add& add) {
  std::vector<std::int32_t> last_needed(f.n, -1);  // by each column; skips a pair that occurs twice for one i
  const auto add_once = [&](std::int32_t i, std::int32_t j) {
    if (std::exchange(last_needed[j], i) != i) add(i, j);
  };
  for (std::int32_t i = 0; i < f.n; ++i) {
    if (!has_l(f, i)) continue;
    for (std::int64_t p = u.ptr[i]; p < u.ptr[i + 1]; ++p) add_once(i, u.cols[p]);  // looking up: U(i,k) != 0
    if (rule == DependencyRule::up_looking) continue;
    const std::int32_t last = u.ptr[i] < u.ptr[i + 1] ? u.cols[u.ptr[i + 1] - 1] : i;
    for (std::int64_t p = f.diag[i] + 1; p < f.col_ptr[i + 1]; ++p) {  // looking left: L(t,i) != 0
      const std::int32_t t = f.row_idx[p];
      if (rule == DependencyRule::relaxed || (last > t && has_l(f, t))) add_once(i, t);
    }
  }
}

}  // namespace

ColumnDependencies find_dependencies(const FilledPattern& f, DependencyRule rule) {
  const RowsOfU u = rows_of_u(f);
  ColumnDependencies d;
  d.ptr.assign(f.n + std::size_t(1), 0);
  for_each_dependency(f, u, rule, [&](std::int32_t, std::int32_t j) { ++d.ptr[j + 1]; });
  std::partial_sum(d.ptr.begin(), d.ptr.end(), d.ptr.begin());
  d.columns.resize(d.ptr.back());
  std::vector<std::int64_t> next(d.ptr.begin(), d.ptr.end() - 1);
  for_each_dependency(f, u, rule, [&](std::int32_t i, std::int32_t j) { d.columns[next[j]++] = i; });
  return d;
}

Schedule levels_of(const ColumnDependencies& d) {
  std::vector<std::int32_t> level_of(d.n(), 0);
  for (std::int32_t j = 0; j < d.n(); ++j)
    for (std::int64_t p = d.ptr[j]; p < d.ptr[j + 1]; ++p)
      level_of[j] = std::max(level_of[j], 1 + level_of[d.columns[p]]);
  return group_levels(std::move(level_of));
}

Schedule levels_right_looking(const FilledPattern& f, DependencyRule rule) {
  const std::vector<std::int32_t> last = rule == DependencyRule::double_u ? last_of_u(f) : std::vector<std::int32_t>();
  std::vector<std::int32_t> level_of(f.n, 0);
  std::vector<std::int32_t> above(
      f.n, 0);  // lowest level that a column needing this one can have; cheaper to read than has_l()
  for (std::int32_t j = 0; j < f.n; ++j) {
    std::int32_t level = level_of[j];  // passed on by the columns in L(j,:)
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) level = std::max(level, above[f.row_idx[p]]);
    level_of[j] = level;
    if (!has_l(f, j)) continue;
    above[j] = level + 1;
    const auto pass_on = [&](std::int32_t row) { level_of[row] = std::max(level_of[row], level + 1); };
    const std::int64_t end = f.col_ptr[j + 1];
    if (rule == DependencyRule::relaxed)
      for (std::int64_t p = f.diag[j] + 1; p < end; ++p) pass_on(f.row_idx[p]);
    // lab: double_u begin
    if (rule == DependencyRule::double_u)
      for (std::int64_t p = f.diag[j] + 1; p < end && f.row_idx[p] < last[j]; ++p)
        if (has_l(f, f.row_idx[p])) pass_on(f.row_idx[p]);
    // lab: double_u end
  }
  return group_levels(std::move(level_of));
}

}  // namespace lulab
