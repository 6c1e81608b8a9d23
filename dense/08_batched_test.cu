// getrf_batched: every layout in registers and the sizes around it, different systems side by side, padding, masks.

#include <array>
#include <cstring>

#include "dense/08_batched_kernel.h"
#include "testing/device.h"
#include "testing/getrf.h"

namespace lulab::testing {
namespace {

constexpr std::array sizes = {0,  1,  2,  3,  7,  8,  9,  15, 16, 17, 24,  25,  31,
                              32, 33, 47, 48, 49, 63, 64, 65, 96, 97, 100, 127, 128};

MatrixType type_named(const std::string& name) {
  const auto types = matrix_types();
  return *std::ranges::find(types, name, &MatrixType::name);
}

/// Systems of one size in device memory with poison around them, factored. A masked system must come back as it was,
/// its ipiv and info as poison.   mask: empty, or (batch)
template <class T>
Result<std::vector<GetrfResult<T>>> factor_batch(const std::vector<DenseMatrix<T>>& systems, std::int64_t ld,
                                                 std::int64_t stride, const std::vector<std::uint8_t>& mask = {}) {
  const auto batch = static_cast<std::int32_t>(systems.size());
  const std::int32_t n = systems[0].n_cols;
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  std::vector<T> a(std::size_t(stride) * batch);
  if (!a.empty()) std::memset(a.data(), 0xFF, a.size() * sizeof(T));
  std::vector<T> expected = a;  // with what came back filled in below
  for (std::int32_t s = 0; s < batch; ++s)
    for (std::int32_t j = 0; j < n; ++j)
      std::copy_n(&systems[s].values[std::size_t(j) * n], n, &a[s * stride + j * ld]);
  LULAB_ASSIGN_OR_RETURN(auto d_a, simt::DeviceBuffer<T>::create(a, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_ipiv, simt::DeviceBuffer<std::int32_t>::create(std::int64_t(n) * batch));
  LULAB_ASSIGN_OR_RETURN(auto d_info, simt::DeviceBuffer<std::int32_t>::create(batch));
  LULAB_ASSIGN_OR_RETURN(auto d_mask, simt::DeviceBuffer<std::uint8_t>::create(mask, stream));
  LULAB_RETURN_IF_ERROR(d_ipiv.fill_bytes(0xFF, stream));
  LULAB_RETURN_IF_ERROR(d_info.fill_bytes(0xFF, stream));
  LULAB_RETURN_IF_ERROR(dense::getrf_batched(
      dense::DenseBatchView<T>{n, ld, stride, batch, d_a.data(), d_ipiv.data(), d_info.data(), d_mask.data()}, stream));
  std::vector<T> lu(a.size());
  std::vector<std::int32_t> ipiv(std::size_t(n) * batch), info(batch);
  LULAB_RETURN_IF_ERROR(d_a.download(lu, stream));
  LULAB_RETURN_IF_ERROR(d_ipiv.download(ipiv, stream));
  LULAB_RETURN_IF_ERROR(d_info.download(info, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());

  std::vector<GetrfResult<T>> results;
  for (std::int32_t s = 0; s < batch; ++s) {
    GetrfResult<T> r{DenseMatrix<T>(n, n), {ipiv.begin() + s * n, ipiv.begin() + (s + 1) * n}, info[s]};
    for (std::int32_t j = 0; j < n; ++j) {
      std::copy_n(&lu[s * stride + j * ld], n, &r.lu.values[std::size_t(j) * n]);
      std::copy_n(&lu[s * stride + j * ld], n, &expected[s * stride + j * ld]);
    }
    results.push_back(std::move(r));
  }
  if (!lu.empty() && std::memcmp(lu.data(), expected.data(), lu.size() * sizeof(T)) != 0)
    return Status::error(StatusCode::device_error, "what lies between columns or systems changed");
  return results;
}

template <class T>
bool same_bits(const DenseMatrix<T>& a, const DenseMatrix<T>& b) {
  return std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(T)) == 0;
}

template <class T>
std::vector<DenseMatrix<T>> random_systems(std::int32_t n, std::int32_t batch, std::uint64_t seed) {
  std::vector<DenseMatrix<T>> systems;
  const MatrixType uniform = type_named("uniform");
  for (std::int32_t s = 0; s < batch; ++s) systems.push_back(make_matrix<T>(uniform, n, seed * 1000 + s));
  return systems;
}

/// Its bits are larger than those of quiet_NaN().
double nan_with_payload(double) { return std::nan("5"); }
float nan_with_payload(float) { return std::nanf("5"); }

template <class T>
class GetrfBatched : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GetrfBatched, Scalars);

TYPED_TEST(GetrfBatched, FactorsEverySizeAndKeepsThePadding) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : sizes) {
    SCOPED_TRACE("n = " + std::to_string(n));
    const auto systems = random_systems<TypeParam>(n, n <= 32 ? 9 : 3, n);  // 9: the second block is not full
    for (const bool tight : {true, false}) {
      if (simt::race_detection && tight) continue;  // the same accesses
      const std::int64_t ld = tight ? std::max(n, 1) : n + 3;
      const auto results = factor_batch(systems, ld, tight ? std::int64_t(n) * n : ld * n + 5);
      LULAB_ASSERT_OK(results);
      for (std::size_t s = 0; s < systems.size(); ++s) {
        SCOPED_TRACE("system " + std::to_string(s));
        expect_right(systems[s], (*results)[s], Pivots::until_near_tie);
      }
    }
  }
}

TYPED_TEST(GetrfBatched, FactorsDifferentTypesSideBySide) {
  LULAB_NEED_DEVICE();
  if (simt::race_detection) GTEST_SKIP() << "other values, the same accesses";
  const auto types = matrix_types();
  for (const std::int32_t n : {1, 2, 5, 8, 13, 16, 20, 32, 41, 64, 90, 128}) {
    std::vector<DenseMatrix<TypeParam>> systems;
    for (const MatrixType& type : types) systems.push_back(make_matrix<TypeParam>(type, n, 7 * n));
    const auto results = factor_batch(systems, n, std::int64_t(n) * n);
    LULAB_ASSERT_OK(results);
    for (std::size_t s = 0; s < systems.size(); ++s) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", " + types[s].name);
      expect_right(systems[s], (*results)[s], types[s].pivots);
    }
  }
}

// Values whose reciprocals are not normal numbers, where L(i,k) is a quotient of scaled values.
TYPED_TEST(GetrfBatched, FactorsWhatHasNoReciprocal) {
  LULAB_NEED_DEVICE();
  using Limits = std::numeric_limits<TypeParam>;
  for (const std::int32_t n : {3, 8, 16, 33, 64, 128}) {
    std::vector<DenseMatrix<TypeParam>> systems;
    for (const double diagonal : {Limits::denorm_min() * 64.0, Limits::min() / 4.0, Limits::max() * 0.75}) {
      DenseMatrix<TypeParam> a(n, n);  // rows in reverse: every pivot is the last candidate
      for (std::int32_t j = 0; j < n; ++j) {
        a(n - 1 - j, j) = static_cast<TypeParam>(j % 2 == 0 ? diagonal : -diagonal);
        if (j + 1 < n) a(n - 2 - j, j) = static_cast<TypeParam>(diagonal / 4);
      }
      systems.push_back(a);
    }
    const auto results = factor_batch(systems, n, std::int64_t(n) * n);
    LULAB_ASSERT_OK(results);
    for (std::size_t s = 0; s < systems.size(); ++s) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", system " + std::to_string(s));
      const auto reference = reference_getrf(systems[s]);  // no rounding happens
      EXPECT_EQ((*results)[s].ipiv, reference.ipiv);
      EXPECT_EQ((*results)[s].info, 0);
      EXPECT_EQ((*results)[s].lu.values, reference.lu.values);
    }
  }
}

TYPED_TEST(GetrfBatched, TakesANanAsPivotAndSpreadsItInItsOwnSystemOnly) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {5, 16, 30, 50, 64, 100}) {
    auto systems = random_systems<TypeParam>(n, 5, n);
    const std::int32_t column = 2 * n / 3;
    systems[1](n / 2, column) = std::numeric_limits<TypeParam>::quiet_NaN();
    systems[1](n - 1, column) = -std::numeric_limits<TypeParam>::quiet_NaN();
    systems[2](n / 2, 0) = std::numeric_limits<TypeParam>::infinity();
    systems[2](n / 3, 0) = -std::numeric_limits<TypeParam>::infinity();
    systems[3](1, 0) = std::numeric_limits<TypeParam>::quiet_NaN();
    systems[3](n / 2, 0) = nan_with_payload(TypeParam());
    const auto results = factor_batch(systems, n, std::int64_t(n) * n);
    LULAB_ASSERT_OK(results);
    for (std::size_t s = 0; s < systems.size(); ++s) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", system " + std::to_string(s));
      const auto reference = reference_getrf(systems[s]);
      EXPECT_EQ((*results)[s].ipiv, reference.ipiv);
      EXPECT_EQ((*results)[s].info, reference.info);
      const bool sound = s == 0 || s == 4;
      EXPECT_EQ(std::isfinite((*results)[s].lu(n - 1, n - 1)), sound);
      if (sound) expect_right(systems[s], (*results)[s], Pivots::until_near_tie);
      for (std::int32_t j = 0; s == 1 && j < column; ++j)
        for (std::int32_t i = 0; i <= j; ++i) EXPECT_TRUE(std::isfinite((*results)[s].lu(i, j)));
    }
  }
}

// Rows 0 and 32 belong to one lane; the swap of step 0 has put row 0 behind row 32.
TYPED_TEST(GetrfBatched, TakesTheFirstOfEqualsInTheOrderAfterTheSwaps) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {41, 48, 64, 90, 128}) {
    auto systems = random_systems<TypeParam>(n, 1, n);
    systems[0](40, 0) = 2;
    systems[0](0, 0) = systems[0](32, 0) = 0;
    systems[0](0, 1) = 8;
    systems[0](32, 1) = -8;
    const auto results = factor_batch(systems, n, std::int64_t(n) * n);
    LULAB_ASSERT_OK(results);
    EXPECT_EQ((*results)[0].ipiv[0], 40) << "n = " << n;
    EXPECT_EQ((*results)[0].ipiv[1], 32) << "n = " << n;
    EXPECT_LT(getrf_error(systems[0], (*results)[0]), 30.0) << "n = " << n;
  }
}

TYPED_TEST(GetrfBatched, LeavesMaskedSystemsAlone) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {1, 8, 13, 16, 24, 32, 40, 64, 96, 128}) {
    const std::int32_t batch = n <= 16 ? 21 : 6;
    const auto systems = random_systems<TypeParam>(n, batch, n);
    std::vector<std::uint8_t> mask(batch);
    for (std::int32_t s = 0; s < batch; ++s) mask[s] = s >= 16 ? 0 : s % 3 == 1 ? 1 : s % 3;  // a block with none, too
    const auto results = factor_batch(systems, n + 1, (n + 1) * n + 2, mask);
    LULAB_ASSERT_OK(results);
    for (std::int32_t s = 0; s < batch; ++s) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", system " + std::to_string(s));
      if (mask[s]) {
        expect_right(systems[s], (*results)[s], Pivots::until_near_tie);
      } else {
        EXPECT_TRUE(same_bits((*results)[s].lu, systems[s]));
        EXPECT_EQ((*results)[s].ipiv, std::vector<std::int32_t>(n, -1));
        EXPECT_EQ((*results)[s].info, -1);
      }
    }
  }
}

TYPED_TEST(GetrfBatched, RepeatsItselfBitForBitWhateverTheScheduleAndTheNeighbours) {
  LULAB_NEED_DEVICE();
  for (const std::int32_t n : {5, 13, 32, 40, 70}) {
    const auto systems = random_systems<TypeParam>(n, 5, n);
    auto others = random_systems<TypeParam>(n, 5, n + 1);
    others[0] = make_matrix<TypeParam>(type_named("exact_ties"), n, n);
    others[1] = systems[2];  // in another place, beside ties
    const auto alone = factor_batch(systems, n, std::int64_t(n) * n);
    LULAB_ASSERT_OK(alone);
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", schedule " + std::to_string(seed));
      const simt::SimulatorScope scope({.seed = seed, .resident_blocks = seed % 2 == 0 ? 1 : 0});
      const auto again = factor_batch(systems, n, std::int64_t(n) * n);
      LULAB_ASSERT_OK(again);
      const auto beside = factor_batch(others, n, std::int64_t(n) * n);
      LULAB_ASSERT_OK(beside);
      for (std::size_t s = 0; s < systems.size(); ++s) {
        EXPECT_TRUE(same_bits((*again)[s].lu, (*alone)[s].lu));
        EXPECT_EQ((*again)[s].ipiv, (*alone)[s].ipiv);
      }
      EXPECT_TRUE(same_bits((*beside)[1].lu, (*alone)[2].lu));
      EXPECT_EQ((*beside)[1].ipiv, (*alone)[2].ipiv);
    }
  }
}

TYPED_TEST(GetrfBatched, FactorsManySystemsEachDifferent) {
  LULAB_NEED_DEVICE();
  const bool gpu = simt::machine() == simt::Machine::gpu;
  for (const std::int32_t n : {7, 32, 64}) {
    const auto systems = random_systems<TypeParam>(n, gpu ? 10000 : 40, n);
    const auto results = factor_batch(systems, n, std::int64_t(n) * n);
    LULAB_ASSERT_OK(results);
    for (std::size_t s = 0; s < systems.size(); s += gpu ? 7 : 1) {
      SCOPED_TRACE("n = " + std::to_string(n) + ", system " + std::to_string(s));
      expect_right(systems[s], (*results)[s], Pivots::until_near_tie);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TYPED_TEST(GetrfBatched, RefusesWrongArguments) {
  LULAB_NEED_DEVICE();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  const auto code = [&](std::int32_t n, std::int64_t ld, std::int64_t stride, std::int32_t batch) {
    return dense::getrf_batched(dense::DenseBatchView<TypeParam>{.n = n, .ld = ld, .stride = stride, .batch = batch},
                                *stream)
        .code;
  };
  EXPECT_EQ(code(-1, 1, 1, 1), StatusCode::invalid_argument);
  EXPECT_EQ(code(129, 129, 129 * 129, 1), StatusCode::invalid_argument);
  EXPECT_EQ(code(4, 3, 16, 1), StatusCode::invalid_argument);
  EXPECT_EQ(code(0, 0, 0, 1), StatusCode::invalid_argument);
  EXPECT_EQ(code(4, 4, 15, 2), StatusCode::invalid_argument);
  EXPECT_EQ(code(4, 4, 16, -1), StatusCode::invalid_argument);
  EXPECT_EQ(code(4, 4, 16, 0), StatusCode::ok);
  LULAB_ASSERT_OK(stream->wait());
}

}  // namespace
}  // namespace lulab::testing
