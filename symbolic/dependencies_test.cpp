#include "symbolic/dependencies.h"

#include <set>
#include <utility>

#include "symbolic/levels.h"
#include "testing/patterns.h"

namespace lulab {
namespace {

using testing::peng_tan_example;
using testing::random_matrix;
using Pairs = std::set<std::pair<std::int32_t, std::int32_t>>;  // (i, j): j needs i

Pairs pairs_of(const ColumnDependencies& d) {
  Pairs pairs;
  for (std::int32_t j = 0; j < d.n(); ++j)
    for (std::int64_t p = d.ptr[j]; p < d.ptr[j + 1]; ++p) {
      EXPECT_TRUE(0 <= d.columns[p] && d.columns[p] < j);
      EXPECT_TRUE(p == d.ptr[j] || d.columns[p - 1] < d.columns[p]) << "column " << j << " is not ascending";
      pairs.emplace(d.columns[p], j);
    }
  return pairs;
}

std::vector<std::vector<bool>> dense(const FilledPattern& f) {
  std::vector a(f.n, std::vector<bool>(f.n, false));
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) a[f.row_idx[p]][j] = true;
  return a;
}

/// The rules word by word, on the dense pattern. Alg. 3 with j > t: an entry of L(:,t) that is updated.
Pairs by_definition(const FilledPattern& f, DependencyRule rule) {
  const auto a = dense(f);
  const auto has_l = [&](std::int32_t j) {
    for (std::int32_t i = j + 1; i < f.n; ++i)
      if (a[i][j]) return true;
    return false;
  };
  Pairs pairs;
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int32_t i = 0; i < k; ++i)
      if (a[i][k] && has_l(i)) pairs.emplace(i, k);
  if (rule == DependencyRule::relaxed)
    for (std::int32_t k = 0; k < f.n; ++k)
      for (std::int32_t i = 0; i < k; ++i)
        if (a[k][i]) pairs.emplace(i, k);
  if (rule == DependencyRule::double_u)
    for (std::int32_t i = 0; i < f.n; ++i)
      for (std::int32_t t = i + 1; t < f.n; ++t)
        for (std::int32_t j = t + 1; a[t][i] && j < f.n; ++j)
          for (std::int32_t k = t + 1; a[j][t] && k < f.n; ++k)
            if (a[i][k] && a[j][k]) pairs.emplace(i, t);
  return pairs;
}

/// A hazard between two columns of one level: one writes what the other reads (Alg. 2).
void expect_no_hazard(const FilledPattern& f, const Schedule& s) {
  const auto a = dense(f);
  for (std::int32_t i = 0; i < f.n; ++i)
    for (std::int32_t t = i + 1; t < f.n; ++t)
      for (std::int32_t k = i + 1; a[t][i] && k < f.n; ++k) {
        if (!a[i][k]) continue;  // column i writes (t,k)
        EXPECT_LT(s.level_of[i], s.level_of[k]) << "column " << k << " divides what column " << i << " writes";
        for (std::int32_t j = t + 1; k > t && j < f.n; ++j)
          if (a[j][t]) {
            EXPECT_LT(s.level_of[i], s.level_of[t])
                << "(" << t << "," << k << ") is read by " << t << ", written by " << i;
          }
      }
}

Pairs counted_from_zero(Pairs pairs) {
  Pairs zero;
  for (const auto& [i, j] : pairs) zero.emplace(i - 1, j - 1);
  return zero;
}

TEST(Dependencies, OfThePapersExample) {
  const FilledPattern f = peng_tan_example();
  const Pairs up = counted_from_zero({{3, 5}, {4, 7}, {6, 7}, {1, 8}, {2, 8}, {3, 8}, {5, 8}, {7, 8}});
  EXPECT_EQ(pairs_of(find_dependencies(f, DependencyRule::up_looking)), up);

  Pairs exact = up;
  exact.merge(counted_from_zero({{1, 2}, {4, 6}}));
  EXPECT_EQ(pairs_of(find_dependencies(f, DependencyRule::double_u)), exact);

  Pairs relaxed = exact;
  relaxed.merge(counted_from_zero({{4, 8}, {6, 8}}));
  EXPECT_EQ(pairs_of(find_dependencies(f, DependencyRule::relaxed)), relaxed);
}

TEST(Dependencies, OfThePapersExampleGiveTheSameLevelsExactAndRelaxed) {
  const FilledPattern f = peng_tan_example();
  const Schedule exact = levels_of(find_dependencies(f, DependencyRule::double_u));
  EXPECT_EQ(exact.level_of, (std::vector<std::int32_t>{0, 1, 0, 0, 1, 1, 2, 3}));
  EXPECT_EQ(levels_of(find_dependencies(f, DependencyRule::relaxed)).level_of, exact.level_of);
  const Schedule racy = levels_of(find_dependencies(f, DependencyRule::up_looking));
  EXPECT_EQ(racy.level_of[3], racy.level_of[5]);  // 4 and 6 at the same time: the race of GLU1.0
}

TEST(Dependencies, AreTheRulesWordByWord) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto n = static_cast<std::int32_t>(seed % 23);
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = n, .density = 0.4 * double(seed % 5) / (1 + n)}));
    ASSERT_TRUE(f.ok());
    for (const DependencyRule rule : dependency_rules) {
      SCOPED_TRACE(to_string(rule));
      EXPECT_EQ(pairs_of(find_dependencies(*f, rule)), by_definition(*f, rule)) << "seed " << seed;
    }
  }
}

TEST(Dependencies, EachRuleContainsTheOneBefore) {
  int more_exact = 0, more_relaxed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = 40, .density = 0.04}));
    ASSERT_TRUE(f.ok());
    const Pairs up = pairs_of(find_dependencies(*f, dependency_rules[0])),
                exact = pairs_of(find_dependencies(*f, dependency_rules[1])),
                relaxed = pairs_of(find_dependencies(*f, dependency_rules[2]));
    EXPECT_TRUE(std::includes(exact.begin(), exact.end(), up.begin(), up.end()));
    EXPECT_TRUE(std::includes(relaxed.begin(), relaxed.end(), exact.begin(), exact.end()));
    more_exact += exact.size() > up.size();
    more_relaxed += relaxed.size() > exact.size();
  }
  EXPECT_GT(more_exact, 50);  // otherwise the matrices do not test the difference
  EXPECT_GT(more_relaxed, 50);
}

TEST(Dependencies, LevelsOfExactAndRelaxedRulesHaveNoHazard) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = 30, .density = 0.05}));
    ASSERT_TRUE(f.ok());
    expect_no_hazard(*f, levels_of(find_dependencies(*f, DependencyRule::double_u)));
    expect_no_hazard(*f, levels_of(find_dependencies(*f, DependencyRule::relaxed)));
  }
}

TEST(Dependencies, LevelsNeedNoListOfThem) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto n = static_cast<std::int32_t>(seed);
    const auto f = fill_gilbert_peierls(random_matrix(seed, {.n = n, .density = 0.5 * double(seed % 5) / (1 + n)}));
    ASSERT_TRUE(f.ok());
    for (const DependencyRule rule : dependency_rules) {
      SCOPED_TRACE(to_string(rule));
      const Schedule expected = levels_of(find_dependencies(*f, rule)), s = levels_right_looking(*f, rule);
      EXPECT_EQ(s.level_of, expected.level_of) << "seed " << seed;
      EXPECT_EQ(s.level_ptr, expected.level_ptr);
      EXPECT_EQ(s.level_cols, expected.level_cols);
    }
  }
}

TEST(Dependencies, NoColumnsHaveNone) {
  for (const DependencyRule rule : dependency_rules) {
    const ColumnDependencies d = find_dependencies(FilledPattern{}, rule);
    EXPECT_EQ(d.n(), 0);
    EXPECT_EQ(levels_of(d).n_levels(), 0);
  }
}

}  // namespace
}  // namespace lulab
