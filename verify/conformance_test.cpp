// Every CPU rung of the registry on every generated family.

#include "testing/conformance_cases.h"

namespace lulab::testing {
namespace {

class CpuRung : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(CpuRung, Conforms) {
  for (std::uint64_t seed : {1, 2}) expect_conformance(GetParam(), seed);
}

INSTANTIATE_TEST_SUITE_P(Registry, CpuRung, ::testing::ValuesIn(conformance_cases(Device::cpu, 120)), name_of);

}  // namespace
}  // namespace lulab::testing
