#include "verify/dense_probe.h"

#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "dense/00_reference.h"
#include "testing/device.h"
#include "verify/dense_entry.h"

namespace lulab {
namespace {

constexpr std::int32_t n = 75;
constexpr std::int64_t ld = 83;

/// A factored matrix on the host, to be spoilt.
template <class T>
struct Lu {
  DenseMatrix<T> a{static_cast<std::int32_t>(ld), n};
  std::vector<std::int32_t> ipiv = std::vector<std::int32_t>(n, -1);
  std::int32_t info = -1;
};

template <class T>
Lu<T> factored(const DenseProblem& problem, bool transposed = false) {
  DenseMatrix<T> a(n, n);
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i)
      a(i, j) = transposed ? dense_entry<T>(problem, j, i) : dense_entry<T>(problem, i, j);
  Lu<T> lu;
  lu.info = dense::getrf_reference(a.view(), std::span<std::int32_t>(lu.ipiv));
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < ld; ++i)
      lu.a(i, j) = i < n ? a(i, j) : std::numeric_limits<T>::quiet_NaN();  // below n nothing may be read
  return lu;
}

template <class T>
class OnDevice {
 public:
  Status create() {
    auto stream = simt::Stream::create();
    auto a = simt::DeviceBuffer<T>::create(ld * n);
    auto numbers = simt::DeviceBuffer<std::int32_t>::create(n + 1);
    if (!stream.ok()) return stream.status();
    if (!a.ok()) return a.status();
    if (!numbers.ok()) return numbers.status();
    stream_.emplace(std::move(*stream));
    a_ = std::move(*a);
    numbers_ = std::move(*numbers);
    return {};
  }
  dense::DeviceDense<T> view() const { return {n, ld, a_.data(), numbers_.data(), numbers_.data() + n}; }
  simt::Stream& stream() { return *stream_; }
  Status upload(const Lu<T>& lu) {
    LULAB_RETURN_IF_ERROR(a_.upload(lu.a.values, *stream_));
    LULAB_RETURN_IF_ERROR(numbers_.upload(lu.ipiv, *stream_));
    LULAB_RETURN_IF_ERROR(simt::copy_to_device(view().info, &lu.info, sizeof lu.info, *stream_));
    return stream_->wait();
  }
  Status download(Lu<T>& lu) {
    LULAB_RETURN_IF_ERROR(a_.download(lu.a.values, *stream_));
    LULAB_RETURN_IF_ERROR(numbers_.download(lu.ipiv, *stream_));
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(&lu.info, view().info, sizeof lu.info, *stream_));
    return stream_->wait();
  }

 private:
  std::optional<simt::Stream> stream_;
  simt::DeviceBuffer<T> a_;
  simt::DeviceBuffer<std::int32_t> numbers_;
};

template <class T>
DenseVerdict verdict_of(const DenseProblem& problem, const Lu<T>& lu) {
  OnDevice<T> device;
  Status status = device.create();
  if (status.ok()) status = device.upload(lu);
  EXPECT_TRUE(status.ok()) << status.to_string();
  const auto verdict = probe_dense_factors<T>(problem, device.view(), device.stream());
  EXPECT_TRUE(verdict.ok()) << verdict.status().to_string();
  return verdict.ok() ? *verdict : DenseVerdict{};
}

template <class T>
class DenseProbe : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DenseProbe, Scalars);

TYPED_TEST(DenseProbe, EntriesAreInsideTheUnitIntervalTheSameInBothPrecisionsAndOtherForEachSeed) {
  int equal_to_other_seed = 0;
  int equal_to_transposed = 0;
  double sum = 0;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = 0; j < n; ++j) {
      const auto v = static_cast<double>(dense_entry<TypeParam>({n, 5}, i, j));
      ASSERT_TRUE(std::abs(v) < 1 && v != 0) << i << ", " << j;
      EXPECT_EQ(v, static_cast<double>(dense_entry<float>({n, 5}, i, j)));
      equal_to_other_seed += v == static_cast<double>(dense_entry<TypeParam>({n, 6}, i, j));
      equal_to_transposed += i != j && v == static_cast<double>(dense_entry<TypeParam>({n, 5}, j, i));
      sum += v;
    }
  }
  EXPECT_LE(equal_to_other_seed, 2);
  EXPECT_LE(equal_to_transposed, 2);
  EXPECT_LE(std::abs(sum), 5 * n * std::sqrt(1.0 / 3));  // five standard deviations of n^2 uniform entries
}

// Results on other machines are compared with these: the hash must stay what it is.
TYPED_TEST(DenseProbe, EntriesAreThoseOfSplitmix64) {
  EXPECT_EQ(mix_bits(0x9e3779b97f4a7c15), 0xe220a8397b1dcdaf);  // the first number that splitmix64 gives for seed 0
  struct Entry {
    std::uint64_t seed;
    std::int32_t i, j;
    double times_2_to_24;  // worked out apart from this program
  };
  for (const Entry& e : std::initializer_list<Entry>{
           {0, 0, 0, -7322875},
           {5, 0, 0, 5783711},
           {5, 1, 0, 126583},
           {5, 0, 1, 1558663},
           {5, 3, 3, -1739605},
           {5, 131071, 131070, 12738759},
           {~0ull, 7, 2, 4450901},
       }) {
    const double value = e.times_2_to_24 * 0x1p-24;
    EXPECT_EQ(static_cast<double>(dense_entry<TypeParam>({1 << 17, e.seed}, e.i, e.j)), value) << e.i << ", " << e.j;
    const DenseProblem dominant{9, e.seed, DenseKind::dominant};
    EXPECT_EQ(dense_entry<TypeParam>(dominant, e.i, e.j),
              static_cast<TypeParam>(value) + TypeParam(e.i == e.j ? 9 : 0));
  }
}

TYPED_TEST(DenseProbe, DominantMatricesHaveADiagonalAboveTheirRowsAndColumns) {
  const DenseProblem problem{n, 9, DenseKind::dominant};
  for (std::int32_t i = 0; i < n; ++i) {
    double row = 0;
    double column = 0;
    for (std::int32_t j = 0; j < n; ++j) {
      if (j == i) continue;
      row += std::abs(static_cast<double>(dense_entry<TypeParam>(problem, i, j)));
      column += std::abs(static_cast<double>(dense_entry<TypeParam>(problem, j, i)));
    }
    const auto diagonal = static_cast<double>(dense_entry<TypeParam>(problem, i, i));
    EXPECT_GT(diagonal, row);
    EXPECT_GT(diagonal, column);
  }
}

TYPED_TEST(DenseProbe, FillsTheDeviceWithWhatTheHostComputesAndPoisonsTheResults) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  for (const DenseKind kind : {DenseKind::uniform, DenseKind::dominant}) {
    const DenseProblem problem{n, 17, kind};
    OnDevice<T> device;
    LULAB_ASSERT_OK(device.create());
    Lu<T> found;
    found.info = 0;
    for (T& v : found.a.values) v = T(77);
    for (std::int32_t& k : found.ipiv) k = 0;
    LULAB_ASSERT_OK(device.upload(found));
    LULAB_ASSERT_OK(fill_dense<T>(problem, device.view(), device.stream()));
    LULAB_ASSERT_OK(device.download(found));
    for (std::int32_t j = 0; j < n; ++j)
      for (std::int32_t i = 0; i < ld; ++i)
        ASSERT_EQ(found.a(i, j), i < n ? dense_entry<T>(problem, i, j) : T(77)) << i << ", " << j;
    for (const std::int32_t k : found.ipiv) EXPECT_EQ(k, -1);
    EXPECT_EQ(found.info, -1);
  }
}

TYPED_TEST(DenseProbe, PassesRightFactorsOfBothKinds) {
  LULAB_NEED_DEVICE();
  for (const DenseKind kind : {DenseKind::uniform, DenseKind::dominant}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const DenseProblem problem{n, seed, kind};
      const Lu<TypeParam> lu = factored<TypeParam>(problem);
      const DenseVerdict verdict = verdict_of(problem, lu);
      EXPECT_EQ(verdict.failure, "");
      EXPECT_TRUE(verdict.lu_residual > 0 && verdict.lu_residual <= 1) << verdict.lu_residual;
      double largest_u = 0;
      double largest_a = 0;
      for (std::int32_t j = 0; j < n; ++j) {
        for (std::int32_t i = 0; i <= j; ++i) largest_u = std::fmax(largest_u, std::abs(lu.a(i, j)));
        for (std::int32_t i = 0; i < n; ++i)
          largest_a = std::fmax(largest_a, std::abs(dense_entry<TypeParam>(problem, i, j)));
      }
      EXPECT_DOUBLE_EQ(verdict.growth, largest_u / largest_a);
    }
  }
}

TYPED_TEST(DenseProbe, KillsEveryMutant) {
  LULAB_NEED_DEVICE();
  using T = TypeParam;
  const DenseProblem problem{n, 4};
  const Lu<T> right = factored<T>(problem);
  ASSERT_EQ(verdict_of(problem, right).failure, "");
  const std::int32_t swapped = [&] {
    for (std::int32_t k = 0; k + 1 < n; ++k)
      if (right.ipiv[k] != k && right.ipiv[k + 1] > k && right.ipiv[k] != right.ipiv[k + 1] && right.ipiv[k] > k + 1)
        return k;
    return -1;
  }();
  ASSERT_GE(swapped, 0);
  const T infinity = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<std::pair<const char*, std::function<void(Lu<T>&)>>> mutants = {
      {"a flipped sign in U", [](Lu<T>& lu) { lu.a(3, 40) = -lu.a(3, 40); }},
      {"a flipped sign in L", [](Lu<T>& lu) { lu.a(n - 1, 20) = -lu.a(n - 1, 20); }},
      {"a NaN in the last entry", [&](Lu<T>& lu) { lu.a(n - 1, n - 1) = nan; }},
      {"a NaN in L", [&](Lu<T>& lu) { lu.a(n - 1, 0) = nan; }},
      {"an infinity in U", [&](Lu<T>& lu) { lu.a(0, n - 1) = infinity; }},
      {"a missing swap", [](Lu<T>& lu) { lu.ipiv[0] = lu.ipiv[0] == 0 ? 1 : 0; }},
      {"a swapped pair of ipiv", [&](Lu<T>& lu) { std::swap(lu.ipiv[swapped], lu.ipiv[swapped + 1]); }},
      {"ipiv from 1 on",
       [](Lu<T>& lu) {
         for (std::int32_t& k : lu.ipiv) ++k;
       }},
      {"ipiv never written", [](Lu<T>& lu) { lu.ipiv.assign(n, -1); }},
      {"info that names a zero pivot", [](Lu<T>& lu) { lu.info = 7; }},
      {"info never written", [](Lu<T>& lu) { lu.info = -1; }},
      {"the matrix itself",
       [&](Lu<T>& lu) {
         for (std::int32_t j = 0; j < n; ++j)
           for (std::int32_t i = 0; i < n; ++i) lu.a(i, j) = dense_entry<T>(problem, i, j);
       }},
      {"factors of the matrix before",
       [&](Lu<T>& lu) {
         lu = factored<T>({n, problem.seed - 1});
       }},
      {"factors of the transpose", [&](Lu<T>& lu) { lu = factored<T>(problem, true); }},
      {"U with a unit diagonal",
       [](Lu<T>& lu) {
         for (std::int32_t k = 0; k < n; ++k) lu.a(k, k) = T(1);
       }},
  };
  int killed = 0;
  for (const auto& [what, spoil] : mutants) {
    Lu<T> mutant = right;
    spoil(mutant);
    const DenseVerdict verdict = verdict_of(problem, mutant);
    EXPECT_NE(verdict.failure, "") << what << " survives with " << verdict.lu_residual;
    EXPECT_FALSE(verdict.lu_residual <= 30) << what;
    killed += !verdict.failure.empty();
  }
  EXPECT_EQ(killed, static_cast<int>(mutants.size()));
}

}  // namespace
}  // namespace lulab
