#include "core/device_factors.h"

#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "testing/device.h"

namespace lulab {
namespace {

// A random unsymmetric 2 x 2-blocked pattern is enough: As = pattern of PRACQ, so a_to_filled needs no symbolic room.
struct Problem {
  CscMatrix<double> a;
  Analysis analysis;
};

Problem random_problem(std::int32_t n, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<double> value(-2, 2);
  std::vector<std::int32_t> rows, cols;
  std::vector<double> values;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i)
      if (i == j || rng() % 4 == 0) rows.push_back(i), cols.push_back(j), values.push_back(value(rng));
  Problem problem{from_triplets<double>(n, n, rows, cols, values), {}};
  Analysis& analysis = problem.analysis;
  analysis.a = problem.a.pattern();
  analysis.plan = Plan::identity(n);
  std::shuffle(analysis.plan.p.begin(), analysis.plan.p.end(), rng);
  analysis.plan.q = analysis.plan.p;  // keeps the diagonal full
  for (double& r : analysis.plan.r) r = std::ldexp(1.0, static_cast<int>(rng() % 9) - 4);
  if (seed % 2 == 0) analysis.plan.r.back() = 1.0 / 3;  // no float
  for (double& c : analysis.plan.c) c = std::ldexp(1.0, static_cast<int>(rng() % 9) - 4);

  const CscPattern pracq = permute(analysis.a, analysis.plan.p, analysis.plan.q);
  analysis.filled = {n, pracq.col_ptr, {pracq.row_idx.begin(), pracq.row_idx.end()}, std::vector<std::int64_t>(n)};
  const Permutation p_inverse = inverse(analysis.plan.p);
  analysis.a_to_filled.resize(problem.a.nnz());
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int64_t s = pracq.col_ptr[j]; s < pracq.col_ptr[j + 1]; ++s) {
      if (pracq.row_idx[s] == j) analysis.filled.diag[j] = s;
      const std::int32_t row = analysis.plan.p[pracq.row_idx[s]], col = analysis.plan.q[j];
      for (std::int64_t k = problem.a.col_ptr[col]; k < problem.a.col_ptr[col + 1]; ++k)
        if (problem.a.row_idx[k] == row) analysis.a_to_filled[k] = s;
    }
  }
  return problem;
}

TEST(DeviceFactors, ScatterPutsScaledPermutedValuesOnAs) {
  LULAB_NEED_DEVICE();
  for (std::uint64_t seed : {1, 2, 3}) {
    const Problem problem = random_problem(37, seed);
    auto stream = simt::Stream::create();
    ASSERT_TRUE(stream.ok()) << stream.status().to_string();
    auto d = DeviceFactors<double>::create(problem.analysis, *stream);
    ASSERT_TRUE(d.ok()) << d.status().to_string();
    ASSERT_TRUE(d->upload(problem.a.values, *stream).ok());
    ASSERT_TRUE(d->clear(*stream).ok());
    ASSERT_TRUE(d->scatter(*stream).ok());
    ASSERT_TRUE(d->wait(*stream).ok());
    const auto f = d->download(*stream);
    ASSERT_TRUE(f.ok()) << f.status().to_string();
    const CscMatrix<double> expected = apply(problem.analysis.plan, problem.a.view());
    EXPECT_EQ(f->values, expected.values);  // powers of two scale exactly, and a third rounds in both alike

    double u_max = 0, a_max = 0;
    for (std::int32_t j = 0; j < 37; ++j) {
      for (std::int64_t s = expected.col_ptr[j]; s < expected.col_ptr[j + 1]; ++s) {
        a_max = std::max(a_max, std::abs(expected.values[s]));
        if (expected.row_idx[s] <= j) u_max = std::max(u_max, std::abs(expected.values[s]));
      }
    }
    EXPECT_EQ(f->statistics.pivot_growth, u_max / a_max);
  }
}

// Powers of two are kept as float where that is exact; a third is not.
TEST(DeviceFactors, TakesOtherScalesThatAreFloatsOrNot) {
  LULAB_NEED_DEVICE();
  Problem problem = random_problem(37, 1);
  Plan& plan = problem.analysis.plan;
  auto stream = simt::Stream::create();
  ASSERT_TRUE(stream.ok());
  auto d = DeviceFactors<double>::create(problem.analysis, *stream);
  ASSERT_TRUE(d.ok()) << d.status().to_string();
  for (const double factor : {1.0 / 3, 8.0, 1e300, 0.5}) {
    for (double& r : plan.r) r = std::ldexp(1.0, static_cast<int>(r < 1));
    plan.r.front() = factor;
    std::swap(plan.c.front(), plan.c.back());
    LULAB_ASSERT_OK(d->take_scales(*stream));
    LULAB_ASSERT_OK(d->upload(problem.a.values, *stream));
    LULAB_ASSERT_OK(d->clear(*stream));
    LULAB_ASSERT_OK(d->scatter(*stream));
    const auto f = d->download(*stream);
    LULAB_ASSERT_OK(f);
    EXPECT_EQ(f->values, apply(plan, problem.a.view()).values) << factor;
  }
}

TEST(DeviceFactors, ClearingForgetsTheFirstValues) {
  LULAB_NEED_DEVICE();
  Problem problem = random_problem(20, 3);
  auto stream = simt::Stream::create();
  ASSERT_TRUE(stream.ok());
  auto d = DeviceFactors<float>::create(problem.analysis, *stream);
  ASSERT_TRUE(d.ok());
  const std::vector<float> poison(problem.a.nnz(), std::numeric_limits<float>::quiet_NaN());
  const CscMatrix<float> a = convert<float>(problem.a.view());
  for (const auto& values : {poison, a.values}) {
    ASSERT_TRUE(d->upload(values, *stream).ok());
    ASSERT_TRUE(d->clear(*stream).ok());
    ASSERT_TRUE(d->scatter(*stream).ok());
  }
  const auto f = d->download(*stream);
  ASSERT_TRUE(f.ok());
  EXPECT_EQ(f->values, apply(problem.analysis.plan, a.view()).values);
}

TEST(DeviceFactors, WrongNumberOfValuesIsRefused) {
  LULAB_NEED_DEVICE();
  const Problem problem = random_problem(5, 5);
  auto stream = simt::Stream::create();
  ASSERT_TRUE(stream.ok());
  auto d = DeviceFactors<double>::create(problem.analysis, *stream);
  ASSERT_TRUE(d.ok());
  const std::vector<double> too_few(problem.a.nnz() - 1, 1.0);
  EXPECT_EQ(d->upload(too_few, *stream).code, StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab
