// Every GPU rung on every test matrix in all sizes, with other values than in conformance_test.cu, which leaves large
// sizes out in the simulator.

#include "testing/conformance_cases.h"
#include "testing/device.h"

namespace lulab::testing {
namespace {

class GpuRungInAllSizes : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(GpuRungInAllSizes, AnswersRightOnEveryTestMatrix) {
  LULAB_NEED_DEVICE();
  expect_answers(GetParam(), 2, Sizes::all);
}

INSTANTIATE_TEST_SUITE_P(Conformance, GpuRungInAllSizes, ::testing::ValuesIn(conformance_cases(Device::gpu, 60)),
                         name_of);

}  // namespace
}  // namespace lulab::testing
