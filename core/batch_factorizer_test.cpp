// Batches of rungs that have none of their own: the order of calls, sizes, and what becomes of one system in the middle.

#include "core/batch_factorizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace lulab {
namespace {

/// Of diagonal matrices: U = A. Zero and NaN fail as they do in a rung, -code as that code; `calls` tells who was called.
template <class T>
class Diagonal final : public Factorizer<T> {
 public:
  explicit Diagonal(std::string& calls) : calls_(calls) {}
  Status analyze(const Analysis& analysis) override {
    calls_ += "a";
    if (analysis.filled.n == 0) return Status::error(StatusCode::out_of_memory, "no room for nothing");
    analysis_ = &analysis;
    return {};
  }
  Status upload(std::span<const T> values) override {
    calls_ += "u";
    values_.assign(values.begin(), values.end());
    for (const T v : values)
      if (std::isnan(v)) return Status::error(StatusCode::invalid_argument, "a NaN");
    return {};
  }
  Status factor() override {
    calls_ += "f";
    return {};
  }
  Status wait() override {
    calls_ += "w";
    if (!values_.empty() && values_[0] < T(0)) return Status::error(static_cast<StatusCode>(-values_[0]), "all");
    for (std::size_t j = 0; j < values_.size(); ++j)
      if (values_[j] == T(0))
        return Status::error(StatusCode::needs_repivot, "a zero", {{}, 0, {}, {static_cast<std::int32_t>(j)}});
    return {};
  }
  Result<Factors<T>> download() override {
    calls_ += "d";
    Factors<T> f{analysis_->plan, analysis_->filled, values_, {}};
    f.statistics.pivot_growth = static_cast<double>(values_[0]);
    return f;
  }

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
    analysis.filled.diag.push_back(j);
    analysis.a_to_filled.push_back(j);
  }
  analysis.filled.row_idx = analysis.a.row_idx;
  analysis.filled.col_ptr = analysis.a.col_ptr;
  return analysis;
}

template <class T>
class OneByOne : public ::testing::Test {
 protected:
  std::string calls;
  OneByOneBatch<T> batch{std::make_unique<Diagonal<T>>(calls)};
  Analysis analysis = diagonal(2);
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(OneByOne, Scalars);

TYPED_TEST(OneByOne, TakesOneSystemAfterTheOther) {
  using T = TypeParam;
  const std::vector<T> values = {2, 3, 5, 7, 11, 13};
  ASSERT_TRUE(this->batch.analyze(this->analysis, 3).ok());
  ASSERT_TRUE(this->batch.upload(values).ok());
  ASSERT_TRUE(this->batch.factor().ok());
  EXPECT_EQ(this->calls, "aufwdufwdufwd");
  const auto fared = this->batch.wait();
  ASSERT_TRUE(fared.ok());
  ASSERT_EQ(fared->size(), 3u);
  for (std::int32_t s = 0; s < 3; ++s) {
    EXPECT_TRUE((*fared)[s].ok());
    const auto f = this->batch.download(s);
    ASSERT_TRUE(f.ok());
    EXPECT_EQ(f->values, (std::vector<T>{values[2 * s], values[2 * s + 1]}));
    EXPECT_EQ(this->batch.statistics(s).pivot_growth, static_cast<double>(values[2 * s]));
  }
  EXPECT_EQ(this->batch.device_arrays().lu, nullptr);
  EXPECT_EQ(this->batch.stream(), nullptr);
}

TYPED_TEST(OneByOne, OneThatFailsLeavesTheOthersAlone) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  ASSERT_TRUE(this->batch.analyze(this->analysis, 4).ok());
  ASSERT_TRUE(this->batch.upload(std::vector<T>{2, 3, 5, 0, 11, nan, 17, 19}).ok());
  ASSERT_TRUE(this->batch.factor().ok());
  const auto fared = this->batch.wait();
  ASSERT_TRUE(fared.ok());
  EXPECT_TRUE((*fared)[0].ok());
  EXPECT_EQ((*fared)[1].code, StatusCode::needs_repivot);
  EXPECT_EQ((*fared)[1].where.columns, std::vector<std::int32_t>{1});
  EXPECT_EQ((*fared)[2].code, StatusCode::invalid_argument);
  EXPECT_TRUE((*fared)[3].ok());
  for (std::int32_t s = 0; s < 4; ++s) EXPECT_EQ(this->batch.download(s).status().code, (*fared)[s].code);
  EXPECT_EQ(this->batch.download(3)->values, (std::vector<T>{17, 19}));
  EXPECT_TRUE(std::isnan(this->batch.statistics(1).pivot_growth));
  ASSERT_TRUE(this->batch.upload(std::vector<T>(8, T(1))).ok());
  ASSERT_TRUE(this->batch.factor().ok());
  for (std::int32_t s = 0; s < 4; ++s) EXPECT_TRUE(this->batch.download(s).ok()) << s;
}

TYPED_TEST(OneByOne, WhatAilsTheMachineIsToldOfAllAtOnce) {
  using T = TypeParam;
  for (const StatusCode code : {StatusCode::device_error, StatusCode::deadlock, StatusCode::out_of_memory}) {
    ASSERT_TRUE(this->batch.analyze(this->analysis, 3).ok());
    ASSERT_TRUE(this->batch.upload(std::vector<T>{2, 3, -static_cast<T>(code), 7, 11, 13}).ok());
    this->calls.clear();
    const Status failed = this->batch.factor();
    EXPECT_EQ(failed.code, code) << failed.to_string();
    EXPECT_EQ(this->calls, "ufwdufw") << "the third has nothing to hope for";
    EXPECT_EQ(this->batch.wait().status().code, StatusCode::invalid_argument);
    EXPECT_FALSE(this->batch.download(0).ok()) << "factors of a batch that failed";
    ASSERT_TRUE(this->batch.upload(std::vector<T>(6, T(1))).ok());
    ASSERT_TRUE(this->batch.factor().ok());
    for (std::int32_t s = 0; s < 3; ++s) EXPECT_TRUE(this->batch.download(s).ok()) << s;
  }
}

TYPED_TEST(OneByOne, RefusesCallsOutOfOrderAndWrongSizes) {
  using T = TypeParam;
  const auto is_bad = [](const Status& s) { return s.code == StatusCode::invalid_argument; };
  auto& batch = this->batch;
  const std::vector<T> values(6, T(1));
  EXPECT_TRUE(is_bad(batch.upload(values)));
  EXPECT_TRUE(is_bad(batch.factor()));
  EXPECT_TRUE(is_bad(batch.wait().status()));
  EXPECT_TRUE(is_bad(batch.download(0).status()));
  EXPECT_TRUE(is_bad(batch.analyze(this->analysis, 0)));
  EXPECT_TRUE(is_bad(batch.analyze(this->analysis, -1)));
  ASSERT_TRUE(batch.analyze(this->analysis, 3).ok());
  EXPECT_TRUE(is_bad(batch.factor()));
  EXPECT_TRUE(is_bad(batch.upload(std::span(values).first(5))));
  EXPECT_TRUE(is_bad(batch.factor())) << "values of a wrong size";
  ASSERT_TRUE(batch.upload(values).ok());
  EXPECT_TRUE(is_bad(batch.wait().status()));
  ASSERT_TRUE(batch.factor().ok());
  ASSERT_TRUE(batch.wait().ok());
  EXPECT_TRUE(is_bad(batch.download(-1).status()));
  EXPECT_TRUE(is_bad(batch.download(3).status()));
  EXPECT_EQ(batch.statistics(3).structural_rank, -1);
  ASSERT_TRUE(batch.upload(values).ok());
  EXPECT_TRUE(is_bad(batch.wait().status())) << "factors of earlier values";
  ASSERT_TRUE(batch.factor().ok());
  ASSERT_TRUE(batch.analyze(this->analysis, 2).ok());
  EXPECT_TRUE(is_bad(batch.download(0).status())) << "factors of an earlier analysis";
  EXPECT_TRUE(is_bad(batch.upload(values))) << "a size of an earlier analysis";
}

TYPED_TEST(OneByOne, WhatAnalyzeFailsWithIsTold) {
  const Analysis nothing = diagonal(0);
  EXPECT_EQ(this->batch.analyze(nothing, 2).code, StatusCode::out_of_memory);
  EXPECT_EQ(this->batch.upload({}).code, StatusCode::invalid_argument);
}

/// A batch that only has an identity.
class Own final : public BatchFactorizer<double> {
 public:
  explicit Own(double perturb_pivots) : perturb_pivots(perturb_pivots) {}
  Status analyze(const Analysis&, std::int32_t) override { return {}; }
  Status upload(std::span<const double>) override { return {}; }
  Status factor() override { return {}; }
  Result<std::vector<Status>> wait() override { return std::vector<Status>{}; }
  Result<Factors<double>> download(std::int32_t) override { return Factors<double>{}; }
  Statistics statistics(std::int32_t) const override { return {}; }

  const double perturb_pivots;
};

std::string calls_of_rung;

Rung diagonal_rung() {
  Rung rung;
  rung.facts.id = "test/diagonal";
  rung.make_double = [](const FactorOptions&) -> std::unique_ptr<Factorizer<double>> {
    return std::make_unique<Diagonal<double>>(calls_of_rung);
  };
  return rung;
}

TEST(MakeBatch, TakesTheBatchesOfARungBeforeOneByOne) {
  Rung rung = diagonal_rung();
  const auto one_by_one = make_batch<double>(rung);
  ASSERT_TRUE(one_by_one.ok());
  EXPECT_NE(dynamic_cast<OneByOneBatch<double>*>(one_by_one->get()), nullptr);
  rung.make_batch_double = [](const FactorOptions& o) -> std::unique_ptr<BatchFactorizer<double>> {
    return std::make_unique<Own>(o.perturb_pivots);
  };
  FactorOptions options;
  options.perturb_pivots = 0.125;
  const auto own = make_batch<double>(rung, options);
  ASSERT_TRUE(own.ok());
  ASSERT_NE(dynamic_cast<Own*>(own->get()), nullptr);
  EXPECT_EQ(dynamic_cast<Own*>(own->get())->perturb_pivots, 0.125);
}

TEST(MakeBatch, NeedsFixedPivotsAndTheScalarType) {
  Rung rung = diagonal_rung();
  EXPECT_EQ(make_batch<float>(rung).status().code, StatusCode::not_implemented);
  for (const Pivoting pivoting : {Pivoting::threshold, Pivoting::partial}) {
    rung.facts.pivoting = pivoting;
    const Status refused = make_batch<double>(rung).status();
    EXPECT_EQ(refused.code, StatusCode::not_implemented);
    EXPECT_NE(refused.message.find("test/diagonal"), std::string::npos) << refused.message;
  }
}

}  // namespace
}  // namespace lulab
