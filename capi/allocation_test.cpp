// The C interface where host memory is refused, in one allocation after the other and from then on: no exception leaves
// a call, it says so, no old x is left, and the same calls succeed when there is memory again.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capi/lulab.h"
#include "testing/refused_memory.h"
#include "verify/lulab_judge.h"

namespace lulab {
namespace {

constexpr double old_x = 7;
constexpr int32_t n = 12, nnz = 3 * n - 2;

/// A tridiagonal matrix, and what the calls of one solver need. Nothing here allocates.
struct Caller {
  lulab_solver* solver = nullptr;
  int32_t col_ptr[n + 1] = {0}, row_idx[nnz];
  double values[2 * nnz], small_diagonal[2 * nnz], b[2 * n], x[2 * n];
  int32_t systems;
  int scalar;

  explicit Caller(int32_t count, int of_factors = LULAB_DOUBLE) : systems(count), scalar(of_factors) {
    int32_t k = 0;
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t i = std::max(j - 1, 0); i <= std::min(j + 1, n - 1); ++i, ++k) {
        row_idx[k] = i;
        values[k] = values[nnz + k] = i == j ? 4 + 0.1 * j : i < j ? -1.5 : 1.25;
        small_diagonal[k] = small_diagonal[nnz + k] = i == j && j % 3 != 0 ? 1e-9 : values[k];
      }
      col_ptr[j + 1] = k;
    }
    std::ranges::fill(b, 1.0);
  }
  ~Caller() { EXPECT_EQ(lulab_destroy(solver), LULAB_OK); }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  lulab_matrix matrix() const { return {sizeof(lulab_matrix), n, nnz, LULAB_CSC, 0, 32, 32, col_ptr, row_idx, values}; }
  int64_t count() const { return int64_t{nnz} * std::max(systems, 1); }
  int64_t size() const { return int64_t{n} * std::max(systems, 1); }
  bool x_is(double wanted) const {
    return std::all_of(x, x + size(), [&](double v) { return std::isnan(wanted) ? std::isnan(v) : v == wanted; });
  }
  bool x_solves(const double* of) const {
    for (int64_t s = 0; s < size() / n; ++s) {
      double r[n];
      std::copy_n(b + n * s, n, r);
      for (int32_t j = 0; j < n; ++j)
        for (int32_t k = col_ptr[j]; k < col_ptr[j + 1]; ++k) r[row_idx[k]] -= of[nnz * s + k] * x[n * s + j];
      for (const double v : r)
        if (!(std::abs(v) <= 1e-6)) return false;
    }
    return true;
  }
};

struct Call {
  const char* name;
  int (*run)(Caller& c);
  bool gives_x = false;
  double (Caller::*factored)[2 * nnz] = nullptr;  // the values
};

constexpr Call calls[] = {
    {"create", [](Caller& c) { return lulab_create(&c.solver, c.scalar, LULAB_ABI); }},
    {"set_column_order",
     [](Caller& c) {
       const std::int64_t columns[] = {1, 0};
       return lulab_set_column_order(c.solver, 2, columns, 0);
     }},
    {"set_option", [](Caller& c) { return lulab_set_option(c.solver, "order", "colamd"); }},
    {"analyze",
     [](Caller& c) {
       const lulab_matrix a = c.matrix();
       return c.systems > 0 ? lulab_analyze_batch(c.solver, &a, c.systems) : lulab_analyze(c.solver, &a);
     }},
    {"check_pattern",
     [](Caller& c) {
       const lulab_matrix a = c.matrix();
       return lulab_check_pattern(c.solver, &a);
     }},
    {"factor", [](Caller& c) { return lulab_factor(c.solver, c.count(), c.values); }, false, &Caller::values},
    {"solve", [](Caller& c) { return lulab_solve(c.solver, c.size(), c.b, c.x); }, true},
    {"refactor", [](Caller& c) { return lulab_refactor(c.solver, c.count(), c.values); }, false, &Caller::values},
    {"refactor with other pivots", [](Caller& c) { return lulab_refactor(c.solver, c.count(), c.small_diagonal); },
     false, &Caller::small_diagonal},
    {"step", [](Caller& c) { return lulab_step(c.solver, c.count(), c.values, c.size(), c.b, c.x); }, true,
     &Caller::values},
    {"tsolve", [](Caller& c) { return c.systems > 0 ? LULAB_OK : lulab_tsolve(c.solver, c.size(), c.b, c.x); }, true},
    {"condition", [](Caller& c) { return c.systems > 0 ? LULAB_OK : lulab_condition(c.solver, nullptr, nullptr); }},
    {"get_statistics",
     [](Caller& c) {
       lulab_statistics s{};
       s.size = sizeof s;
       return lulab_get_statistics(c.solver, &s);
     }},
};
constexpr std::size_t factor = 5, solve = 6;  // of calls

TEST(LulabInC, RefusedHostMemoryIsAStatus) {
  const std::tuple<const char*, int32_t, int> cases[] = {{"auto", 0, LULAB_DOUBLE},
                                                         {"auto", 2, LULAB_DOUBLE},
                                                         {"sparse_leftlooking/00_reference", 0, LULAB_DOUBLE},
                                                         {"sparse_leftlooking/06_pruned", 0, LULAB_FLOAT},
                                                         {"90_klu", 0, LULAB_DOUBLE}};
  int failed = 0;
  for (const auto& [rung, systems, scalar] : cases)
    for (std::size_t i = 0; i < std::size(calls); ++i) {
      bool was_refused = true;
      for (std::int64_t k = 0; was_refused; ++k) {
        SCOPED_TRACE(::testing::Message()
                     << calls[i].name << " with " << k << " allocations, " << rung << ", " << systems << " systems");
        Caller c(systems, scalar);
        const auto prepare = [&](std::size_t from, std::size_t to) {
          for (std::size_t j = from; j < to; ++j) {
            ASSERT_EQ(calls[j].run(c), LULAB_OK) << calls[j].name;
            if (j > 0) continue;
            ASSERT_EQ(lulab_set_option(c.solver, "rung", rung), LULAB_OK);
          }
        };
        prepare(0, i);
        std::ranges::fill(c.x, old_x);
        int status = LULAB_OK;
        was_refused = testing::without_memory_after(k, [&] { status = calls[i].run(c); });
        if (!was_refused) {
          EXPECT_EQ(status, LULAB_OK);
        } else if (status != LULAB_OK) {
          EXPECT_EQ(status, LULAB_OUT_OF_MEMORY);
          ++failed;
          if (calls[i].gives_x) {
            EXPECT_TRUE(c.x_is(std::numeric_limits<double>::quiet_NaN()));
          }
          if (i >= factor) {
            std::ranges::fill(c.x, old_x);
            const int solved = calls[solve].run(c);
            if (solved != LULAB_OK) {
              EXPECT_TRUE(c.x_is(std::numeric_limits<double>::quiet_NaN()));
            } else if (calls[i].factored != nullptr) {  // a batch was factored before memory for its statuses ran out
              EXPECT_TRUE(systems > 0 && c.x_solves(c.*calls[i].factored));
            }
          }
          if (i > factor) {  // the analysis is good for more
            ASSERT_EQ(calls[factor].run(c), LULAB_OK);
            ASSERT_EQ(calls[i].run(c), LULAB_OK);
          }
          prepare(i == 0 ? 0 : 1, i + 1);
        }
        if (HasFailure()) return;
      }
    }
  EXPECT_GT(failed, 500);
}

TEST(LulabInC, WithoutHostMemoryTheJudgeSaysSo) {
  const int64_t col_ptr[] = {0, 1, 2};
  const int32_t row_idx[] = {0, 1};
  const double ones[] = {1, 1};
  lulab_judge_input input;
  static lulab_judge_report report;
  lulab_judge_init(&input, sizeof input, &report, sizeof report);
  input.n = 2;
  input.convention = LULAB_JUDGE_LULAB;
  input.a = input.l = input.u = {col_ptr, row_idx, ones};
  int64_t allocations = 0;
  int status = LULAB_JUDGE_INTERNAL;
  while (testing::without_memory_after(allocations++, [&] { status = lulab_judge(&input, &report); }))
    ASSERT_EQ(status, LULAB_JUDGE_OUT_OF_MEMORY) << allocations;
  EXPECT_EQ(status, LULAB_JUDGE_OK);
  EXPECT_EQ(report.accepted, 1) << report.what;
  EXPECT_GT(allocations, 20);
}

}  // namespace
}  // namespace lulab
