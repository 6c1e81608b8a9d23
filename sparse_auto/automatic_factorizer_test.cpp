// Every call goes to the factorizer that was chosen, and what it answers comes back.

#include "sparse_auto/automatic_factorizer.h"

#include <limits>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "sparse_auto/rungs.h"

namespace lulab::sparse_auto {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// What the fakes were asked, and what they shall answer.
struct Script {
  std::vector<std::string> calls;
  std::map<std::string, StatusCode> errors;  // by call
};
Script script;

Status answer(const std::string& call) {
  script.calls.push_back(call);
  const auto error = script.errors.find(call);
  return error == script.errors.end() ? Status{} : Status::error(error->second, "scripted error of " + call);
}

const double fake_array = 7;
simt::Stream* fake_stream() { return reinterpret_cast<simt::Stream*>(&script); }  // nobody looks into it

template <bool on_gpu>
class Fake final : public Factorizer<double> {
 public:
  static std::string name(const char* call) { return std::string(on_gpu ? "gpu " : "cpu ") + call; }
  Status analyze(const Analysis&) override { return answer(name("analyze")); }
  Status upload(std::span<const double> values) override {
    values_.assign(values.begin(), values.end());
    return answer(name("upload"));
  }
  Status factor() override { return answer(name("factor")); }
  Status refactor() override { return answer(name("refactor")); }
  Status wait() override { return answer(name("wait")); }
  Result<Factors<double>> download() override {
    if (Status s = answer(name("download")); !s.ok()) return s;
    Factors<double> factors;
    factors.values = values_;
    return factors;
  }
  Status download_values(std::span<double> values) override {
    std::copy(values_.begin(), values_.end(), values.begin());
    return answer(name("download_values"));
  }
  Statistics statistics() const override {
    Statistics s;
    s.perturbed_pivots = on_gpu ? 11 : 22;
    return s;
  }
  DeviceArrays<double> device_arrays() const override {
    return on_gpu ? DeviceArrays<double>{&fake_array, nullptr} : DeviceArrays<double>{};
  }
  simt::Stream* stream() override { return on_gpu ? fake_stream() : nullptr; }

 private:
  std::vector<double> values_;
};

template <bool on_gpu>
std::unique_ptr<Factorizer<double>> make(const FactorOptions&) {
  return std::make_unique<Fake<on_gpu>>();
}
Rung named(std::string_view id, std::unique_ptr<Factorizer<double>> (*made_by)(const FactorOptions&)) {
  Rung rung;
  rung.facts.id = id;
  rung.make_double = made_by;
  return rung;
}
const Rung cpu = named("test/cpu", make<false>), gpu = named("test/gpu", make<true>);
constexpr Candidates candidates = {.cpu = &cpu, .gpu = &gpu};

Prospects cpu_wins(const FilledPattern&, int) { return {.cpu_us = 1, .gpu_us = 2}; }
Prospects gpu_wins(const FilledPattern&, int) { return {.cpu_us = 2, .gpu_us = 1}; }

class AutomaticFactorizerTest : public ::testing::Test {
 protected:
  void SetUp() override { script = {}; }
  Analysis analysis_;
};

TEST_F(AutomaticFactorizerTest, PassesEveryCallOn) {
  for (const bool on_gpu : {false, true}) {
    script = {};
    const std::string who = on_gpu ? "gpu " : "cpu ";
    AutomaticFactorizer<double> f(candidates, {}, on_gpu ? gpu_wins : cpu_wins);
    EXPECT_EQ(f.choice(), nullptr);
    EXPECT_EQ(f.stream(), nullptr);
    ASSERT_TRUE(f.analyze(analysis_).ok());
    ASSERT_NE(f.choice(), nullptr);
    EXPECT_EQ(f.choice()->rung, on_gpu ? &gpu : &cpu);
    EXPECT_FALSE(f.choice()->reason.empty());
    const std::vector<double> values = {1.5, -2.5, 3.5};
    EXPECT_TRUE(f.upload(values).ok());
    EXPECT_TRUE(f.factor().ok());
    EXPECT_TRUE(f.refactor().ok());
    EXPECT_TRUE(f.wait().ok());
    const auto factors = f.download();
    ASSERT_TRUE(factors.ok());
    EXPECT_EQ(factors->values, values);
    std::vector<double> alone(3, nan);
    EXPECT_TRUE(f.download_values(alone).ok());
    EXPECT_EQ(alone, values);
    EXPECT_EQ(f.statistics().perturbed_pivots, on_gpu ? 11 : 22);
    EXPECT_EQ(f.device_arrays().a, on_gpu ? &fake_array : nullptr);
    EXPECT_EQ(f.stream(), on_gpu ? fake_stream() : nullptr);
    EXPECT_EQ(script.calls, (std::vector<std::string>{who + "analyze", who + "upload", who + "factor", who + "refactor",
                                                      who + "wait", who + "download", who + "download_values"}));
  }
}

TEST_F(AutomaticFactorizerTest, PassesErrorsOn) {
  AutomaticFactorizer<double> f(candidates, {}, gpu_wins);
  ASSERT_TRUE(f.analyze(analysis_).ok());
  std::vector<double> values(2, nan);
  const auto expect = [&](const char* call, auto run) {
    script.errors = {{std::string("gpu ") + call, StatusCode::needs_repivot}};
    EXPECT_EQ(run().code, StatusCode::needs_repivot) << call;
    script.errors.clear();
    EXPECT_TRUE(run().ok()) << call;
  };
  expect("upload", [&] { return f.upload(values); });
  expect("factor", [&] { return f.factor(); });
  expect("refactor", [&] { return f.refactor(); });
  expect("wait", [&] { return f.wait(); });
  expect("download", [&] { return f.download().status(); });
  expect("download_values", [&] { return f.download_values(values); });
}

TEST_F(AutomaticFactorizerTest, FallsBackWhereTheGpuHasNoRoom) {
  for (const StatusCode code : {StatusCode::out_of_memory, StatusCode::device_error}) {
    script = {{}, {{"gpu analyze", code}}};
    AutomaticFactorizer<double> f(candidates, {}, gpu_wins);
    ASSERT_TRUE(f.analyze(analysis_).ok());
    EXPECT_EQ(script.calls, (std::vector<std::string>{"gpu analyze", "cpu analyze"}));
    ASSERT_NE(f.choice(), nullptr);
    EXPECT_EQ(f.choice()->rung, &cpu);
    EXPECT_NE(f.choice()->reason.find("scripted error of gpu analyze"), std::string::npos) << f.choice()->reason;
    EXPECT_EQ(f.stream(), nullptr);
    script.errors.clear();  // the next pattern may fit
    ASSERT_TRUE(f.analyze(analysis_).ok());
    EXPECT_EQ(f.choice()->rung, &gpu);
  }
}

TEST_F(AutomaticFactorizerTest, OtherErrorsOfAnalyzeAreAnsweredAndLeaveNothingBehind) {
  for (const bool on_gpu : {false, true}) {
    const std::string call = on_gpu ? "gpu analyze" : "cpu analyze";
    script = {};
    AutomaticFactorizer<double> f(candidates, {}, on_gpu ? gpu_wins : cpu_wins);
    ASSERT_TRUE(f.analyze(analysis_).ok());
    script = {{}, {{call, on_gpu ? StatusCode::invalid_argument : StatusCode::out_of_memory}}};
    EXPECT_EQ(f.analyze(analysis_).code, script.errors[call]);
    EXPECT_EQ(script.calls, std::vector<std::string>{call});
    EXPECT_EQ(f.choice(), nullptr);
    EXPECT_EQ(f.factor().code, StatusCode::invalid_argument);
  }
}

TEST_F(AutomaticFactorizerTest, NothingRunsBeforeAnalyze) {
  AutomaticFactorizer<double> f(candidates, {}, gpu_wins);
  std::vector<double> values(2, nan);
  EXPECT_EQ(f.upload(values).code, StatusCode::invalid_argument);
  EXPECT_EQ(f.factor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.refactor().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.download().status().code, StatusCode::invalid_argument);
  EXPECT_EQ(f.download_values(values).code, StatusCode::invalid_argument);
  EXPECT_EQ(f.statistics().perturbed_pivots, 0);
  EXPECT_EQ(f.device_arrays().lu, nullptr);
  EXPECT_TRUE(script.calls.empty());
}

TEST(Automatic, ChecksItsOptions) {
  const auto f = automatic.make<double>({.perturb_pivots = -1});
  EXPECT_EQ(f->analyze(Analysis{}).code, StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab::sparse_auto
