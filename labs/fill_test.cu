// Checks of a lab whose lines belong to a symbolic factorization: the pattern of L + U, entry by entry.

#include <algorithm>

#include "labs/verdict_test.h"
#include "symbolic/rungs.h"
#include "testing/patterns.h"

namespace lulab::labs {
namespace {

struct Case {
  std::string name;
  CscPattern b;
};

/// A path src -> v whose inner vertices are smaller than both: the reason of the entry (v, src).
/// Requires  there is one.
std::string path_to(const CscPattern& b, std::int32_t src, std::int32_t v) {
  std::vector<std::int32_t> from(b.n_cols, -1), open = {src};
  from[src] = src;
  while (!open.empty()) {
    const std::int32_t at = open.back();
    open.pop_back();
    for (std::int64_t p = b.col_ptr[at]; p < b.col_ptr[at + 1]; ++p) {
      const std::int32_t next = b.row_idx[p];
      if (from[next] >= 0 || (next != v && next >= std::min(src, v))) continue;
      from[next] = at;
      open.push_back(next);
    }
  }
  std::string text = std::to_string(v);
  for (std::int32_t at = v; at != src && from[at] >= 0;) text = fmt::format("{} -> {}", at = from[at], text);
  return text;
}

/// False, and the first wrong entry told, unless the rung finds the pattern of the reference.
bool expect_pattern(const Case& c, const simt::SimulatorOptions& options, const FillLimits& limits = {}) {
  const simt::SimulatorScope scope(options);
  const auto rung = std::ranges::find(every_fill_rung(), check_options().rung, &FillRung::id);
  const auto expected = fill_reference(c.b);
  const auto f = (*rung)->fill(c.b, limits, nullptr);
  if (!f.ok()) {
    fail_with_status(c.name, options, f.status());
    return false;
  }
  const auto rows_of = [](const FilledPattern& of, std::int32_t j) {
    return std::span(of.row_idx).subspan(of.col_ptr[j], of.col_ptr[j + 1] - of.col_ptr[j]);
  };
  for (std::int32_t src = 0; src < c.b.n_cols; ++src) {
    const auto has = rows_of(*f, src), wants = rows_of(*expected, src);
    if (std::ranges::equal(has, wants)) continue;
    const auto [h, w] = std::ranges::mismatch(has, wants);
    const bool is_missing = h == has.end() || (w != wants.end() && *w < *h);
    const std::int32_t v = is_missing ? *w : *h;
    fail_with(
        {{"matrix", c.name},
         {"step", fmt::format("source {}", src)},
         {"entry", fmt::format("vertex {}", v)},
         {"expected", is_missing ? "filled: the path " + path_to(c.b, src, v) + " has smaller inner vertices alone"
                                 : "not filled: every path to it has an inner vertex that is not smaller"},
         {"actual", is_missing ? "not found" : "filled"},
         {"schedule", to_text(options)}});
    return false;
  }
  return true;
}

Case random_case(std::int32_t n, double density, std::uint64_t seed) {
  return {
      fmt::format("random, n = {}, density {:.3g}, seed {}", n, density, seed),
      testing::random_matrix(seed, {.n = n, .density = density, .zero_diagonal = 0.25 * double(seed % 4)}).pattern()};
}

TEST(FillLab, SmallExact) {
  const auto edges = [](std::int32_t n, std::vector<std::pair<int, int>> from_to) {
    return testing::pattern_of(
        n, [=](int i, int j) { return i == j || std::ranges::count(from_to, std::pair(j, i)) > 0; });
  };
  const Case cases[] = {
      {"no edge, n = 3", edges(3, {})},
      {"edges 2->0->1: a fill edge, n = 3", edges(3, {{2, 0}, {0, 1}})},
      {"edges 2->1->0: none, n = 3", edges(3, {{2, 1}, {1, 0}})},
      {"two paths 8->7->4 and 8->2->3->4, n = 9", edges(9, {{8, 7}, {7, 4}, {8, 2}, {2, 3}, {3, 4}})},
      {"the same, the better one longer, n = 10",
       edges(10, {{9, 7}, {7, 5}, {5, 6}, {9, 0}, {0, 1}, {1, 2}, {2, 5}, {5, 8}})},
      {"cycle, n = 7", testing::pattern_of(7, [](int i, int j) { return i == j || i == (j + 1) % 7; })}};
  for (const Case& c : cases)
    for (const std::uint64_t seed : simt::schedule_seeds())
      if (!expect_pattern(c, schedule(seed))) return;
}

TEST(FillLab, Properties) {
  const std::uint64_t first = check_options().seed;
  for (std::uint64_t seed = first; seed < first + (simt::race_detection ? 8 : 60); ++seed) {
    const auto n = static_cast<std::int32_t>(3 + seed % 64);
    const Case c = random_case(n, double(1 + seed % 8) / n, seed);
    if (!expect_pattern(c, schedule(seed), {.sources = static_cast<std::int32_t>(seed % 3 * 7)})) return;
  }
}

TEST(FillLab, Schedules) {
  for (const std::uint64_t matrix : {check_options().seed, check_options().seed + 1})
    for (const std::uint64_t seed : simt::schedule_seeds())
      for (const int resident : simt::resident_limits({0, 1 + int(seed % 3)}))
        if (!expect_pattern(random_case(simt::race_detection ? 30 : 60, 0.05, matrix), schedule(seed, resident)))
          return;
}

TEST(FillLab, Accuracy) {
  for (const testing::NamedPattern& pattern : testing::generated_patterns(100))
    if (!expect_pattern({pattern.name, pattern.before}, schedule(check_options().seed))) return;
}

}  // namespace
}  // namespace lulab::labs
