// Every GPU rung of this stage as getrf: sizes around tiles and warps, leading dimensions, LAPACK's matrices, ties,
// NaN.

#include <cctype>
#include <cstring>

#include "dense/dense_backend.h"
#include "dense/rungs.h"
#include "testing/device.h"
#include "testing/getrf.h"

namespace lulab::testing {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr std::int32_t largest_n = 70;  // a thread for each element takes 17 us
#else
constexpr std::int32_t largest_n = std::numeric_limits<std::int32_t>::max();
#endif

struct GetrfCase {
  const Rung* rung;
  bool is_float;
};

std::vector<GetrfCase> getrf_cases() {
  const std::vector<const Rung*> rungs = {
#define LULAB_RUNG(name) &dense::name,
#include "dense/rungs.def"
#undef LULAB_RUNG
  };
  std::vector<GetrfCase> cases;
  for (const Rung* rung : rungs)
    for (const bool is_float : {false, true})
      if (rung->facts.device == Device::gpu && (is_float ? rung->supports<float>() : rung->supports<double>()))
        cases.push_back({rung, is_float});
  return cases;
}

std::string case_name(const ::testing::TestParamInfo<GetrfCase>& info) {
  std::string name(info.param.rung->facts.id.substr(info.param.rung->facts.id.find('/') + 1));
  return "d" + name + (info.param.is_float ? "_f32" : "_f64");
}

bool is_library(const Rung& rung) { return rung.facts.id.starts_with("dense/9"); }
// After a zero pivot its L and U are not factors of A; info is right.
bool stops_at_a_zero_pivot(const Rung& rung) { return rung.facts.id == "dense/92_cublas_batched"; }
bool takes(const Rung& rung, const MatrixType& type) {
  return rung.facts.pivoting == Pivoting::partial || type.diagonal_pivots;
}

// One factorizer for all matrices of a test, so that the next one finds what the last one left in the workspace.
template <class T>
class GetrfOnDevice {
 public:
  Status start(const Rung& rung) {
    factorizer_ = rung.make<T>();
    getrf_ = dynamic_cast<dense::DenseBackend<T>*>(&factorizer_->backend());
    if (!getrf_) return Status::error(StatusCode::invalid_argument, "this rung is no DenseBackend");
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    return {};
  }

  dense::DenseBackend<T>& getrf() { return *getrf_; }
  simt::Stream& stream() { return *stream_; }

  // Results are poisoned first; so are the rows between n and ld, which must come back as they were.
  Result<GetrfResult<T>> operator()(const DenseMatrix<T>& a, std::int64_t ld) {
    const std::int32_t n = a.n_cols;
    std::vector<T> padded(ld * n);
    const int poison_byte = n % 2 == 0 ? 0x41 : 0xFF;  // a number, which arithmetic changes, or a NaN, which spreads
    if (n > 0) std::memset(padded.data(), poison_byte, padded.size() * sizeof(T));
    const std::vector<T> poison = padded;
    for (std::int32_t j = 0; j < n; ++j) std::copy_n(&a.values[std::size_t(j) * n], n, &padded[j * ld]);

    LULAB_ASSIGN_OR_RETURN(auto d_a, simt::DeviceBuffer<T>::create(padded, *stream_));
    LULAB_ASSIGN_OR_RETURN(auto d_ipiv, simt::DeviceBuffer<std::int32_t>::create(n));
    LULAB_ASSIGN_OR_RETURN(auto d_info, simt::DeviceBuffer<std::int32_t>::create(1));
    LULAB_RETURN_IF_ERROR(d_ipiv.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(d_info.fill_bytes(0xFF, *stream_));
    LULAB_RETURN_IF_ERROR(getrf_->prepare_getrf(n, *stream_));
    LULAB_RETURN_IF_ERROR(getrf_->getrf({n, ld, d_a.data(), d_ipiv.data(), d_info.data()}));

    GetrfResult<T> r{DenseMatrix<T>(n, n), std::vector<std::int32_t>(n, -1), -1};
    std::vector<std::int32_t> info(1, -1);
    LULAB_RETURN_IF_ERROR(d_a.download(padded, *stream_));
    LULAB_RETURN_IF_ERROR(d_ipiv.download(r.ipiv, *stream_));
    LULAB_RETURN_IF_ERROR(d_info.download(info, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    r.info = info[0];
    for (std::int32_t j = 0; j < n; ++j) {
      std::copy_n(&padded[j * ld], n, &r.lu.values[std::size_t(j) * n]);
      if (std::memcmp(padded.data() + j * ld + n, poison.data() + j * ld + n, (ld - n) * sizeof(T)) != 0)
        return Status::error(StatusCode::invalid_argument, "the padding of column " + std::to_string(j) + " changed");
    }
    return r;
  }

 private:
  std::unique_ptr<Factorizer<T>> factorizer_;
  dense::DenseBackend<T>* getrf_ = nullptr;
  std::optional<simt::Stream> stream_;
};

template <class T>
void expect_same_bits(const GetrfResult<T>& a, const GetrfResult<T>& b) {
  EXPECT_EQ(a.info, b.info);
  EXPECT_EQ(a.ipiv, b.ipiv);
  EXPECT_EQ(std::memcmp(a.lu.values.data(), b.lu.values.data(), a.lu.values.size() * sizeof(T)), 0);
}

// And as much growth as the reference, where the pivots are the same.
template <class T>
void expect_right_with_growth(const DenseMatrix<T>& a, const GetrfResult<T>& r, Pivots pivots) {
  expect_right(a, r, pivots);
  const GetrfResult<T> reference = reference_getrf(a);
  if (::testing::Test::HasFatalFailure() || compared_steps(reference, pivots) < a.n_cols) return;
  // max|U| is one entry of U: a sum of up to n products that two routines round differently
  const double growth = pivot_growth(a, reference);
  const double tol = 1000.0 * a.n_cols * static_cast<double>(std::numeric_limits<T>::epsilon()) * growth;
  EXPECT_TRUE(std::abs(pivot_growth(a, r) - growth) <= tol) << pivot_growth(a, r) << " != " << growth;
}

class DenseGetrf : public ::testing::TestWithParam<GetrfCase> {
 protected:
  void SetUp() override {
    LULAB_NEED_DEVICE();
    GetrfOnDevice<double> getrf;
    LULAB_ASSERT_OK(getrf.start(rung()));
    const Status prepared = getrf.getrf().prepare_getrf(1, getrf.stream());
    if (prepared.code == StatusCode::not_implemented) GTEST_SKIP() << prepared.to_string();
  }

  const Rung& rung() const { return *GetParam().rung; }
  std::string trace(const MatrixType& type, std::int32_t n, std::int64_t ld) const {
    return std::string(rung().facts.id) + ", " + type.name + ", n = " + std::to_string(n) +
           ", ld = " + std::to_string(ld);
  }
  MatrixType usual() const {
    const std::string name = rung().facts.pivoting == Pivoting::partial ? "uniform" : "dominant";
    return *std::ranges::find(types_, name, &MatrixType::name);
  }

  template <class T>
  void every_size() {
    GetrfOnDevice<T> getrf;
    LULAB_ASSERT_OK(getrf.start(rung()));
    for (const std::int32_t n : {0, 1, 2, 3, 5, 16, 31, 32, 33, 63, 64, 65, 97, 130})
      for (const std::int64_t ld : {std::max(n, 1), n + 3}) {
        if (n > std::min(getrf.getrf().max_n(), largest_n)) continue;
        if (simt::race_detection && ld == n) continue;  // the same accesses
        SCOPED_TRACE(trace(usual(), n, ld));
        const DenseMatrix<T> a = make_matrix<T>(usual(), n, 10 * n + ld);
        const auto r = getrf(a, ld);
        LULAB_ASSERT_OK(r);
        expect_right_with_growth(a, *r, usual().pivots);
      }
  }

  template <class T>
  void every_type() {
    GetrfOnDevice<T> getrf;
    LULAB_ASSERT_OK(getrf.start(rung()));
    for (const MatrixType& type : types_)
      for (const std::int32_t n : {1, 2, 3, 33, 70, 140}) {
        if (n > std::min(getrf.getrf().max_n(), largest_n) || !takes(rung(), type)) continue;
        if (is_library(rung()) && type.name == "exact_ties") continue;  // it may break them in another way
        if (stops_at_a_zero_pivot(rung()) && type.name.find("zero") != std::string::npos) continue;
        SCOPED_TRACE(trace(type, n, n + 1));
        const DenseMatrix<T> a = make_matrix<T>(type, n, 7 * n);
        const auto r = getrf(a, n + 1);
        LULAB_ASSERT_OK(r);
        expect_right_with_growth(a, *r, type.pivots);
      }
  }

  template <class T>
  void every_schedule() {
    for (const std::int32_t n : {5, 40}) {
      const DenseMatrix<T> a = make_matrix<T>(usual(), n, n);
      std::optional<GetrfResult<T>> first;
      for (const std::uint64_t seed : simt::schedule_seeds()) {
        const simt::SimulatorScope scope({.seed = seed, .resident_blocks = seed % 2 == 0 ? 1 : 0});
        SCOPED_TRACE(trace(usual(), n, n) + ", schedule " + std::to_string(seed));
        GetrfOnDevice<T> getrf;
        LULAB_ASSERT_OK(getrf.start(rung()));
        const auto r = getrf(a, n);
        LULAB_ASSERT_OK(r);
        expect_right_with_growth(a, *r, usual().pivots);
        if (!first) first = *r;
        if (rung().facts.deterministic) expect_same_bits(*r, *first);
      }
    }
  }

  template <class T>
  void a_nan() {
    if (is_library(rung())) GTEST_SKIP() << "cuSOLVER never takes a NaN as pivot";
    GetrfOnDevice<T> getrf;
    LULAB_ASSERT_OK(getrf.start(rung()));
    for (const auto& [n, i, j] : {std::tuple{1, 0, 0}, {4, 2, 0}, {4, 3, 2}, {33, 20, 9}, {70, 69, 3}, {70, 5, 68}}) {
      if (n > getrf.getrf().max_n()) continue;
      SCOPED_TRACE(trace(usual(), n, n + 3));
      DenseMatrix<T> a = make_matrix<T>(usual(), n, 3 * n);
      a(i, j) = std::numeric_limits<T>::quiet_NaN();
      const auto r = getrf(a, n + 3);
      LULAB_ASSERT_OK(r);
      EXPECT_TRUE(std::isnan(r->lu(n - 1, n - 1)));
      if (rung().facts.pivoting == Pivoting::fixed) continue;
      EXPECT_EQ(r->ipiv, reference_getrf(a).ipiv);
    }
  }

  template <class T>
  void a_zero_pivot() {
    GetrfOnDevice<T> getrf;
    LULAB_ASSERT_OK(getrf.start(rung()));
    for (const auto& [n, k] : {std::pair{1, 0}, {2, 0}, {2, 1}, {20, 0}, {40, 33}, {40, 39}}) {
      if (n > getrf.getrf().max_n()) continue;
      // Diagonal with two zeros. Below and right of the first are ones, which only row pivoting can use: without
      // it the step is skipped, and nothing at all changes.
      DenseMatrix<T> a(n, n);
      for (std::int32_t j = 0; j < n; ++j) a(j, j) = j == k || j == k + 2 ? T(0) : T(j + 2);
      if (k + 1 < n) a(n - 1, k) = a(k, n - 1) = T(1);
      SCOPED_TRACE("n = " + std::to_string(n) + ", A(k,k) = 0 for k = " + std::to_string(k));
      const auto r = getrf(a, n);
      LULAB_ASSERT_OK(r);
      if (rung().facts.pivoting == Pivoting::fixed) {
        EXPECT_EQ(r->info, k + 1);
        EXPECT_EQ(r->ipiv, identity_permutation(n));
        EXPECT_TRUE(is_library(rung()) || r->lu.values == a.values);
      } else {
        EXPECT_EQ(r->info, reference_getrf(a).info);
        EXPECT_EQ(r->ipiv, reference_getrf(a).ipiv);
      }
    }
  }

  // One preparation, then other memory and another leading dimension, then the first again.
  template <class T>
  void other_memory() {
    constexpr std::int32_t n = 40;
    GetrfOnDevice<T> on;
    LULAB_ASSERT_OK(on.start(rung()));
    LULAB_ASSERT_OK(on.getrf().prepare_getrf(n, on.stream()));
    struct Place {
      std::int64_t ld;
      simt::DeviceBuffer<T> a;
      simt::DeviceBuffer<std::int32_t> ipiv, info;
    };
    std::vector<Place> places;
    for (const std::int64_t ld : {n, n + 5}) {
      auto a = simt::DeviceBuffer<T>::create(ld * n);
      auto ipiv = simt::DeviceBuffer<std::int32_t>::create(n);
      auto info = simt::DeviceBuffer<std::int32_t>::create(1);
      LULAB_ASSERT_OK(a);
      LULAB_ASSERT_OK(ipiv);
      LULAB_ASSERT_OK(info);
      places.push_back({ld, std::move(*a), std::move(*ipiv), std::move(*info)});
    }
    for (const int which : {0, 1, 0}) {
      Place& p = places[which];
      const DenseMatrix<T> a = make_matrix<T>(usual(), n, 11 + which);
      std::vector<T> padded(p.ld * n);
      for (std::int32_t j = 0; j < n; ++j) std::copy_n(&a.values[std::size_t(j) * n], n, &padded[j * p.ld]);
      GetrfResult<T> r{DenseMatrix<T>(n, n), std::vector<std::int32_t>(n, -1), -1};
      LULAB_ASSERT_OK(p.a.upload(padded, on.stream()));
      LULAB_ASSERT_OK(p.ipiv.fill_bytes(0xFF, on.stream()));
      LULAB_ASSERT_OK(on.getrf().getrf({n, p.ld, p.a.data(), p.ipiv.data(), p.info.data()}));
      LULAB_ASSERT_OK(p.a.download(padded, on.stream()));
      LULAB_ASSERT_OK(p.ipiv.download(r.ipiv, on.stream()));
      LULAB_ASSERT_OK(p.info.download({&r.info, 1}, on.stream()));
      LULAB_ASSERT_OK(on.stream().wait());
      for (std::int32_t j = 0; j < n; ++j) std::copy_n(&padded[j * p.ld], n, &r.lu.values[std::size_t(j) * n]);
      expect_right_with_growth(a, r, usual().pivots);
    }
  }

  // Beyond here 07 divides the device, and 06 and 07 halve their blocks.
  template <class T>
  void large() {
    GetrfOnDevice<T> getrf;
    LULAB_ASSERT_OK(getrf.start(rung()));
    for (const std::int32_t n : {2200, 700}) {
      if (n > getrf.getrf().max_n()) continue;
      SCOPED_TRACE(trace(usual(), n, n + 1));
      const DenseMatrix<T> a = make_matrix<T>(usual(), n, n);
      const auto r = getrf(a, n + 1);
      LULAB_ASSERT_OK(r);
      EXPECT_EQ(r->info, 0);
      EXPECT_LT(probed_error(a, *r), 30.0);
    }
  }

  template <class T>
  void wrong_arguments() {
    GetrfOnDevice<T> getrf;
    LULAB_ASSERT_OK(getrf.start(rung()));
    const auto code = [&](std::int32_t n, std::int64_t ld) {
      return getrf.getrf().getrf({n, ld, nullptr, nullptr, nullptr}).code;
    };
    EXPECT_EQ(code(0, 1), StatusCode::invalid_argument);  // nothing prepared
    EXPECT_EQ(code(-1, 1), StatusCode::invalid_argument);
    EXPECT_EQ(getrf.getrf().prepare_getrf(-1, getrf.stream()).code, StatusCode::invalid_argument);
    EXPECT_EQ(getrf.getrf().prepare_getrf(getrf.getrf().max_n() + 1, getrf.stream()).code,
              StatusCode::invalid_argument);
    LULAB_ASSERT_OK(getrf.getrf().prepare_getrf(4, getrf.stream()));
    EXPECT_EQ(code(3, 4), StatusCode::invalid_argument);
    EXPECT_EQ(code(4, 3), StatusCode::invalid_argument);
    LULAB_ASSERT_OK(getrf.stream().wait());
  }

 private:
  std::vector<MatrixType> types_ = matrix_types();
};

TEST_P(DenseGetrf, FactorsEverySizeAndKeepsThePadding) {
  LULAB_NEED_DEVICE();
  GetParam().is_float ? every_size<float>() : every_size<double>();
}
TEST_P(DenseGetrf, FactorsEveryTypeOfMatrix) {
  LULAB_NEED_DEVICE();
  if (simt::race_detection) GTEST_SKIP() << "other values, the same accesses";
  GetParam().is_float ? every_type<float>() : every_type<double>();
}
TEST_P(DenseGetrf, RepeatsItselfBitForBitUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  GetParam().is_float ? every_schedule<float>() : every_schedule<double>();
}
TEST_P(DenseGetrf, TakesANanAsPivotAndSpreadsIt) {
  LULAB_NEED_DEVICE();
  GetParam().is_float ? a_nan<float>() : a_nan<double>();
}
TEST_P(DenseGetrf, InfoNamesTheFirstZeroPivot) {
  LULAB_NEED_DEVICE();
  GetParam().is_float ? a_zero_pivot<float>() : a_zero_pivot<double>();
}
TEST_P(DenseGetrf, FollowsTheMatrixToOtherMemory) {
  LULAB_NEED_DEVICE();
  GetParam().is_float ? other_memory<float>() : other_memory<double>();
}
TEST_P(DenseGetrf, FactorsLargeMatrices) {
  LULAB_NEED_DEVICE();
  if (simt::machine() == simt::Machine::simulator) GTEST_SKIP() << "minutes in the simulator";
  GetParam().is_float ? large<float>() : large<double>();
}
TEST_P(DenseGetrf, RefusesWrongArguments) {
  LULAB_NEED_DEVICE();
  GetParam().is_float ? wrong_arguments<float>() : wrong_arguments<double>();
}

// The measures themselves: one NaN anywhere in U or L must show.
TEST(GetrfTesting, MeasuresKeepANan) {
  const std::vector<MatrixType> types = matrix_types();
  const DenseMatrix<double> a = make_matrix<double>(*std::ranges::find(types, "uniform", &MatrixType::name), 12, 5);
  const GetrfResult<double> right = reference_getrf(a);
  for (std::int32_t j = 0; j < 12; ++j)
    for (std::int32_t i = 0; i < 12; ++i) {
      GetrfResult<double> r = right;
      r.lu(i, j) = std::numeric_limits<double>::quiet_NaN();
      EXPECT_FALSE(getrf_error(a, r) < 30.0) << i << ", " << j;
      EXPECT_FALSE(probed_error(a, r) < 30.0) << i << ", " << j;
      EXPECT_TRUE(std::isnan(i <= j ? pivot_growth(a, r) : largest_multiplier(r, j))) << i << ", " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Rungs, DenseGetrf, ::testing::ValuesIn(getrf_cases()), case_name);

}  // namespace
}  // namespace lulab::testing
