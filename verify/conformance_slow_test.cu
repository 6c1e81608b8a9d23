// Every rung on every test matrix with other values than in conformance_test.*, and GPU rungs in all sizes, of which
// conformance_test.cu leaves large ones out in the simulator.

#include "testing/conformance_cases.h"
#include "testing/device.h"

namespace lulab::testing {
namespace {

class CpuRungWithOtherValues : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(CpuRungWithOtherValues, AnswersRightOnEveryTestMatrix) {
  for (std::uint64_t seed = 2; seed <= 40; ++seed) expect_answers(GetParam(), seed);
}

INSTANTIATE_TEST_SUITE_P(Conformance, CpuRungWithOtherValues, ::testing::ValuesIn(conformance_cases(Device::cpu, 120)),
                         name_of);

class GpuRungInAllSizes : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(GpuRungInAllSizes, AnswersRightOnEveryTestMatrix) {
  LULAB_NEED_DEVICE();
  expect_answers(GetParam(), 2, Sizes::all);
}

INSTANTIATE_TEST_SUITE_P(Conformance, GpuRungInAllSizes, ::testing::ValuesIn(conformance_cases(Device::gpu, 60)),
                         name_of);

}  // namespace
}  // namespace lulab::testing
