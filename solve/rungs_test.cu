// Every rung of this room solves as solve/triangular.h does.

#include "solve/rungs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "solve/device_solver.h"
#include "solve/triangular.h"
#include "testing/device.h"
#include "testing/made_up_factors.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// (n, columns) by columns, x of every right-hand side on its own.
template <class T>
std::vector<T> one_by_one(const Factors<T>& f, const std::vector<T>& b, bool transposed) {
  const auto n = static_cast<std::size_t>(f.filled.n);
  std::vector<T> x(b.size(), static_cast<T>(nan));
  for (std::size_t at = 0; at < b.size(); at += n) {
    const auto from = std::span<const T>(b).subspan(at, n);
    const auto to = std::span(x).subspan(at, n);
    EXPECT_TRUE((transposed ? solve_transposed<T>(f, from, to) : solve<T>(f, from, to)).ok());
  }
  return x;
}

template <class T>
Result<std::vector<T>> on_device(SolveMethod method, const Factors<T>& f, const std::vector<T>& b, bool transposed) {
  const auto columns = static_cast<std::int32_t>(b.size()) / f.filled.n;
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  simt::DeviceBuffer<T> d_values, d_b, d_x;
  LULAB_RETURN_IF_ERROR(simt::make(d_values, f.values, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_b, b, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_x, d_b.size()));
  LULAB_RETURN_IF_ERROR(d_x.fill_bytes(0xFF, stream));
  LULAB_ASSIGN_OR_RETURN(auto solver,
                         DeviceSolver<T>::create(f.filled, f.plan, {.method = method, .max_columns = columns}, stream));
  LULAB_RETURN_IF_ERROR(solver.update(d_values.data(), stream));
  LULAB_RETURN_IF_ERROR(transposed ? solver.solve_transposed(d_b.data(), d_x.data(), columns, stream)
                                   : solver.solve(d_b.data(), d_x.data(), columns, stream));
  std::vector<T> x(b.size(), static_cast<T>(nan));
  LULAB_RETURN_IF_ERROR(d_x.download(x, stream));
  LULAB_RETURN_IF_ERROR(solver.wait(stream));
  return x;
}

TEST(SolveRungs, EveryMethodHasOneAndTheFirstIsTheHosts) {
  const auto all = every_solve_rung();
  ASSERT_EQ(all.size(), solve_methods.size() + 1);
  EXPECT_EQ(all[0], &solve_rungs::reference);
  EXPECT_FALSE(all[0]->method);
  for (std::size_t k = 1; k < all.size(); ++k) {
    EXPECT_EQ(all[k]->method, solve_methods[k - 1]);
    EXPECT_EQ(to_string(solve_methods[k - 1]), all[k]->id);
    EXPECT_LT(all[k - 1]->id, all[k]->id);
  }
  for (const SolveRung* rung : all) EXPECT_FALSE(rung->paper.empty() || rung->idea.empty()) << rung->id;
}

template <class T>
class SolveRungsOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SolveRungsOf, Scalars);

TYPED_TEST(SolveRungsOf, ConformToTheSequentialSolves) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  std::uint64_t seed = 0;
  for (const testing::PatternForTests& pattern : testing::patterns_for_tests(simt::race_detection ? 16 : 50))
    for (const SolveRung* rung : every_solve_rung())
      for (const std::int32_t columns : {1, 33})
        for (const bool transposed : {false, true}) {
          if (!rung->method || pattern.n == 0) continue;  // the reference is what the others are compared with
          SCOPED_TRACE(::testing::Message() << rung->id << ", " << pattern.name << ", " << columns << " columns"
                                            << (transposed ? ", transposed" : ""));
          const simt::SimulatorScope scope({.seed = ++seed});
          const auto f = testing::make_up_factors<T>(pattern.n, seed, pattern.has);
          std::mt19937_64 random(seed);
          std::vector<T> b(std::size_t(pattern.n) * columns);
          for (T& v : b) v = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(random));
          const auto x = on_device<T>(*rung->method, f, b, transposed);
          LULAB_ASSERT_OK(x);
          const auto expected = one_by_one<T>(f, b, transposed);
          double largest = 0, difference = 0;
          for (std::size_t i = 0; i < x->size(); ++i) {
            ASSERT_TRUE(std::isfinite((*x)[i])) << i;
            largest = std::max(largest, std::abs(double(expected[i])));
            difference = std::max(difference, std::abs(double((*x)[i]) - double(expected[i])));
          }
          // tol: rounding alone; these factors are well conditioned
          ASSERT_TRUE(difference <= 64 * double(std::numeric_limits<T>::epsilon()) * largest) << difference;
        }
}

}  // namespace
}  // namespace lulab
