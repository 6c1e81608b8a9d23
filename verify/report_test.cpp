// What JSON readers are promised.

#include "verify/report.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lulab {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(ReportJson, NumbersThatJsonLacksAreStrings) {
  EXPECT_EQ(json_number(0.25), 0.25);
  EXPECT_EQ(json_number(infinity), "inf");
  EXPECT_EQ(json_number(-infinity), "-inf");
  EXPECT_EQ(json_number(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(ReportJson, AnyLooksForAVerdict) {
  MatrixReport report;
  EXPECT_FALSE(report.any(Verdict::ok));
  report.rungs.resize(2);
  report.rungs[1].verdict = Verdict::ok;
  EXPECT_TRUE(report.any(Verdict::ok));
  EXPECT_TRUE(report.any(Verdict::skipped));
  EXPECT_FALSE(report.any(Verdict::failed));
  EXPECT_FALSE(report.failed());
  report.klu_blocks_equal = false;
  EXPECT_TRUE(report.failed());
  report.klu_blocks_equal = true;
  report.rungs[0].verdict = Verdict::failed;
  EXPECT_TRUE(report.failed());
}

TEST(ReportJson, WhatWasNotMeasuredIsNull) {
  const nlohmann::json checks = to_json(Checks{});
  for (const auto& [key, value] : checks.items()) {
    const bool always =
        key == "eps" || key == "lu_residual_method" || key == "refinement_steps" || key == "note" || key == "failures";
    EXPECT_EQ(value.is_null(), !always) << key;
  }
}

TEST(ReportJson, EveryCheckStandsUnderItsName) {
  Checks c;
  c.finite = true;
  c.permutations = false;
  c.scalings = true;
  c.structure = false;
  c.pattern_contains_a = true;
  c.klu_pattern_equal = false;
  c.lu_residual = 1;
  c.scaled_residual = 2;
  c.solve_residual = 3;
  c.hpl_residual = 4;
  c.backward_error = 5;
  c.omega = 6;
  c.omega1 = 7;
  c.omega2 = 8;
  c.forward_error = 9;
  c.first_backward_error = 10;
  c.growth = infinity;
  c.rcond = 12;
  c.rcond_scaled = 13;
  c.eps = 0.5;
  c.lu_residual_method = "by hand";
  c.refinement_steps = 14;
  c.note = "none";
  c.failures = {"one", "two"};
  EXPECT_EQ(to_json(c), nlohmann::json::parse(R"({
    "finite": true, "permutations": false, "scalings": true, "structure": false, "pattern_contains_a": true,
    "klu_pattern_equal": false, "lu_residual": 1.0, "scaled_residual": 2.0, "solve_residual": 3.0,
    "hpl_residual": 4.0, "backward_error": 5.0, "omega": 6.0, "omega1": 7.0, "omega2": 8.0, "forward_error": 9.0,
    "first_backward_error": 10.0, "growth": "inf", "rcond": 12.0, "rcond_scaled": 13.0, "eps": 0.5,
    "lu_residual_method": "by hand", "refinement_steps": 14, "note": "none", "failures": ["one", "two"]})"));
}

TEST(ReportJson, AMatrixHasItsRungsAndThoseThatWereChosenSayWhy) {
  MatrixReport m;
  m.matrix = "a.mtx";
  m.n = 3;
  m.nnz = 7;
  m.message = "equal";
  m.klu_blocks_equal = true;
  m.rungs.resize(2);
  m.rungs[0].id = "x";
  m.rungs[0].verdict = Verdict::needs_repivot;
  m.rungs[0].scalar = "f32";
  m.rungs[0].device = "cpu";
  m.rungs[0].message = "why";
  m.rungs[0].time_ms = 1.5;
  m.rungs[0].repivots = 2;
  m.rungs[1].id = "auto";
  m.rungs[1].verdict = Verdict::ok;
  m.rungs[1].chosen_rung = "y";
  m.rungs[1].choice_reason = "fast";
  auto j = to_json(m);
  for (auto& rung : j.at("rungs")) EXPECT_EQ(rung.at("checks"), to_json(Checks{}));
  for (auto& rung : j.at("rungs")) rung.erase("checks");
  EXPECT_EQ(j, nlohmann::json::parse(R"({
    "matrix": "a.mtx", "n": 3, "nnz": 7, "status": "ok", "message": "equal", "klu_blocks_equal": true, "rungs": [
      {"id": "x", "status": "needs_repivot", "scalar": "f32", "device": "cpu", "time_ms": 1.5, "repivots": 2,
       "message": "why"},
      {"id": "auto", "status": "ok", "scalar": "", "device": "", "time_ms": 0.0, "repivots": 0, "message": "",
       "chosen_rung": "y", "choice_reason": "fast"}]})"));
  m.status = Status::error(StatusCode::invalid_argument, "not square");
  EXPECT_EQ(to_json(m).at("status"), "invalid_argument");
  EXPECT_EQ(to_json(m).at("message"), m.status.to_string());
}

}  // namespace
}  // namespace lulab
