// Every GPU rung of the registry on every generated family; in the simulator under several schedules.

#include "core/simt/test_device.h"
#include "verify/conformance_cases_for_tests.h"

namespace lulab::testing {
namespace {

class GpuRung : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(GpuRung, Conforms) {
  LULAB_NEED_DEVICE();
  const int schedules = simt::machine() == simt::Machine::simulator ? 3 : 1;
  for (int seed = 1; seed <= schedules; ++seed) {
    simt::SimulatorOptions options;
    options.seed = seed;
    options.resident_blocks = seed == 3 ? 1 : 0;  // and with as little of the grid alive as can be
    const simt::SimulatorScope scope(options);
    expect_conformance(GetParam(), seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, GpuRung, ::testing::ValuesIn(conformance_cases(Device::gpu, 60)), name_of);

}  // namespace
}  // namespace lulab::testing
