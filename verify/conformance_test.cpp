// Every CPU rung of the registry on every generated family.

#include "testing/conformance_cases.h"

namespace lulab::testing {
namespace {

class CpuRung : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(CpuRung, Conforms) {
  for_each_matrix(GetParam(), [](const ConformanceMatrix& matrix) {
    for (const std::uint64_t seed : {1, 2}) expect_conformance(GetParam(), matrix, seed);
  });
}

TEST_P(CpuRung, AnswersRightOnEveryTestMatrix) { expect_answers(GetParam(), 1); }

TEST_P(CpuRung, KeepsMetamorphicProperties) {
  for (const ConformanceMatrix& matrix : relation_matrices(65)) {
    SCOPED_TRACE(matrix.family);
    expect_relations(GetParam(), matrix, {});
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, CpuRung, ::testing::ValuesIn(conformance_cases(Device::cpu, 120)), name_of);

}  // namespace
}  // namespace lulab::testing
