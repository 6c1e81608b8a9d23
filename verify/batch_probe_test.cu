#include "verify/batch_probe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dense/00_reference.h"
#include "testing/device.h"

namespace lulab {
namespace {

constexpr std::int32_t order = 13;
constexpr std::int32_t systems = 70;  // more than are looked at
constexpr std::int64_t lead = 15;
constexpr std::int64_t stride = 200;
constexpr std::uint64_t seed = 3;

template <class T>
struct Batch {
  std::vector<T> a = std::vector<T>(stride * systems, std::numeric_limits<T>::quiet_NaN());
  std::vector<std::int32_t> ipiv = std::vector<std::int32_t>(order * systems, -1);
  std::vector<std::int32_t> info = std::vector<std::int32_t>(systems, -1);

  T& at(std::int32_t s, std::int32_t i, std::int32_t j) { return a[i + j * lead + s * stride]; }
};

template <class T>
Batch<T> factored(std::uint64_t of_seed) {
  Batch<T> batch;
  for (std::int32_t s = 0; s < systems; ++s) {
    DenseMatrix<T> a(order, order);
    for (std::int32_t j = 0; j < order; ++j)
      for (std::int32_t i = 0; i < order; ++i) a(i, j) = dense_entry<T>(batch_system(order, of_seed, s), i, j);
    batch.info[s] = dense::getrf_reference(a.view(), std::span<std::int32_t>(batch.ipiv).subspan(s * order, order));
    for (std::int32_t j = 0; j < order; ++j)
      for (std::int32_t i = 0; i < order; ++i) batch.at(s, i, j) = a(i, j);
  }
  return batch;
}

/// The batch on the device, put through `work`, and what is there afterwards.
template <class T>
Status on_device(Batch<T>& batch, const std::function<Status(const dense::DenseBatchView<T>&, simt::Stream&)>& work) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  auto a = simt::DeviceBuffer<T>::create(std::span<const T>(batch.a), stream);
  auto ipiv = simt::DeviceBuffer<std::int32_t>::create(std::span<const std::int32_t>(batch.ipiv), stream);
  auto info = simt::DeviceBuffer<std::int32_t>::create(std::span<const std::int32_t>(batch.info), stream);
  if (!a.ok()) return a.status();
  if (!ipiv.ok()) return ipiv.status();
  if (!info.ok()) return info.status();
  LULAB_RETURN_IF_ERROR(work({order, lead, stride, systems, a->data(), ipiv->data(), info->data()}, stream));
  LULAB_RETURN_IF_ERROR(a->download(batch.a, stream));
  LULAB_RETURN_IF_ERROR(ipiv->download(batch.ipiv, stream));
  LULAB_RETURN_IF_ERROR(info->download(batch.info, stream));
  return stream.wait();
}

template <class T>
DenseVerdict verdict_of(Batch<T> batch) {
  DenseVerdict verdict;
  const Status status = on_device<T>(batch, [&](const dense::DenseBatchView<T>& lu, simt::Stream& stream) {
    auto found = probe_dense_batch<T>(seed, lu, stream);
    if (found.ok()) verdict = *found;
    return found.status();
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return verdict;
}

template <class T>
class BatchProbe : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BatchProbe, Scalars);

TYPED_TEST(BatchProbe, FillsEverySystemWithItsOwnEntriesAndPoisonsTheResults) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  Batch<T> batch;
  batch.a.assign(batch.a.size(), T(77));
  batch.ipiv.assign(batch.ipiv.size(), 0);
  batch.info.assign(batch.info.size(), 0);
  LULAB_ASSERT_OK(on_device<T>(batch, [](const dense::DenseBatchView<T>& view, simt::Stream& stream) {
    return fill_dense_batch<T>(seed, view, stream);
  }));
  std::vector<T> expected(batch.a.size(), T(77));
  for (std::int32_t s = 0; s < systems; ++s)
    for (std::int32_t j = 0; j < order; ++j)
      for (std::int32_t i = 0; i < order; ++i)
        expected[i + j * lead + s * stride] = dense_entry<T>(batch_system(order, seed, s), i, j);
  EXPECT_EQ(batch.a, expected);
  EXPECT_NE(batch.at(0, 4, 5), batch.at(1, 4, 5));
  EXPECT_EQ(batch.ipiv, std::vector<std::int32_t>(order * systems, -1));
  EXPECT_EQ(batch.info, std::vector<std::int32_t>(systems, -1));
}

TYPED_TEST(BatchProbe, PassesRightFactors) {
  LULAB_NEED_DEVICE();
  const DenseVerdict verdict = verdict_of(factored<TypeParam>(seed));
  EXPECT_EQ(verdict.failure, "");
  EXPECT_TRUE(verdict.lu_residual > 0 && verdict.lu_residual <= 1) << verdict.lu_residual;
  EXPECT_GE(verdict.growth, 1);
}

/// ||P·A - L·U||_1 / (n eps ||A||_1) and max |U| / max |A| of one system, by the definition in long double.
template <class T>
std::pair<double, double> measured(Batch<T>& batch, std::int32_t s) {
  const Permutation p =
      dense::row_permutation_from_ipiv(std::span<const std::int32_t>(batch.ipiv).subspan(s * order, order), order);
  long double error = 0, norm = 0, largest_a = 0, largest_u = 0;
  for (std::int32_t j = 0; j < order; ++j) {
    long double column_error = 0, column_norm = 0;
    for (std::int32_t i = 0; i < order; ++i) {
      const long double a = dense_entry<T>(batch_system(order, seed, s), p[i], j);
      long double e = a;
      for (std::int32_t k = 0; k <= std::min(i, j); ++k)
        e -= (k == i ? 1.0L : static_cast<long double>(batch.at(s, i, k))) * batch.at(s, k, j);
      column_error += std::abs(e);
      column_norm += std::abs(a);
      largest_a = std::max(largest_a, std::abs(a));
      if (i <= j) largest_u = std::max(largest_u, std::abs(static_cast<long double>(batch.at(s, i, j))));
    }
    error = std::max(error, column_error);
    norm = std::max(norm, column_norm);
  }
  const long double eps = std::numeric_limits<T>::epsilon() / 2;
  return {static_cast<double>(error / (order * eps * norm)), static_cast<double>(largest_u / largest_a)};
}

TYPED_TEST(BatchProbe, ResidualAndGrowthEqualTheirDefinitions) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const T eps = std::numeric_limits<T>::epsilon();
  for (const std::int32_t spoiled : {0, systems - 1}) {
    Batch<T> batch = factored<T>(seed);
    // An error that the limit of 30 still allows, so large that rounding in the probe changes 1 % of it at most; and
    // the largest entry of U at the other end of a column.
    batch.at(spoiled, 2, 9) += 150 * eps;
    double residual = 0, growth = 0;
    for (std::int32_t k = 0; k < 64; ++k) {
      const auto [r, g] = measured(batch, k * (systems - 1) / 63);
      residual = std::max(residual, r);
      growth = std::max(growth, g);
    }
    ASSERT_TRUE(residual > 5 && residual < 30) << residual;
    const DenseVerdict verdict = verdict_of(batch);
    EXPECT_EQ(verdict.failure, "");
    EXPECT_NEAR(verdict.lu_residual, residual, 0.01 * residual);
    EXPECT_NEAR(verdict.growth, growth, 1e-12 * growth);
  }
}

TYPED_TEST(BatchProbe, SaysWhatIsWrongWithWhichSystem) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const Batch<T> right = factored<T>(seed);
  const auto failure = [&](const std::function<void(Batch<T>&)>& spoil) {
    Batch<T> batch = right;
    spoil(batch);
    return verdict_of(batch).failure;
  };
  EXPECT_EQ(failure([](Batch<T>& b) { b.info[33] = 2; }), "system 33: info = 2, but no pivot of it is zero");
  EXPECT_EQ(failure([](Batch<T>& b) { b.ipiv[5 * order + 4] = 3; }), "system 5: ipiv[4] = 3 is no row from 4 to 12");
  EXPECT_EQ(failure([](Batch<T>& b) { b.ipiv[5 * order + 4] = order; }),
            "system 5: ipiv[4] = 13 is no row from 4 to 12");
  EXPECT_EQ(failure([](Batch<T>& b) { b.at(0, 3, 3) = std::numeric_limits<T>::quiet_NaN(); }),
            "system 0: wrong: ||PA - LU|| / (n eps ||A||) = nan exceeds 30");
}

TYPED_TEST(BatchProbe, KillsEveryMutant) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const Batch<T> right = factored<T>(seed);
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<std::pair<const char*, std::function<void(Batch<T>&)>>> mutants = {
      {"a flipped sign in U of the first", [](Batch<T>& b) { b.at(0, 2, 9) = -b.at(0, 2, 9); }},
      {"a flipped sign in L of the last", [](Batch<T>& b) { b.at(systems - 1, 9, 2) = -b.at(systems - 1, 9, 2); }},
      {"a NaN in the last entry of the last", [&](Batch<T>& b) { b.at(systems - 1, order - 1, order - 1) = nan; }},
      {"a NaN in L of the first", [&](Batch<T>& b) { b.at(0, order - 1, 0) = nan; }},
      {"one system that was not factored",  // not among the systems that are probed: its results are still poison
       [](Batch<T>& b) { std::fill_n(b.ipiv.begin() + 33 * order, order, -1); }},
      {"info of one system", [](Batch<T>& b) { b.info[33] = 1; }},
      {"info never written", [](Batch<T>& b) { b.info[33] = -1; }},
      {"ipiv from 1 on",
       [](Batch<T>& b) {
         for (std::int32_t& k : b.ipiv) ++k;
       }},
      {"the factors of the batch before", [](Batch<T>& b) { b = factored<T>(seed - 1); }},
      {"all systems the first",
       [](Batch<T>& b) {
         for (std::int32_t s = 1; s < systems; ++s) {
           std::copy_n(b.a.begin(), stride, b.a.begin() + s * stride);
           std::copy_n(b.ipiv.begin(), order, b.ipiv.begin() + s * order);
         }
       }},
  };
  ASSERT_EQ(verdict_of(right).failure, "");
  for (const auto& [what, spoil] : mutants) {
    Batch<T> mutant = right;
    spoil(mutant);
    const DenseVerdict verdict = verdict_of(mutant);
    EXPECT_NE(verdict.failure, "") << what << " survives with " << verdict.lu_residual;
    EXPECT_FALSE(verdict.lu_residual <= 30) << what;
  }
}

}  // namespace
}  // namespace lulab
