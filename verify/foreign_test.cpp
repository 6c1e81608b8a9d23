// The judge of foreign factors, on factors made here: probes, solutions, and what the conventions have in common.

#include "verify/foreign.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "testing/as_foreign.h"
#include "testing/dense_elimination.h"
#include "verify/rebuild.h"

namespace lulab {
namespace {

struct Made {
  CscMatrix<double> a;
  Factors<double> f;
  ForeignFactors given;
};

Made made(std::int32_t n, double density, std::uint64_t seed) {
  Made m;
  m.a = testing::random_dominant(n, density, seed);
  m.f = testing::eliminate_densely<double>(m.a, testing::random_plan(n, seed));
  m.given = testing::as_foreign(m.f);
  return m;
}

Judgement judged(const Made& m, JudgeOptions options = {}) {
  auto result = judge_foreign(m.a, m.given, options);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return result.ok() ? *std::move(result) : Judgement{};
}

JudgeOptions as(Convention convention) {
  JudgeOptions options;
  options.convention = convention;
  return options;
}

JudgeOptions by_probes(std::uint64_t seed) {
  JudgeOptions options = as(Convention::lulab);
  options.max_products = 0;
  options.seed = seed;
  return options;
}

std::string fault_of(const Judgement& j) {
  return j.finding ? std::string(to_string(j.finding->fault)) : j.accepted ? "accepted" : "no finding";
}

TEST(Foreign, TwiceKeepsBothHalvesOfAProduct) {
  extended::Twice<double> d;
  d.add_product(1 + 0x1p-52, 1 - 0x1p-52);
  d.add(-1);
  EXPECT_EQ(d.value(), -0x1p-104);
  extended::Twice<long double> l;
  const long double ulp = std::numeric_limits<long double>::epsilon();
  l.add_product(1 + ulp, 1 - ulp);
  l.add(-1);
  EXPECT_EQ(l.value(), -ulp * ulp);
}

TEST(Foreign, ProbesAcceptAndFindWhatTheProductFinds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Made m = made(60, 0.06, seed);
    const Judgement good = judged(m, by_probes(seed));
    EXPECT_TRUE(good.accepted) << seed << (good.failures.empty() ? "" : good.failures[0]);
    const std::int32_t j = 30 + static_cast<std::int32_t>(seed);
    m.given.u.values[m.given.u.col_ptr[j + 1] - 1] *= 1 + 1e-6;
    for (const JudgeOptions& options : {as(Convention::lulab), by_probes(seed)}) {
      const Judgement bad = judged(m, options);
      EXPECT_FALSE(bad.accepted) << seed;
      ASSERT_TRUE(bad.finding) << seed;
      EXPECT_EQ(fault_of(bad), "wrong_value") << bad.finding->what;
      EXPECT_EQ(bad.finding->column, j) << seed;
      EXPECT_EQ(bad.finding->row, j) << seed;
    }
  }
}

// Two errors in one row that cancel for half of all vectors of signs.
TEST(Foreign, ThirtyProbesMissNothing) {
  Made m = made(12, 0.9, 5);
  const auto add = [&](std::int32_t j, double v) { m.given.u.values[m.given.u.col_ptr[j]] += v; };  // row 1
  add(5, 1e-3);
  add(9, -1e-3);
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Judgement bad = judged(m, by_probes(seed));
    EXPECT_FALSE(bad.accepted) << seed;
    double measured = 0;
    for (const JudgedCheck& c : bad.checks)
      if (c.name == "column_residual") measured = c.value;
    EXPECT_TRUE(measured > 1e6) << seed;
  }
}

// Sums of the large ones are beyond the largest double, and so is A^-1 b of the small ones for b of size 1.
TEST(Foreign, TheLargestAndSmallestValuesAreJudgedLikeOthers) {
  constexpr std::int32_t n = 9;
  for (const double size : {1.7e308, 0x1p-1030, 1.0}) {
    Made m;
    m.a.n_rows = m.a.n_cols = n;
    for (std::int32_t j = 0; j < n; ++j) {
      for (std::int32_t i = 0; i < n; ++i)
        m.a.row_idx.push_back(i), m.a.values.push_back(size / (i == j ? 1 : 9 + 4 * i + 3 * j));
      m.a.col_ptr.push_back(m.a.nnz());
    }
    Plan plan = testing::random_plan(n, 1);
    plan.r.assign(n, size < 1 ? 0x1p1000 : 1);
    plan.c.assign(n, 1);
    m.f = testing::eliminate_densely<double>(m.a, plan);
    m.given = testing::as_foreign(m.f);
    for (const JudgeOptions& options : {as(Convention::lulab), as(Convention::automatic), by_probes(1)}) {
      const Judgement good = judged(m, options);
      EXPECT_TRUE(good.accepted) << size << ": " << (good.failures.empty() ? "" : good.failures[0]);
      for (const JudgedCheck& check : good.checks)
        if (check.name == "forward_error" || check.name == "omega") {
          EXPECT_EQ(check.result, JudgedCheck::Result::passed) << size << ", " << check.name << " = " << check.value;
        }
      Made wrong = m;
      wrong.given.u.values.back() *= 1 + 1e-6;
      const Judgement bad = judged(wrong, options);
      EXPECT_FALSE(bad.accepted) << size;
      EXPECT_EQ(fault_of(bad), "wrong_value") << size << bad.finding->what;
      for (const JudgedCheck& check : bad.checks)
        if (check.name == "lu_residual" || check.name == "column_residual" || check.name == "scaled_residual") {
          EXPECT_EQ(check.result, JudgedCheck::Result::failed) << size << ", " << check.name << " = " << check.value;
        }
    }
  }
}

TEST(Foreign, SmallColumnsBesideOnesNearTheLargestDoubleAreJudgedLikeOthers) {
  for (const double size : {1e-270, 1e-290, 1e-300, 1.0})
    for (const double max_products : {1e9, 0.0}) {
      Made m;
      m.a.n_rows = m.a.n_cols = 3;
      m.a.col_ptr = {0, 1, 3, 5};
      m.a.row_idx = {0, 1, 2, 1, 2};
      m.a.values = {1e305, 3 * size, size, size, 3 * size};
      m.f = testing::eliminate_densely<double>(m.a, Plan::identity(3));
      m.given = testing::as_foreign(m.f);
      JudgeOptions options = as(Convention::lulab);
      options.max_products = max_products;
      const Judgement good = judged(m, options);
      EXPECT_TRUE(good.accepted) << size << ": " << (good.failures.empty() ? "" : good.failures[0]);
      for (double* wrong : {&m.given.u.values.front(), &m.given.u.values.back()}) {
        const double right = *wrong;
        *wrong *= 1 + 1e-6;
        EXPECT_FALSE(judged(m, options).accepted) << size << ", " << right;
        *wrong = right;
      }
    }
}

TEST(Foreign, ConventionsAreToldApart) {
  Made m = made(30, 0.1, 7);
  EXPECT_EQ(judged(m).convention, Convention::lulab);
  Made superlu = m;
  for (std::size_t i = 0; i < 30; ++i) {
    superlu.given.p[m.given.p[i] - 1] = static_cast<std::int64_t>(i);
    superlu.given.q[m.given.q[i] - 1] = static_cast<std::int64_t>(i);
  }
  EXPECT_EQ(judged(superlu).convention, Convention::superlu);
  EXPECT_TRUE(judged(superlu).accepted);
  EXPECT_EQ(fault_of(judged(superlu, as(Convention::klu))), "row_permutation");
  Made matlab = m;
  for (double& r : matlab.given.r) r = 1 / r;
  EXPECT_EQ(judged(matlab).convention, Convention::matlab);
  EXPECT_TRUE(judged(matlab).accepted);
  Made klu = m;
  for (std::size_t i = 0; i < 30; ++i) klu.given.r[i] = 1 / m.given.r[m.given.p[i] - 1];
  EXPECT_EQ(judged(klu).convention, Convention::klu);
  EXPECT_TRUE(judged(klu).accepted);
  EXPECT_EQ(fault_of(judged(klu, as(Convention::lulab))), "scaling");
  for (const char* name : {"auto", "lulab", "klu", "superlu", "scipy", "eigen", "umfpack", "matlab", "lapack-ipiv"}) {
    ASSERT_TRUE(convention_named(name)) << name;
    EXPECT_EQ(to_string(*convention_named(name)), name);
  }
  EXPECT_FALSE(convention_named("mumps"));
}

TEST(Foreign, InvertedOrdersAreNamed) {
  Made m = made(30, 0.1, 9);
  for (auto [order, fault] : {std::pair{&m.given.p, "row_permutation"}, std::pair{&m.given.q, "column_permutation"}}) {
    const std::vector<std::int64_t> right = *order;
    for (std::size_t i = 0; i < right.size(); ++i) (*order)[right[i] - 1] = static_cast<std::int64_t>(i) + 1;
    const Judgement bad = judged(m, as(Convention::lulab));
    EXPECT_EQ(fault_of(bad), fault);
    EXPECT_NE(bad.finding->what.find("is inverted"), std::string::npos) << bad.finding->what;
    *order = right;
  }
}

TEST(Foreign, PackedFactorsAreTakenApart) {
  Made m = made(20, 0.2, 11);
  CscMatrix<double> packed;
  packed.n_rows = packed.n_cols = 20;
  packed.col_ptr = m.f.filled.col_ptr;
  packed.row_idx.assign(m.f.filled.row_idx.begin(), m.f.filled.row_idx.end());
  packed.values = m.f.values;
  m.given.l = m.given.u = packed;
  EXPECT_TRUE(judged(m, as(Convention::lulab)).accepted);
}

TEST(Foreign, SolutionsAreJudged) {
  Made m = made(25, 0.2, 13);
  JudgeOptions options = as(Convention::lulab);
  std::vector<double> right(25), b(25), bt(25);
  for (std::int32_t i = 0; i < 25; ++i) right[i] = 1 + 0.1 * (i * 7 % 5);
  multiply<double>(m.a, right, b);
  multiply<double>(transpose(m.a.view()), right, bt);
  options.x = right;
  options.b = b;
  EXPECT_TRUE(judged(m, options).accepted);
  options.b = bt;
  Judgement bad = judged(m, options);
  EXPECT_EQ(fault_of(bad), "solution");
  EXPECT_NE(bad.finding->what.find("A^T"), std::string::npos) << bad.finding->what;
  options.b = b;
  for (std::int32_t j = 0; j < 25; ++j) options.x[j] = right[m.f.plan.q[j]];
  bad = judged(m, options);
  EXPECT_NE(bad.finding->what.find("another order"), std::string::npos) << bad.finding->what;
  for (std::int32_t j = 0; j < 25; ++j) options.x[j] = right[j] / m.f.plan.c[j];
  bad = judged(m, options);
  EXPECT_NE(bad.finding->what.find("scaled by c"), std::string::npos) << bad.finding->what;
  options.x[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(fault_of(judged(m, options)), "solution");
}

TEST(Foreign, TheToleranceIsTheLimit) {
  Made m = made(40, 0.1, 15);
  for (double& v : m.given.u.values) v = static_cast<float>(v);
  JudgeOptions options = as(Convention::lulab);
  EXPECT_EQ(fault_of(judged(m, options)), "rounding");
  options.tolerance = 30 * 0x1p29;
  EXPECT_TRUE(judged(m, options).accepted);
}

TEST(Foreign, EachReportedLimitIsWhatWasJudged) {
  Made m = made(30, 0.1, 17);
  m.given.u.values[40] *= 1.5;
  const Judgement bad = judged(m, as(Convention::lulab));
  std::size_t failed = 0;
  for (const JudgedCheck& c : bad.checks) {
    if (c.result == JudgedCheck::Result::failed) ++failed;
    if (!c.question && !std::isnan(c.limit)) {
      EXPECT_EQ(c.result == JudgedCheck::Result::failed, !(c.value <= c.limit)) << c.name;
    }
    EXPECT_FALSE(c.formula.empty());
  }
  EXPECT_GE(failed, 2u);
  const nlohmann::json json = to_json(bad);
  EXPECT_EQ(json.at("status"), "failed");
  EXPECT_EQ(json.at("checks").size(), bad.checks.size());
  EXPECT_EQ(json.at("finding").at("row"), bad.finding->row + 1);
  EXPECT_EQ(json.at("finding").at("window").at("lu").size(), 6u);
}

TEST(Foreign, RefusesSizesThatDoNotFit) {
  const auto refused = [](auto&& spoil) {
    Made m = made(10, 0.3, 1);
    JudgeOptions options;
    spoil(m, options);
    const auto result = judge_foreign(m.a, m.given, options);
    return !result.ok() && result.status().code == StatusCode::invalid_argument;
  };
  EXPECT_TRUE(refused([](Made& m, JudgeOptions&) { m.given.p.pop_back(); }));
  EXPECT_TRUE(refused([](Made& m, JudgeOptions&) { m.given.c.push_back(1); }));
  EXPECT_TRUE(refused([](Made& m, JudgeOptions&) { m.given.l.row_idx[2] = 10; }));
  EXPECT_TRUE(refused([](Made& m, JudgeOptions&) { m.given.u.values.pop_back(); }));
  EXPECT_TRUE(refused([](Made& m, JudgeOptions&) { m.given.f = CscMatrix<double>{{3, 3, {0, 0, 0, 0}, {}}, {}}; }));
  EXPECT_TRUE(refused([](Made& m, JudgeOptions&) { m.a.n_rows = 9; }));
  EXPECT_TRUE(refused([](Made&, JudgeOptions& o) { o.b.assign(10, 1); }));
  EXPECT_TRUE(refused([](Made&, JudgeOptions& o) { o.tolerance = 0; }));
  EXPECT_TRUE(refused([](Made&, JudgeOptions& o) { o.index_base = 3; }));
}

}  // namespace
}  // namespace lulab
