// Every GPU rung of the registry on every generated family; in the simulator under several schedules.

#include "testing/conformance_cases.h"
#include "testing/device.h"

namespace lulab::testing {
namespace {

class GpuRung : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(GpuRung, Conforms) {
  LULAB_NEED_DEVICE();
  const int schedules = simt::machine() == simt::Machine::gpu || simt::instrumented ? 1 : 3;
  for_each_matrix(GetParam(), [&](const ConformanceMatrix& matrix) {
    for (const std::uint64_t seed : simt::schedule_seeds(schedules)) {
      simt::SimulatorOptions options;
      options.seed = seed;
      options.resident_blocks = seed == 3 ? 1 : 0;  // and with as little of the grid alive as can be
      const simt::SimulatorScope scope(options);
      expect_conformance(GetParam(), matrix, seed);
    }
  });
}

TEST_P(GpuRung, AnswersRightOnEveryTestMatrix) {
  LULAB_NEED_DEVICE();
  expect_answers(GetParam(), 1);
}

TEST_P(GpuRung, KeepsMetamorphicProperties) {
  LULAB_NEED_DEVICE();
  const bool small = simt::race_detection || is_slow_here(*GetParam().rung);
  for (const ConformanceMatrix& matrix : relation_matrices(small ? 13 : 33)) {
    SCOPED_TRACE(matrix.family);
    expect_relations(GetParam(), matrix, {.repeats = simt::instrumented ? 2 : 50});
  }
}

// The suite must be able to find a race: a rung that is known to have one fails it under some schedule.
TEST(FaultyRung, FailsTheSuiteUnderSomeSchedule) {
  LULAB_NEED_SIMULATOR();
  if (simt::race_detection) GTEST_SKIP() << "ThreadSanitizer would report the race, as it should";
  int faulty = 0;
  for (const Rung* rung : every_rung()) {
    if (rung->facts.fault.empty()) continue;
    ++faulty;
    const auto found = find_rung(all_rungs(), rung->facts.id);
    EXPECT_EQ(found.status().code, StatusCode::invalid_argument) << rung->facts.id << " runs where no rung is named";
    GenerateOptions options;
    options.n = 60;
    const auto a = generate("random_dominant", options);
    LULAB_ASSERT_OK(a);
    const auto sound = find_rung(all_rungs(), "sparse_hybrid/02_glu2");  // the same but for the race
    LULAB_ASSERT_OK(sound);
    std::size_t failures = 0;
    for (int seed = 1; seed <= 20 && failures == 0; ++seed) {
      const simt::SimulatorScope scope({.seed = static_cast<std::uint64_t>(seed)});
      failures = conformance_failures<double>(*rung, *a, seed).size();
      EXPECT_TRUE(conformance_failures<double>(**sound, *a, seed).empty());
    }
    EXPECT_GT(failures, 0u) << rung->facts.id;
  }
  EXPECT_GT(faulty, 0);
}

INSTANTIATE_TEST_SUITE_P(Conformance, GpuRung, ::testing::ValuesIn(conformance_cases(Device::gpu, 60)), name_of);

}  // namespace
}  // namespace lulab::testing
