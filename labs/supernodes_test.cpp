// Checks of a lab whose lines find supernodes: each column against the definition, with the rows as sets.

#include <functional>
#include <set>

#include "labs/verdict_test.h"
#include "symbolic/fill.h"
#include "symbolic/supernodes.h"
#include "testing/patterns.h"

namespace lulab::labs {
namespace {

std::set<std::int32_t> rows_of_l(const FilledPattern& f, std::int32_t k) {
  return {f.row_idx.begin() + f.diag[k] + 1, f.row_idx.begin() + f.col_ptr[k + 1]};
}

/// Why columns k and k + 1 are not of one supernode, empty: they are.
std::string apart(const FilledPattern& f, std::int32_t k) {
  std::set<std::int32_t> here = rows_of_l(f, k);
  const std::set<std::int32_t> next = rows_of_l(f, k + 1);
  if (here.erase(k + 1) == 0) return fmt::format("L({},{}) is 0", k + 1, k);
  if (here != next) return fmt::format("L(:,{}) and L(:,{}) have other rows below row {}", k, k + 1, k + 1);
  const std::set<std::int32_t> upper(f.row_idx.begin() + f.col_ptr[k + 1], f.row_idx.begin() + f.diag[k + 1]);
  return upper.count(k) ? "" : fmt::format("U({},{}) is 0: column {} does not need column {}", k, k + 1, k + 1, k);
}

/// False, and the first wrong column told, unless the supernodes are as wide as the definition and the limit allow.
bool expect_supernodes(const std::string& name, const FilledPattern& f, std::int32_t max_width) {
  const FilledPattern given = f;  // what is expected does not depend on what is done to it
  const Supernodes s = find_supernodes(given, max_width);
  const auto fail = [&](std::int32_t k, const std::string& expected, const std::string& actual) {
    fail_with({{"matrix", fmt::format("{}, at most {} columns", name, max_width)},
               {"step", fmt::format("column {}", k)},
               {"expected", expected},
               {"actual", actual}});
    return false;
  };
  std::vector<std::int32_t> first = {0};
  std::int32_t width = 0;
  for (std::int32_t k = 0; k < f.n; ++k) {
    std::string why = k == 0 ? "it is the first" : apart(f, k - 1);
    if (why.empty() && width == max_width) why = "the one before is full";
    if (!why.empty() && k > 0) first.push_back(k);
    width = why.empty() ? width + 1 : 1;
    const auto of = static_cast<std::int32_t>(first.size()) - 1;
    if (std::ssize(s.of) == f.n && s.of[k] == of) continue;
    return fail(k, fmt::format("supernode {}{}", of, why.empty() ? ", as the column before" : ": " + why),
                std::ssize(s.of) == f.n ? fmt::format("supernode {}", s.of[k]) : "of has another size");
  }
  first.push_back(f.n);
  if (s.first == first) return true;
  return fail(f.n, fmt::format("first = {{{}}}", fmt::join(first, ", ")),
              fmt::format("first = {{{}}}", fmt::join(s.first, ", ")));
}

FilledPattern filled(std::int32_t n, const std::function<bool(int, int)>& kept) {
  return *fill_reference(testing::pattern_of(n, kept));
}

TEST(SupernodesLab, SmallExact) {
  const auto full = filled(6, [](int, int) { return true; });
  if (!expect_supernodes("diagonal, n = 3", filled(3, [](int i, int j) { return i == j; }), 4)) return;
  for (const std::int32_t width : {1, 4, 6, 100})
    if (!expect_supernodes("full, n = 6", full, width)) return;
  if (expect_supernodes("lower triangle, n = 4", filled(4, [](int i, int j) { return i >= j; }), 4))
    if (expect_supernodes("tridiagonal, n = 5", filled(5, [](int i, int j) { return std::abs(i - j) <= 1; }), 4))
      expect_supernodes("two full blocks, n = 6", filled(6, [](int i, int j) { return i / 3 == j / 3; }), 4);
}

TEST(SupernodesLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + 120; ++seed) {
    const auto n = static_cast<std::int32_t>(2 + seed % 40);
    const auto a = testing::random_matrix(seed, {.n = n, .density = 2.5 / n, .zero_diagonal = 0});
    const std::string name = fmt::format("random, n = {}, density {:.3g}, seed {}", n, 2.5 / n, seed);
    if (!expect_supernodes(name, *fill_reference(a), 1 + static_cast<std::int32_t>(seed % 7))) return;
  }
}

}  // namespace
}  // namespace lulab::labs
