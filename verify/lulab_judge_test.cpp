#include "verify/lulab_judge.h"

#include <clocale>
#include <cstring>

#include <gtest/gtest.h>

#include "testing/dense_elimination.h"
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
  EXPECT_TRUE(refused([](Arrays& s) { s.input.l.col_ptr = nullptr; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.u.values = nullptr; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.input.x = s.r.data(); }));  // x without b
  EXPECT_TRUE(refused([](Arrays& s) { s.l.row_idx[1] = 1 << 30; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.u.row_idx[4] = -7; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.a.row_idx[1] = s.a.row_idx[0]; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.l.col_ptr[5] = -3; }));
  EXPECT_TRUE(refused([](Arrays& s) { s.l.col_ptr[5] = std::int64_t{1} << 60; }));
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
