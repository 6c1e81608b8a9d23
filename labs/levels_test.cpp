// Checks of labs whose lines find levels: of right-looking columns, each against the hazards, found one by one; of
// left-looking columns, each against the longest chain that ends in it.

#include <algorithm>

#include "labs/verdict_test.h"
#include "symbolic/dependencies.h"
#include "symbolic/levels.h"
#include "testing/patterns.h"

namespace lulab::labs {
namespace {

/// Why column t may not run beside column i < t, empty: it may. Column j reads column j and its row of U, and writes
/// As(i,k) for each of its L(i,j) and U(j,k).
std::string hazard(const std::vector<std::vector<bool>>& stored, std::int32_t i, std::int32_t t) {
  const auto n = static_cast<std::int32_t>(stored.size());
  const auto updates = [&](std::int32_t j) {
    for (std::int32_t row = j + 1; row < n; ++row)
      if (stored[row][j]) return true;
    return false;
  };
  if (!updates(i)) return "";
  if (stored[i][t]) return fmt::format("column {} updates column {}: U({},{}) is not 0", i, t, i, t);
  if (!updates(t)) return "";
  for (std::int32_t k = t + 1; k < n; ++k)
    if (stored[t][i] && stored[i][k] && stored[t][k])
      return fmt::format("column {} writes As({},{}), which column {} reads", i, t, k, t);
  return "";
}

/// False, and the first wrong level told, unless the levels are those of the hazards.
bool expect_levels(const std::string& name, const FilledPattern& f) {
  std::vector stored(f.n, std::vector<bool>(f.n, false));
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t p = f.col_ptr[j]; p < f.col_ptr[j + 1]; ++p) stored[f.row_idx[p]][j] = true;
  const FilledPattern given = f;  // what is expected does not depend on what is done to it
  const Schedule schedule = levels_right_looking(given, DependencyRule::double_u);
  std::vector<std::int32_t> level(f.n, 0);
  for (std::int32_t t = 0; t < f.n; ++t) {
    std::string why = "no column before it writes what it reads";
    for (std::int32_t i = 0; i < t; ++i)
      if (const std::string h = hazard(stored, i, t); !h.empty() && level[i] + 1 > level[t]) {
        level[t] = level[i] + 1;
        why = h + fmt::format(", and column {} has level {}", i, level[i]);
      }
    if (schedule.level_of[t] == level[t]) continue;
    fail_with({{"matrix", name},
               {"step", fmt::format("column {}", t)},
               {"expected", fmt::format("level {}: {}", level[t], why)},
               {"actual", fmt::format("level {}", schedule.level_of[t])}});
    return false;
  }
  return true;
}

/// The levels of the two other rules are those of the list of dependencies.
bool expect_other_rules(const FilledPattern& f) {
  for (const DependencyRule rule : {DependencyRule::up_looking, DependencyRule::relaxed}) {
    if (levels_right_looking(f, rule).level_of == levels_of(find_dependencies(f, rule)).level_of) continue;
    fail_with({{"matrix", fmt::format("n = {}", f.n)},
               {"expected", fmt::format("the levels of rule {} as they were", to_string(rule))},
               {"actual", "others"}});
    return false;
  }
  return true;
}

TEST(LevelsLab, SmallExact) {
  const auto filled = [](const CscPattern& b) { return *fill_reference(b); };
  const auto full = [](std::int32_t n) { return testing::pattern_of(n, [](int, int) { return true; }); };
  const auto diagonal = testing::pattern_of(3, [](int i, int j) { return i == j; });
  if (expect_levels("diagonal, n = 3", filled(diagonal)) && expect_levels("full, n = 3", filled(full(3))))
    if (expect_levels("Peng & Tan 2020, Fig. 1, columns counted from 0, n = 8", testing::peng_tan_example()))
      expect_other_rules(testing::peng_tan_example());
}

TEST(LevelsLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    const auto n = static_cast<std::int32_t>(2 + seed % 30);
    const double density = double(1 + seed % 5) / (2 * n);
    const auto a = testing::random_matrix(seed, {.n = n, .density = density, .zero_diagonal = 0});
    if (!expect_levels(fmt::format("random, n = {}, density {:.3g}, seed {}", n, density, seed), *fill_reference(a)))
      return;
  }
}

/// False, and the first fault told, unless the levels are the lengths of the chains of U and list all their columns.
bool expect_left_levels(const std::string& name, const FilledPattern& f) {
  const FilledPattern given = f;
  const Schedule schedule = levels_left_looking(given);
  std::vector<std::int32_t> level(f.n, 0), size;
  for (std::int32_t j = 0; j < f.n; ++j) {
    std::string why = "it needs no column";
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p)
      if (const std::int32_t k = f.row_idx[p]; level[k] >= level[j]) {
        level[j] = level[k] + 1;
        why = fmt::format("U({},{}) is not 0, and column {} has level {}", k, j, k, level[k]);
      }
    size.resize(std::max(size.size(), level[j] + std::size_t(1)), 0);
    ++size[level[j]];
    if (schedule.level_of[j] == level[j]) continue;
    fail_with({{"matrix", name},
               {"step", fmt::format("column {}", j)},
               {"expected", fmt::format("level {}: {}", level[j], why)},
               {"actual", fmt::format("level {}", schedule.level_of[j])}});
    return false;
  }
  std::vector<std::int64_t> ptr = {0};
  for (const std::int32_t columns : size) ptr.push_back(ptr.back() + columns);
  for (std::size_t l = 0; l < ptr.size(); ++l) {
    if (l < schedule.level_ptr.size() && schedule.level_ptr[l] == ptr[l]) continue;
    fail_with({{"matrix", name},
               {"step", fmt::format("level_ptr[{}]", l)},
               {"expected", fmt::format("{}: so many columns have a smaller level", ptr[l])},
               {"actual", l < schedule.level_ptr.size() ? std::to_string(schedule.level_ptr[l]) : "nothing"}});
    return false;
  }
  std::vector<std::int64_t> next(ptr.begin(), ptr.end() - 1);
  for (std::int32_t j = 0; j < f.n; ++j) {
    const std::int64_t at = next[level[j]]++;
    if (schedule.level_cols[at] == j) continue;
    fail_with({{"matrix", name},
               {"step", fmt::format("level_cols[{}]", at)},
               {"expected", fmt::format("{}: the columns of level {}, ascending", j, level[j])},
               {"actual", std::to_string(schedule.level_cols[at])}});
    return false;
  }
  return true;
}

TEST(LeftLevelsLab, SmallExact) {
  const auto filled = [](const auto& kept) { return *fill_reference(testing::pattern_of(4, kept)); };
  if (expect_left_levels("diagonal, n = 4", filled([](int i, int j) { return i == j; })))
    if (expect_left_levels("full, n = 4", filled([](int, int) { return true; })))
      if (expect_left_levels("lower triangle, n = 4", filled([](int i, int j) { return i >= j; })))
        expect_left_levels("Peng & Tan 2020, Fig. 1, columns counted from 0, n = 8", testing::peng_tan_example());
}

TEST(LeftLevelsLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    const auto n = static_cast<std::int32_t>(2 + seed % 30);
    const double density = double(1 + seed % 5) / (2 * n);
    const auto a = testing::random_matrix(seed, {.n = n, .density = density, .zero_diagonal = 0});
    const std::string name = fmt::format("random, n = {}, density {:.3g}, seed {}", n, density, seed);
    if (!expect_left_levels(name, *fill_reference(a))) return;
  }
}

}  // namespace
}  // namespace lulab::labs
