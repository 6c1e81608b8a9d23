#include "verify/lulab_judge.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/dense_elimination.h"
#include "testing/read_only.h"
#include "verify/foreign.h"

namespace lulab {
namespace {

// Factors of a small matrix, in arrays that live as long as the struct.
struct Arrays {
  CscMatrix<double> a, l, u;
  std::vector<std::int64_t> p, q;
  std::vector<double> r, c;
  lulab_judge_input input;
  lulab_judge_report report;

  explicit Arrays(std::int32_t n = 20) {
    a = testing::random_dominant(n, 0.2, 3);
    const auto f = testing::eliminate_densely<double>(a, testing::random_plan(n, 3));
    l = extract_l(f);
    u = extract_u(f);
    p.assign(f.plan.p.begin(), f.plan.p.end());
    q.assign(f.plan.q.begin(), f.plan.q.end());
    r = f.plan.r;
    c = f.plan.c;
    lulab_judge_init(&input, sizeof input, &report, sizeof report);
    input.n = n;
    input.convention = LULAB_JUDGE_LULAB;
    input.order_base = 0;
    input.a = {a.col_ptr.data(), a.row_idx.data(), a.values.data()};
    input.l = {l.col_ptr.data(), l.row_idx.data(), l.values.data()};
    input.u = {u.col_ptr.data(), u.row_idx.data(), u.values.data()};
    input.p = p.data();
    input.q = q.data();
    input.r = r.data();
    input.c = c.data();
  }
  int judge() { return lulab_judge(&input, &report); }
};

TEST(JudgeInC, AcceptsRightFactors) {
  Arrays s;
  ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);
  EXPECT_EQ(s.report.accepted, 1) << s.report.what;
  EXPECT_EQ(s.report.fault, LULAB_FAULT_NONE);
  EXPECT_EQ(s.report.row, -1);
  EXPECT_EQ(s.report.what[0], 0);
  ASSERT_GT(s.report.check_count, 15);
  for (int i = 0; i < s.report.check_count; ++i) EXPECT_NE(s.report.checks[i].verdict, LULAB_CHECK_FAILED);
  s.input.convention = LULAB_JUDGE_AUTO;
  s.input.order_base = -1;
  ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);
  EXPECT_EQ(s.report.accepted, 1);
}

TEST(JudgeInC, SaysWhatAndWhere) {
  Arrays s;
  const std::int64_t at = s.u.col_ptr[12];  // a first entry of a column of U
  s.u.values[at] += 0.5;
  ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);
  EXPECT_EQ(s.report.accepted, 0);
  EXPECT_STREQ(lulab_judge_fault_name(s.report.fault), "wrong_value");
  EXPECT_EQ(s.report.row, s.u.row_idx[at]);
  EXPECT_EQ(s.report.column, 12);
  EXPECT_EQ(s.report.found, s.u.values[at]);
  EXPECT_NEAR(s.report.wanted, s.u.values[at] - 0.5, 1e-12);
  EXPECT_EQ(s.report.window_rows, 6);
  EXPECT_GT(std::strlen(s.report.advice), 0u);
}

TEST(JudgeInC, IndicesMayCountFromOneAndRowsComeInAnyOrder) {
  Arrays s;
  for (CscMatrix<double>* m : {&s.a, &s.l, &s.u}) {
    for (std::int32_t j = 0; j < m->n_cols; ++j) {
      std::reverse(m->row_idx.begin() + m->col_ptr[j], m->row_idx.begin() + m->col_ptr[j + 1]);
      std::reverse(m->values.begin() + m->col_ptr[j], m->values.begin() + m->col_ptr[j + 1]);
    }
    for (auto& v : m->col_ptr) ++v;
    for (auto& v : m->row_idx) ++v;
  }
  EXPECT_EQ(s.judge(), LULAB_JUDGE_BAD_INPUT);
  EXPECT_NE(std::strstr(s.report.what, "index_base"), nullptr) << s.report.what;
  s.input.index_base = 1;
  ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);
  EXPECT_EQ(s.report.accepted, 1) << s.report.what;
}

TEST(JudgeInC, RefusesWhatIsNoInput) {
  const auto refused = [](auto&& spoil) {
    Arrays s;
    spoil(s);
    return s.judge() == LULAB_JUDGE_BAD_INPUT;
  };
  EXPECT_EQ(lulab_judge(nullptr, nullptr), LULAB_JUDGE_BAD_INPUT);
  EXPECT_TRUE(refused([](Arrays& s) { s.input.size = 8; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.report.size = 8; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.n = -1; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.convention = 77; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.index_base = 2; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.order_base = 5; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.tolerance = -1; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.tolerance = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.l.col_ptr = nullptr; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.u.values = nullptr; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.x = s.r.data(); }));  // x without b
  EXPECT_TRUE(refused([](Arrays& s) { s.l.row_idx[1] = 1 << 30; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.u.row_idx[4] = -7; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.a.row_idx[1] = s.a.row_idx[0]; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.l.col_ptr[5] = -3; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.l.col_ptr[5] = std::int64_t{1} << 60; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.a.col_ptr[20] = std::numeric_limits<std::int64_t>::min(); }));
}

TEST(JudgeInC, NumbersThatAreNotFiniteAndSingularFactorsAreFaults) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (int which = 0; which < 6; ++which) {
      Arrays s;
      std::vector<double> x(20, 1.0), b(20, 1.0);
      s.input.x = x.data(), s.input.b = b.data();
      std::vector<double>* const all[] = {&s.a.values, &s.l.values, &s.u.values, &s.r, &s.c, &x};
      all[which]->at(7) = bad;
      const int code = s.judge();
      EXPECT_TRUE(code == LULAB_JUDGE_BAD_INPUT || (code == LULAB_JUDGE_OK && s.report.fault != LULAB_FAULT_NONE));
      EXPECT_EQ(s.report.accepted, 0) << which;
      EXPECT_NE(s.report.what[0], 0) << which;
    }
  Arrays s;
  s.u.values[s.u.col_ptr[8] - 1] = 0;  // a pivot
  EXPECT_EQ(s.judge(), LULAB_JUDGE_OK);
  EXPECT_EQ(s.report.accepted, 0);
  EXPECT_EQ(s.report.fault, LULAB_FAULT_ZERO_PIVOT) << s.report.what;
}

TEST(JudgeInC, OnlyReadsWhatItIsGiven) {
  Arrays s;
  const testing::ReadOnly col_ptr(s.a.col_ptr);
  const testing::ReadOnly row_idx(s.a.row_idx);
  const testing::ReadOnly values(s.a.values), r(s.r), c(s.c);
  const testing::ReadOnly p(s.p), q(s.q);
  s.input.a = {col_ptr.data(), row_idx.data(), values.data()};
  s.input.p = p.data(), s.input.q = q.data(), s.input.r = r.data(), s.input.c = c.data();
  ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);
  EXPECT_EQ(s.report.accepted, 1) << s.report.what;
}

TEST(JudgeInC, NumbersAtTheEndsOfTheirTypeAreNoPermutation) {
  for (const std::int64_t end : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    for (int convention = LULAB_JUDGE_AUTO; convention <= LULAB_JUDGE_LAPACK_IPIV; ++convention)
      for (const int base : {-1, 0, 1})
        for (const std::int32_t n : {1, 20}) {
          Arrays s(n);
          s.p.back() = end;
          s.input.convention = convention;
          s.input.order_base = base;
          ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);
          EXPECT_EQ(s.report.accepted, 0);
          s.p.swap(s.q);
          ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);
          EXPECT_EQ(s.report.accepted, 0);
        }
}

// The report says all that the judge in C++ says of the same input, in both directions of yes and no.
TEST(JudgeInC, TheReportIsThatOfTheJudge) {
  for (const char* spoilt : {"nothing", "a value of U", "the diagonal of L", "r", "p", "the last value of L", "x"}) {
    SCOPED_TRACE(spoilt);
    Arrays s;
    const std::string what = spoilt;
    std::vector<double> x(20, 1.0), b(20, 0.0);
    multiply<double>(s.a, x, b);
    if (what == "a value of U") s.u.values[s.u.col_ptr[12]] += 0.5;
    if (what == "the diagonal of L") s.l.values[0] = 2;
    if (what == "r") s.r[3] *= 4;
    if (what == "p") std::swap(s.p[2], s.p[7]);
    if (what == "the last value of L") s.l.values[s.l.nnz() - 2] += 0.25;
    if (what == "x") x[4] += 1;
    s.input.x = x.data();
    s.input.b = b.data();
    s.input.seed = 5;
    ASSERT_EQ(s.judge(), LULAB_JUDGE_OK);

    ForeignFactors given;
    given.l = s.l;
    given.u = s.u;
    given.p = s.p;
    given.q = s.q;
    given.r = s.r;
    given.c = s.c;
    JudgeOptions options;
    options.convention = Convention::lulab;
    options.index_base = 0;
    options.seed = 5;
    options.x = x;
    options.b = b;
    const auto judged = judge_foreign(s.a, given, options);
    ASSERT_TRUE(judged.ok()) << judged.status().to_string();
    const lulab_judge_report& report = s.report;
    EXPECT_EQ(report.accepted, judged->accepted);
    EXPECT_EQ(judged->accepted, what == "nothing");
    EXPECT_EQ(report.convention, LULAB_JUDGE_LULAB);
    ASSERT_EQ(report.check_count, static_cast<int>(judged->checks.size()));
    for (int k = 0; k < report.check_count; ++k) {
      const JudgedCheck& check = judged->checks[k];
      SCOPED_TRACE(check.name);
      EXPECT_EQ(report.checks[k].name, check.name);
      EXPECT_EQ(report.checks[k].formula, check.formula);
      EXPECT_TRUE(report.checks[k].value == check.value ||
                  (std::isnan(report.checks[k].value) && std::isnan(check.value)));
      EXPECT_TRUE(report.checks[k].limit == check.limit ||
                  (std::isnan(report.checks[k].limit) && std::isnan(check.limit)));
      EXPECT_EQ(report.checks[k].verdict, check.result == JudgedCheck::Result::failed   ? LULAB_CHECK_FAILED
                                          : check.result == JudgedCheck::Result::passed ? LULAB_CHECK_PASSED
                                                                                        : LULAB_CHECK_REPORTED);
    }
    const Finding none, &finding = judged->finding ? *judged->finding : none;
    EXPECT_EQ(report.fault, static_cast<int>(finding.fault));
    EXPECT_EQ(report.what, finding.what);
    EXPECT_EQ(report.advice, finding.advice);
    EXPECT_EQ(report.row, finding.row);
    EXPECT_EQ(report.column, finding.column);
    EXPECT_EQ(report.found, finding.found);
    EXPECT_EQ(report.wanted, finding.wanted);
    const Window empty, &window = finding.window ? *finding.window : empty;
    EXPECT_EQ(report.window_rows, window.rows);
    EXPECT_EQ(report.window_columns, window.columns);
    EXPECT_EQ(report.window_row, finding.window ? window.row : 0);
    EXPECT_EQ(report.window_column, finding.window ? window.column : 0);
    for (std::size_t k = 0; k < std::size(report.window_wanted); ++k) {
      EXPECT_EQ(report.window_wanted[k], finding.window ? window.wanted[k] : 0) << k;
      EXPECT_EQ(report.window_found[k], finding.window ? window.found[k] : 0) << k;
    }
  }
}

TEST(JudgeInC, SaysWhichPartOfTheInputIsNone) {
  const auto said = [](auto&& spoil) {
    Arrays s;
    spoil(s);
    EXPECT_EQ(s.judge(), LULAB_JUDGE_BAD_INPUT);
    EXPECT_EQ(s.report.accepted, 0);
    return std::string(s.report.what);
  };
  EXPECT_EQ(said([](Arrays& s) { s.input.n = -1; }), "n = -1 is negative");
  EXPECT_EQ(said([](Arrays& s) { s.input.convention = -1; }), "there is no convention -1");
  EXPECT_EQ(said([](Arrays& s) { s.input.convention = 9; }), "there is no convention 9");
  EXPECT_EQ(said([](Arrays& s) { s.input.index_base = -1; }), "index_base is neither 0 nor 1");
  EXPECT_EQ(said([](Arrays& s) { s.input.a.col_ptr = nullptr; }), "A: col_ptr is null");
  EXPECT_EQ(said([](Arrays& s) { s.input.l.row_idx = nullptr; }), "L: row_idx or values is null");
  EXPECT_EQ(said([](Arrays& s) { s.input.u.values = nullptr; }), "U: row_idx or values is null");
  EXPECT_EQ(said([](Arrays& s) { s.input.index_base = 1; }), "A: col_ptr begins with 0, expected 1; see index_base");
  EXPECT_EQ(said([](Arrays& s) { s.u.row_idx[0] = 20; }), "U: row 20 in column 0 is not in 0..19; see index_base");
  EXPECT_EQ(said([](Arrays& s) { s.u.row_idx[0] = -1; }), "U: row -1 in column 0 is not in 0..19; see index_base");
  EXPECT_EQ(said([](Arrays& s) { s.l.col_ptr[1] = -2; }), "L: column 1 has -2 entries");
  EXPECT_EQ(said([](Arrays& s) { s.l.col_ptr[1] = 21; }), "L: column 1 has 21 entries");
}

TEST(JudgeInC, WithoutValuesToReadThePointersMayBeNull) {
  const std::int64_t none[] = {0, 0};
  Arrays s(1);
  s.input.a = s.input.l = s.input.u = {none, nullptr, nullptr};
  EXPECT_EQ(s.judge(), LULAB_JUDGE_OK);
  EXPECT_EQ(s.report.accepted, 0);
}

TEST(JudgeInC, ToleranceIsTheLimitOfResidualsAndZeroIsTheUsual) {
  const auto limit = [](double tolerance) {
    Arrays s;
    s.input.tolerance = tolerance;
    EXPECT_EQ(s.judge(), LULAB_JUDGE_OK);
    for (int k = 0; k < s.report.check_count; ++k)
      if (std::strcmp(s.report.checks[k].name, "lu_residual") == 0) return s.report.checks[k].limit;
    return -1.0;
  };
  EXPECT_EQ(limit(0), 30);
  EXPECT_EQ(limit(7), 7);
}

TEST(JudgeInC, InitWritesTheDefaultsAndNoMoreThanItsSize) {
  struct {
    lulab_judge_input input;
    std::uint64_t later;
  } in;
  struct {
    lulab_judge_report report;
    std::uint64_t later;
  } out;
  std::memset(&in, 0xAA, sizeof in);
  std::memset(&out, 0xAA, sizeof out);
  const std::uint64_t untouched = in.later;
  lulab_judge_init(&in.input, sizeof in.input, &out.report, sizeof out.report);
  EXPECT_EQ(in.later, untouched);
  EXPECT_EQ(out.later, untouched);
  EXPECT_EQ(in.input.size, sizeof in.input);
  EXPECT_EQ(in.input.n, 0);
  EXPECT_EQ(in.input.order_base, -1);
  EXPECT_EQ(in.input.tolerance, 30);
  EXPECT_EQ(in.input.seed, 1u);
  EXPECT_EQ(in.input.b, nullptr);
  EXPECT_EQ(out.report.size, sizeof out.report);
  EXPECT_EQ(out.report.accepted, 0);
  EXPECT_EQ(out.report.window_found[35], 0);
  // Larger structs of a caller are set as a whole; where there is no room for `size`, nothing is set.
  lulab_judge_init(&in.input, sizeof in, &out.report, sizeof out);
  EXPECT_EQ(in.later, 0u);
  EXPECT_EQ(out.later, 0u);
  EXPECT_EQ(in.input.size, sizeof in);
  std::memset(&in, 0xAA, sizeof in);
  std::memset(&out, 0xAA, sizeof out);
  lulab_judge_init(&in.input, sizeof(std::size_t) - 1, &out.report, sizeof(std::size_t) - 1);
  EXPECT_EQ(in.input.size, untouched);
  EXPECT_EQ(out.report.size, untouched);
  lulab_judge_init(&in.input, sizeof(std::size_t), &out.report, sizeof(std::size_t));
  EXPECT_EQ(in.input.size, sizeof(std::size_t));
  EXPECT_EQ(out.report.size, sizeof(std::size_t));
  lulab_judge_init(nullptr, sizeof in.input, nullptr, sizeof out.report);
}

TEST(JudgeInC, PrintsNothingAndLeavesTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Arrays s;
  s.judge();
  s.u.values[0] = 0;
  s.judge();
  s.p[0] = 1000;
  s.judge();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), before);
}

TEST(JudgeInC, LeavesWhatLiesBehindALargerReport) {
  Arrays s;
  struct {
    lulab_judge_report known;
    int later;
  } report{{}, 42};
  report.known.size = sizeof report;
  EXPECT_EQ(lulab_judge(&s.input, &report.known), LULAB_JUDGE_OK);
  EXPECT_EQ(report.later, 42);
  EXPECT_EQ(report.known.size, sizeof report);
}

TEST(JudgeInC, NamesEveryNumber) {
  EXPECT_STREQ(lulab_judge_convention_name(LULAB_JUDGE_LAPACK_IPIV), "lapack-ipiv");
  EXPECT_STREQ(lulab_judge_fault_name(LULAB_FAULT_SOLUTION), "solution");
  EXPECT_STREQ(lulab_judge_fault_name(-1), "unknown");
  EXPECT_STREQ(lulab_judge_convention_name(99), "unknown");
}

TEST(JudgeInC, EmptyMatricesAreFactored) {
  const std::int64_t none = 0;
  lulab_judge_input input;
  static lulab_judge_report report;
  lulab_judge_init(&input, sizeof input, &report, sizeof report);
  input.a.col_ptr = input.l.col_ptr = input.u.col_ptr = &none;
  ASSERT_EQ(lulab_judge(&input, &report), LULAB_JUDGE_OK);
  EXPECT_EQ(report.accepted, 1) << report.what;
}

}  // namespace
}  // namespace lulab
