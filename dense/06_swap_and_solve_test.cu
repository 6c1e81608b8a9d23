// swap_rows_and_solve against its definition: swaps one after another, then a column at a time.

#include "dense/06_swap_and_solve.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "testing/device.h"

namespace lulab::dense {
namespace {

struct Ranges {
  std::int32_t n, first, end, first_col, end_col;
  std::int32_t reach;  // ipiv[k] <= k + reach
};
std::string trace(const Ranges& r) {
  return "n = " + std::to_string(r.n) + ", rows " + std::to_string(r.first) + ".." + std::to_string(r.end) +
         ", columns " + std::to_string(r.first_col) + ".." + std::to_string(r.end_col) + ", reach " +
         std::to_string(r.reach);
}

template <class T>
struct Problem {
  std::int64_t ld = 0;
  std::vector<T> a;
  std::vector<std::int32_t> ipiv;

  T& operator()(std::int64_t i, std::int64_t j) { return a[i + j * ld]; }
  T operator()(std::int64_t i, std::int64_t j) const { return a[i + j * ld]; }
};

/// Multipliers as pivoting leaves them, at most 1 and in all smaller the more there are, so that the solution does not
/// grow. On and above the diagonal of the block, and in the padding, there is a NaN or a number.
template <class T>
Problem<T> random_problem(const Ranges& r, std::uint64_t seed) {
  Problem<T> p;
  p.ld = r.n + 1 + static_cast<std::int64_t>(seed % 4);
  p.a.resize(p.ld * r.n);
  std::memset(p.a.data(), seed % 2 == 0 ? 0x41 : 0xFF, p.a.size() * sizeof(T));
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  const std::int32_t width = r.end - r.first;
  for (std::int32_t j = 0; j < r.n; ++j)
    for (std::int32_t i = 0; i < r.n; ++i) {
      const bool above_l = j >= r.first && j < r.end && i <= j;
      const double v = j < r.end ? unit(random) * std::min(1.0, 4.0 / std::max(1, width)) : unit(random);
      if (!above_l) p(i, j) = static_cast<T>(v);
    }
  p.ipiv.assign(r.n, -7);
  for (std::int32_t k = r.first; k < r.end; ++k)
    p.ipiv[k] = std::uniform_int_distribution<std::int32_t>(k, std::min(r.n - 1, k + r.reach))(random);
  return p;
}

template <class T>
Result<std::vector<T>> on_device(const Problem<T>& p, const Ranges& r) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto blas, simt::Blas::create(stream));
  LULAB_ASSIGN_OR_RETURN(auto d_a, simt::DeviceBuffer<T>::create(p.a, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_ipiv, simt::DeviceBuffer<std::int32_t>::create(p.ipiv, stream));
  LULAB_RETURN_IF_ERROR(swap_rows_and_solve<T>({r.n, p.ld, d_a.data(), d_ipiv.data(), nullptr}, r.first, r.end,
                                               r.first_col, r.end_col, blas, stream));
  std::vector<T> out(p.a.size());
  LULAB_RETURN_IF_ERROR(d_a.download(out, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return out;
}

template <class T>
Problem<T> swapped(Problem<T> p, const Ranges& r) {
  for (std::int32_t k = r.first; k < r.end; ++k)
    for (std::int32_t j = r.first_col; j < r.end_col; ++j) std::swap(p(k, j), p(p.ipiv[k], j));
  return p;
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

/// U must satisfy |B − L·U| <= 2 (w + 1) eps |L|·|U| entry by entry (Higham, Accuracy and Stability, sec. 8.1, in any
/// order of the sums); the rest of the buffer, padding included, is what the swaps made of it, to the bit.
template <class T>
void expect_solved(const Ranges& r, std::uint64_t seed) {
  SCOPED_TRACE(trace(r));
  const Problem<T> before = random_problem<T>(r, seed);
  const auto out = on_device(before, r);
  LULAB_ASSERT_OK(out);
  const Problem<T> after{before.ld, *out, before.ipiv}, b = swapped(before, r);
  const long double bound = 2 * (r.end - r.first + 1) * static_cast<long double>(std::numeric_limits<T>::epsilon());
  std::int32_t wrong = 0;
  for (std::int32_t j = 0; j < r.n; ++j)
    for (std::int32_t i = 0; i < before.ld; ++i) {
      const bool solved = i >= r.first && i < r.end && j >= r.first_col && j < r.end_col;
      bool right = true;
      if (solved) {
        long double product = after(i, j), magnitudes = std::abs(product);
        for (std::int32_t k = r.first; k < i; ++k) {
          const long double term = static_cast<long double>(before(i, k)) * after(k, j);
          product += term;
          magnitudes += std::abs(term);
        }
        right = std::abs(b(i, j) - product) <= bound * magnitudes;
      } else {
        right = same_bits(after(i, j), b(i, j));
      }
      if (!right && ++wrong <= 3)
        ADD_FAILURE() << (solved ? "U" : "outside") << " (" << i << ", " << j << "): " << after(i, j) << ", was "
                      << b(i, j);
    }
  EXPECT_EQ(wrong, 0);
}

template <class T>
class SwapAndSolve : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SwapAndSolve, Scalars);

TYPED_TEST(SwapAndSolve, SolvesEveryWidthAndKeepsTheRest) {
  LULAB_NEED_DEVICE();
  for (std::int32_t width = 1; width <= 300; width += width < 36 ? 1 : width < 130 ? 9 : 43)
    for (const std::int32_t columns : {1 + width % 33, 70}) {
      if (columns == 70 && width % 4 != 0) continue;
      const std::int32_t first = width % 3, end = first + width, gap = width % 2;
      expect_solved<TypeParam>({end + gap + columns + 2, first, end, end + gap, end + gap + columns, 1 << 20},
                               width + columns);
    }
}

TYPED_TEST(SwapAndSolve, SolvesWidthsAroundStripsAndLaunches) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t width : {31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 160, 255, 256, 257, 300})
    expect_solved<TypeParam>({width + 40, 0, width, width, width + 40, 9}, width);
}

TYPED_TEST(SwapAndSolve, RowsNamedBySeveralSwapsMoveOnce) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    expect_solved<TypeParam>({14, 1, 10, 10, 14, 14}, seed);
    expect_solved<TypeParam>({30, 2, 27, 28, 30, 30}, seed);
    expect_solved<TypeParam>({160, 0, 140, 141, 143, 2}, seed);
  }
  Ranges no_swap{60, 5, 45, 45, 60, 0};
  expect_solved<TypeParam>(no_swap, 1);
}

TYPED_TEST(SwapAndSolve, EveryScheduleGivesTheSameBits) {
  LULAB_NEED_DEVICE();
  for (const Ranges& r : {Ranges{100, 2, 61, 61, 98, 100}, {220, 0, 140, 150, 155, 220}}) {
    SCOPED_TRACE(trace(r));
    const auto p = random_problem<TypeParam>(r, 3);
    const auto usual = on_device(p, r);
    LULAB_ASSERT_OK(usual);
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = seed % 2 == 0 ? 1 : 0});
      const auto out = on_device(p, r);
      LULAB_ASSERT_OK(out);
      EXPECT_EQ(std::memcmp(out->data(), usual->data(), out->size() * sizeof(TypeParam)), 0) << "schedule " << seed;
    }
  }
}

// An infinity or a NaN in the right side stays in its column, and above its row nothing changes.
TYPED_TEST(SwapAndSolve, WhatIsNotFiniteDoesNotSpreadUpward) {
  LULAB_NEED_DEVICE();
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()})
    for (const auto& [width, row] :
         {std::pair{5, 0}, {5, 4}, {32, 31}, {40, 20}, {40, 32}, {100, 71}, {128, 127}, {150, 3}, {150, 131}}) {
      const Ranges r{width + 50, 0, width, width + 3, width + 40, 0};
      SCOPED_TRACE(trace(r) + ", row " + std::to_string(row));
      auto p = random_problem<TypeParam>(r, 2 * width);
      const std::int32_t column = r.first_col + 6;
      p(row, column) = bad;
      const auto sound = on_device(random_problem<TypeParam>(r, 2 * width), r);
      const auto out = on_device(p, r);
      LULAB_ASSERT_OK(sound);
      LULAB_ASSERT_OK(out);
      for (std::int32_t j = 0; j < r.n; ++j)
        for (std::int32_t i = 0; i < p.ld; ++i) {
          const TypeParam v = (*out)[i + j * p.ld];
          if (j == column && i == row)
            ASSERT_TRUE(std::isnan(bad) ? std::isnan(v) : v == bad) << v;
          else if (j == column && i > row && i < r.end)
            ASSERT_FALSE(std::isfinite(v)) << "row " << i;
          else
            ASSERT_TRUE(same_bits(v, (*sound)[i + j * p.ld])) << "(" << i << ", " << j << "): " << v;
        }
    }
}

TYPED_TEST(SwapAndSolve, EmptyRangesAndWrongOnesDoNothing) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  auto blas = simt::Blas::create(*stream);
  LULAB_ASSERT_OK(blas);
  const auto code = [&](std::int32_t first, std::int32_t end, std::int32_t first_col, std::int32_t end_col) {
    const DeviceDense<TypeParam> a{60, 60, nullptr, nullptr, nullptr};
    return swap_rows_and_solve(a, first, end, first_col, end_col, *blas, *stream).code;
  };
  EXPECT_EQ(code(5, 5, 7, 60), StatusCode::ok);
  EXPECT_EQ(code(5, 9, 60, 60), StatusCode::ok);
  EXPECT_EQ(code(-1, 9, 10, 60), StatusCode::invalid_argument);
  EXPECT_EQ(code(9, 5, 10, 60), StatusCode::invalid_argument);
  EXPECT_EQ(code(5, 9, 8, 60), StatusCode::invalid_argument);
  EXPECT_EQ(code(5, 9, 20, 19), StatusCode::invalid_argument);
  EXPECT_EQ(code(5, 9, 20, 61), StatusCode::invalid_argument);
  EXPECT_EQ(code(61, 61, 61, 61), StatusCode::invalid_argument);
  LULAB_ASSERT_OK(stream->wait());
}

}  // namespace
}  // namespace lulab::dense
