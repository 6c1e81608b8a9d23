// The order of calls, sizes, errors, and batches of rungs that take one system.

#include "core/factorizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/matrix/number_text.h"

namespace lulab {
namespace {

/// Diagonal matrices: U = A. A zero is a bad pivot, a NaN is refused, -code in front fails with that code.
/// calls: p prepare, s take_scales, u upload, e enqueue factor, r enqueue refactor, c collect, d download.
template <class T>
class Diagonal final : public Backend<T> {
 public:
  explicit Diagonal(std::string& calls) : calls_(calls) {}
  Status prepare(const Analysis& analysis, std::int32_t) override {
    calls_ += "p";
    if (analysis.filled.n == 0) return Status::error(StatusCode::out_of_memory, "no room for nothing");
    analysis_ = &analysis;
    return {};
  }
  Status take_scales() override {
    calls_ += "s";
    return {};
  }
  Status upload(std::span<const T> values) override {
    calls_ += "u";
    values_.assign(values.begin(), values.end());
    for (const T v : values)
      if (std::isnan(v)) return Status::error(StatusCode::invalid_argument, "a NaN");
    if (values[0] == T(1e6)) throw std::bad_alloc();
    return {};
  }
  Status enqueue(Phase phase) override {
    calls_ += phase == Phase::factor ? "e" : "r";
    return {};
  }
  Status collect(std::span<Status> statuses) override {
    calls_ += "c";
    if (!values_.empty() && values_[0] < T(0)) return Status::error(static_cast<StatusCode>(-values_[0]), "all");
    for (std::size_t j = 0; j < values_.size(); ++j)
      if (values_[j] == T(0) && statuses[0].ok())
        statuses[0] = Status::error(StatusCode::needs_repivot, "a zero", {{}, 0, {}, {static_cast<std::int32_t>(j)}});
    return {};
  }
  Result<Factors<T>> download(std::int32_t) override {
    calls_ += "d";
    if (values_[0] == T(77)) return Status::error(StatusCode::numerically_singular, "an overflow, found late");
    Factors<T> f{analysis_->plan, analysis_->filled, values_, {}};
    f.statistics.pivot_growth = static_cast<double>(values_[0]);
    return f;
  }
  HostArrays<T> host_arrays() const override { return {.lu = values_, .plan = &analysis_->plan}; }

 private:
  std::string& calls_;
  const Analysis* analysis_ = nullptr;
  std::vector<T> values_;
};

Analysis diagonal(std::int32_t n) {
  Analysis analysis;
  analysis.plan = Plan::identity(n);
  analysis.a.n_rows = analysis.a.n_cols = analysis.filled.n = n;
  for (std::int32_t j = 0; j < n; ++j) {
    analysis.a.row_idx.push_back(j);
    analysis.a.col_ptr.push_back(j + 1);
    analysis.filled.row_idx.push_back(j);
    analysis.filled.diag.push_back(j);
    analysis.a_to_filled.push_back(j);
  }
  analysis.filled.col_ptr = analysis.a.col_ptr;
  return analysis;
}

template <class T>
class OneByOne : public ::testing::Test {
 protected:
  Factorizer<T>& batch() { return factorizer_; }

  std::string calls;
  Analysis analysis = diagonal(2);

 private:
  Factorizer<T> factorizer_ = factorizer_of<Diagonal<T>>(calls);
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(OneByOne, Scalars);

TYPED_TEST(OneByOne, TakesOneSystemAfterTheOther) {
  using T = TypeParam;
  const std::vector<T> values = {2, 3, 5, 7, 11, 13};
  ASSERT_TRUE(this->batch().analyze(this->analysis, 3).ok());
  ASSERT_TRUE(this->batch().upload(values).ok());
  ASSERT_TRUE(this->batch().factor().ok());
  EXPECT_EQ(this->calls, "puecduecduecd");
  ASSERT_TRUE(this->batch().wait().ok());
  ASSERT_EQ(this->batch().statuses().size(), 3u);
  for (std::int32_t s = 0; s < 3; ++s) {
    EXPECT_TRUE(this->batch().statuses()[s].ok());
    const auto f = this->batch().download(s);
    ASSERT_TRUE(f.ok());
    EXPECT_EQ(f->values, (std::vector<T>{values[2 * s], values[2 * s + 1]}));
    EXPECT_EQ(this->batch().statistics(s).pivot_growth, static_cast<double>(values[2 * s]));
  }
  EXPECT_EQ(this->batch().device_arrays().lu, nullptr);
  EXPECT_EQ(this->batch().stream(), nullptr);
}

TYPED_TEST(OneByOne, OneThatFailsLeavesTheOthersAlone) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  ASSERT_TRUE(this->batch().analyze(this->analysis, 4).ok());
  ASSERT_TRUE(this->batch().upload(std::vector<T>{2, 3, 5, 0, 11, nan, 17, 19}).ok());
  EXPECT_EQ(this->batch().factor().code, StatusCode::needs_repivot) << "that of the first system that failed";
  const std::vector<Status> statuses(this->batch().statuses().begin(), this->batch().statuses().end());
  ASSERT_EQ(statuses.size(), 4u);
  EXPECT_TRUE(statuses[0].ok());
  EXPECT_EQ(statuses[1].code, StatusCode::needs_repivot);
  EXPECT_EQ(statuses[1].where.columns, std::vector<std::int32_t>{1});
  EXPECT_EQ(statuses[2].code, StatusCode::invalid_argument);
  EXPECT_TRUE(statuses[3].ok());
  for (std::int32_t s = 0; s < 4; ++s) EXPECT_EQ(this->batch().download(s).status().code, statuses[s].code);
  EXPECT_EQ(this->batch().download(3)->values, (std::vector<T>{17, 19}));
  EXPECT_TRUE(std::isnan(this->batch().statistics(1).pivot_growth));
  ASSERT_TRUE(this->batch().upload(std::vector<T>(8, T(1))).ok());
  ASSERT_TRUE(this->batch().factor().ok());
  for (std::int32_t s = 0; s < 4; ++s) EXPECT_TRUE(this->batch().download(s).ok()) << s;
}

TYPED_TEST(OneByOne, AnErrorOfTheMachineIsAnErrorOfAllSystems) {
  using T = TypeParam;
  for (const StatusCode code : {StatusCode::device_error, StatusCode::deadlock, StatusCode::out_of_memory}) {
    ASSERT_TRUE(this->batch().analyze(this->analysis, 3).ok());
    ASSERT_TRUE(this->batch().upload(std::vector<T>{2, 3, -static_cast<T>(code), 7, 11, 13}).ok());
    this->calls.clear();
    const Status failed = this->batch().factor();
    EXPECT_EQ(failed.code, code) << failed.to_string();
    EXPECT_EQ(this->calls, "uecduec") << "the third system is not tried";
    EXPECT_EQ(this->batch().wait().code, code);
    EXPECT_TRUE(this->batch().statuses().empty());
    EXPECT_FALSE(this->batch().download(0).ok()) << "factors of a batch that failed";
    ASSERT_TRUE(this->batch().upload(std::vector<T>(6, T(1))).ok());
    ASSERT_TRUE(this->batch().factor().ok());
    for (std::int32_t s = 0; s < 3; ++s) EXPECT_TRUE(this->batch().download(s).ok()) << s;
  }
}

TYPED_TEST(OneByOne, RefusesCallsOutOfOrderAndWrongSizes) {
  using T = TypeParam;
  const auto is_bad = [](const Status& s) { return s.code == StatusCode::invalid_argument; };
  auto& batch = this->batch();
  const std::vector<T> values(6, T(1));
  EXPECT_TRUE(is_bad(batch.upload(values)));
  EXPECT_TRUE(is_bad(batch.factor()));
  EXPECT_TRUE(is_bad(batch.wait()));
  EXPECT_TRUE(is_bad(batch.download(0).status()));
  EXPECT_TRUE(is_bad(batch.analyze(this->analysis, 0)));
  EXPECT_TRUE(is_bad(batch.analyze(this->analysis, -1)));
  ASSERT_TRUE(batch.analyze(this->analysis, 3).ok());
  EXPECT_TRUE(is_bad(batch.factor()));
  EXPECT_TRUE(is_bad(batch.upload(std::span(values).first(5))));
  EXPECT_TRUE(is_bad(batch.factor())) << "values of a wrong size";
  ASSERT_TRUE(batch.upload(values).ok());
  EXPECT_TRUE(is_bad(batch.wait()));
  ASSERT_TRUE(batch.factor().ok());
  ASSERT_TRUE(batch.wait().ok());
  EXPECT_TRUE(is_bad(batch.download(-1).status()));
  EXPECT_TRUE(is_bad(batch.download(3).status()));
  EXPECT_EQ(batch.statistics(3).structural_rank, -1);
  ASSERT_TRUE(batch.upload(values).ok());
  EXPECT_TRUE(is_bad(batch.wait())) << "factors of earlier values";
  ASSERT_TRUE(batch.factor().ok());
  ASSERT_TRUE(batch.analyze(this->analysis, 2).ok());
  EXPECT_TRUE(is_bad(batch.download(0).status())) << "factors of an earlier analysis";
  EXPECT_TRUE(is_bad(batch.upload(values))) << "a size of an earlier analysis";
}

TYPED_TEST(OneByOne, ReturnsTheErrorOfAnalyze) {
  const Analysis nothing = diagonal(0);
  EXPECT_EQ(this->batch().analyze(nothing, 2).code, StatusCode::out_of_memory);
  EXPECT_EQ(this->batch().upload(std::span<const TypeParam>()).code, StatusCode::invalid_argument);
}

template <class T>
class FactorizerTest : public ::testing::Test {
 protected:
  Factorizer<T> with(Pivoting pivoting, bool refactors = true) {
    facts_.pivoting = pivoting;
    facts_.refactors = refactors;
    return Factorizer<T>(std::make_unique<Diagonal<T>>(calls), facts_);
  }

  std::string calls;
  Analysis analysis = diagonal(2);

 private:
  RungFacts facts_ = fixed_pivots_facts;
};
TYPED_TEST_SUITE(FactorizerTest, Scalars);

TYPED_TEST(FactorizerTest, CallsInOrderReachTheBackendOnce) {
  using T = TypeParam;
  auto f = this->with(Pivoting::threshold);
  ASSERT_TRUE(f.analyze(this->analysis).ok());
  ASSERT_TRUE(f.upload(std::vector<T>{2, 3}).ok());
  ASSERT_TRUE(f.factor().ok());
  ASSERT_TRUE(f.wait().ok());
  ASSERT_TRUE(f.upload(std::vector<T>{5, 7}).ok());
  ASSERT_TRUE(f.refactor().ok());
  ASSERT_TRUE(f.wait().ok());
  const auto factors = f.download();
  ASSERT_TRUE(factors.ok());
  EXPECT_EQ(factors->values, (std::vector<T>{5, 7}));
  std::vector<T> values(2, std::numeric_limits<T>::quiet_NaN());
  EXPECT_TRUE(f.download_values(values).ok());
  EXPECT_EQ(values, (std::vector<T>{5, 7}));
  EXPECT_EQ(this->calls, "puecurcdd");
  values.push_back(0);
  EXPECT_EQ(f.download_values(values).code, StatusCode::invalid_argument);
}

TYPED_TEST(FactorizerTest, CallsOutOfOrderNeverReachTheBackend) {
  using T = TypeParam;
  const auto is_bad = [](const Status& s) { return s.code == StatusCode::invalid_argument; };
  auto f = this->with(Pivoting::fixed);
  const std::vector<T> values = {2, 3};
  EXPECT_TRUE(is_bad(f.upload(values)));
  EXPECT_TRUE(is_bad(f.factor()));
  EXPECT_TRUE(is_bad(f.refactor()));
  EXPECT_TRUE(is_bad(f.wait()));
  EXPECT_TRUE(is_bad(f.download().status()));
  EXPECT_EQ(this->calls, "");
  ASSERT_TRUE(f.analyze(this->analysis).ok());
  EXPECT_TRUE(is_bad(f.factor()));
  EXPECT_TRUE(is_bad(f.upload(std::vector<T>{1})));
  EXPECT_TRUE(is_bad(f.factor())) << "values of a wrong size";
  ASSERT_TRUE(f.upload(values).ok());
  EXPECT_TRUE(is_bad(f.refactor())) << "no pivots yet";
  EXPECT_TRUE(is_bad(f.download().status()));
  EXPECT_EQ(this->calls, "pu");
}

TYPED_TEST(FactorizerTest, TakesOtherScalesWithWhichAllStartsAfresh) {
  using T = TypeParam;
  constexpr bool is_float = std::is_same_v<T, float>;  // the backend gets R·A·C, and knows of no scales
  const auto is_bad = [](const Status& s) { return s.code == StatusCode::invalid_argument; };
  auto f = this->with(Pivoting::threshold);
  EXPECT_TRUE(is_bad(f.take_scales()));
  this->analysis.plan.r = {4, 1};
  ASSERT_TRUE(f.analyze(this->analysis).ok());
  const std::vector<T> values = {2, 3};
  ASSERT_TRUE(f.upload(values).ok());
  ASSERT_TRUE(f.factor().ok());
  EXPECT_EQ(f.download()->values, (is_float ? std::vector<T>{8, 3} : values));
  this->calls.clear();

  this->analysis.plan.r = {0.5, 1};
  this->analysis.plan.c = {1, 16};
  ASSERT_TRUE(f.take_scales().ok());
  EXPECT_TRUE(is_bad(f.download().status()));
  EXPECT_TRUE(is_bad(f.factor()));
  ASSERT_TRUE(f.upload(values).ok());
  EXPECT_TRUE(is_bad(f.refactor())) << "the pivots were those of other scales";
  ASSERT_TRUE(f.factor().ok());
  const auto factors = f.download();
  ASSERT_TRUE(factors.ok());
  EXPECT_EQ(factors->values, (is_float ? std::vector<T>{1, 48} : values));
  EXPECT_EQ(factors->plan.c, this->analysis.plan.c);
  EXPECT_EQ(this->calls, is_float ? "uecd" : "suecd");
}

TYPED_TEST(FactorizerTest, ScalesThatReachTheBackendInAnotherWayNeedAnAnalysis) {
  using T = TypeParam;
  auto f = this->with(Pivoting::fixed);
  ASSERT_TRUE(f.analyze(this->analysis).ok());
  // Float: all were 1, and the backend got A. Double: r · c leaves the range.
  this->analysis.plan.r[0] = std::is_same_v<T, float> ? 2 : 1e-200;
  this->analysis.plan.c[0] = std::is_same_v<T, float> ? 1 : 1e-200;
  EXPECT_EQ(f.take_scales().code, StatusCode::not_implemented);
  EXPECT_EQ(this->calls, "p");
  EXPECT_EQ(f.factor().code, StatusCode::invalid_argument);
}

TYPED_TEST(FactorizerTest, HandsOutNoArraysWhosePlanLacksTheScalings) {
  using T = TypeParam;
  constexpr bool is_float = std::is_same_v<T, float>;
  for (const double scale : {1.0, is_float ? 8.0 : 1e-155}) {  // the backend gets R·A·C where r · c leaves the range
    auto f = this->with(Pivoting::threshold);
    this->analysis.plan.r = this->analysis.plan.c = {scale, 1};
    ASSERT_TRUE(f.analyze(this->analysis).ok());
    ASSERT_TRUE(f.upload(std::vector<T>{is_float ? T(2) : T(1e300), 3}).ok());
    ASSERT_TRUE(f.factor().ok());
    ASSERT_TRUE(f.wait().ok());
    const HostArrays<T> arrays = f.host_arrays();
    EXPECT_EQ(arrays.lu.size(), scale == 1 ? 2 : 0);
    EXPECT_EQ(arrays.plan, scale == 1 ? &this->analysis.plan : nullptr);
    EXPECT_EQ(f.download()->plan.r, this->analysis.plan.r);
  }
}

TYPED_TEST(FactorizerTest, RefactorNeedsPivotsThatExist) {
  using T = TypeParam;
  for (const Pivoting pivoting : {Pivoting::fixed, Pivoting::threshold}) {
    auto f = this->with(pivoting);
    ASSERT_TRUE(f.analyze(this->analysis).ok());
    ASSERT_TRUE(f.upload(std::vector<T>{2, 0}).ok());
    EXPECT_EQ(f.factor().code, StatusCode::needs_repivot);
    EXPECT_EQ(f.download().status().code, StatusCode::needs_repivot);
    ASSERT_TRUE(f.upload(std::vector<T>{2, 3}).ok());
    EXPECT_EQ(f.refactor().ok(), pivoting == Pivoting::fixed) << "the plan's pivots do not depend on values";
  }
}

TYPED_TEST(FactorizerTest, AnErrorFoundByDownloadStays) {
  using T = TypeParam;
  auto f = this->with(Pivoting::threshold);
  ASSERT_TRUE(f.analyze(this->analysis).ok());
  ASSERT_TRUE(f.upload(std::vector<T>{77, 3}).ok());
  ASSERT_TRUE(f.factor().ok());
  EXPECT_EQ(f.download().status().code, StatusCode::numerically_singular);
  EXPECT_EQ(f.wait().code, StatusCode::numerically_singular);
  EXPECT_EQ(this->calls, "puecd");
  EXPECT_EQ(f.download().status().code, StatusCode::numerically_singular);
  EXPECT_EQ(this->calls, "puecd");
}

TYPED_TEST(FactorizerTest, NoMemoryIsAnErrorNotAnException) {
  using T = TypeParam;
  auto f = this->with(Pivoting::fixed);
  ASSERT_TRUE(f.analyze(this->analysis).ok());
  EXPECT_EQ(f.upload(std::vector<T>{1e6, 3}).code, StatusCode::out_of_memory);
  EXPECT_EQ(f.factor().code, StatusCode::invalid_argument);
}

TYPED_TEST(FactorizerTest, BatchesNeedFixedPivots) {
  for (const Pivoting pivoting : {Pivoting::threshold, Pivoting::partial}) {
    auto f = this->with(pivoting);
    const Status refused = f.analyze(this->analysis, 2);
    EXPECT_EQ(refused.code, StatusCode::not_implemented);
    EXPECT_NE(refused.message.find("(unnamed)"), std::string::npos) << refused.message;
    EXPECT_TRUE(f.analyze(this->analysis, 1).ok());
  }
}

std::string calls_of_rung;

class DiagonalOfRung final : public Backend<double> {
 public:
  Status prepare(const Analysis& analysis, std::int32_t systems) override { return inner_.prepare(analysis, systems); }
  Status upload(std::span<const double> values) override { return inner_.upload(values); }
  Status enqueue(Phase phase) override { return inner_.enqueue(phase); }
  Status collect(std::span<Status> statuses) override { return inner_.collect(statuses); }
  Result<Factors<double>> download(std::int32_t system) override { return inner_.download(system); }

 private:
  Diagonal<double> inner_{calls_of_rung};
};

TEST(RungOf, HasTheScalarTypesThatItsBackendHas) {
  const Rung rung = rung_in_double<DiagonalOfRung>({.id = "test/diagonal"});
  EXPECT_TRUE(rung.supports<double>());
  EXPECT_FALSE(rung.supports<float>());
  EXPECT_EQ(rung.make<float>(), nullptr);
  EXPECT_NE(rung.make<double>(), nullptr);
}

TEST(RungOf, RefusesOptionsThatItDoesNotHaveOrThatAreOutOfRange) {
  static constexpr RungOption known[] = {
      {.name = "lanes", .default_value = 8, .least = 1, .most = 32, .meaning = "lanes a column"}};
  const Rung rung = rung_in_double<DiagonalOfRung>({.id = "test/diagonal", .options = known});
  const Analysis analysis = diagonal(2);
  const auto analyze = [&](const FactorOptions& options) { return rung.make<double>(options)->analyze(analysis); };
  EXPECT_TRUE(analyze({}).ok());
  EXPECT_TRUE(analyze({.of_rung = {{"lanes", 32}}}).ok());
  for (const auto& [name, value] : {std::pair{"lanes", 33.0}, std::pair{"lanes", 0.0}, std::pair{"lines", 8.0},
                                    std::pair{"lanes", std::numeric_limits<double>::quiet_NaN()}}) {
    const Status refused = analyze({.of_rung = {{name, value}}});
    EXPECT_EQ(refused.code, StatusCode::invalid_argument);
    EXPECT_NE(refused.message.find("lanes a column"), std::string::npos) << refused.message;
  }
  EXPECT_EQ(analyze({.pivot_tol = 2}).code, StatusCode::invalid_argument);
  EXPECT_EQ(analyze({.pivot_tol = std::numeric_limits<double>::quiet_NaN()}).code, StatusCode::invalid_argument);
  EXPECT_EQ(analyze({.perturb_pivots = -1}).code, StatusCode::invalid_argument);
  EXPECT_EQ(FactorOptions{}.get(known[0]), 8);
  const FactorOptions four = {.of_rung = {{"lanes", 4}}};
  EXPECT_EQ(four.get(known[0]), 4);
}

TEST(FactorOptions, AreSetFromText) {
  FactorOptions options;
  EXPECT_TRUE(options.set("lanes=16").ok());
  EXPECT_TRUE(options.set("memory_ratio=-2.5e-1").ok());
  EXPECT_TRUE(options.set("lanes=8").ok());
  EXPECT_EQ(options.of_rung, (std::map<std::string, double, std::less<>>{{"lanes", 8}, {"memory_ratio", -0.25}}));
  for (const char* text :
       {"", "lanes", "lanes=", "=8", "lanes=8x", "lanes=8 9", "lanes=nan", "lanes=inf", "lanes=1e999"}) {
    const Status refused = options.set(text);
    EXPECT_EQ(refused.code, StatusCode::invalid_argument) << text;
    EXPECT_NE(refused.message.find(quoted(text)), std::string::npos) << refused.message;
  }
  EXPECT_EQ(options.of_rung.size(), 2u);
}

TEST(FactorOptions, OnlyKeepsWhatARungKnows) {
  static constexpr RungOption known[] = {{.name = "lanes", .meaning = ""}, {.name = "width", .meaning = ""}};
  const FactorOptions options = {.pivot_tol = 0.5, .of_rung = {{"lanes", 8}, {"memory_ratio", 2}}};
  const FactorOptions left = options.only(known);
  EXPECT_EQ(left.of_rung, (std::map<std::string, double, std::less<>>{{"lanes", 8}}));
  EXPECT_EQ(left.pivot_tol, 0.5);
}

}  // namespace
}  // namespace lulab
