#include "bench/name.h"

#include <gtest/gtest.h>

namespace lulab::bench {
namespace {

TEST(BenchmarkName, HasTheFormThatToolsParse) {
  EXPECT_EQ(to_string(Name{"sparse_leftlooking/90_klu", "memplus", Phase::refactor, Scalar::f64}),
            "sparse_leftlooking/90_klu|memplus|refactor|f64");
  EXPECT_EQ(to_string(Name{"dense/00_reference", "n=512", Phase::end_to_end, Scalar::f32}),
            "dense/00_reference|n=512|end_to_end|f32");
  EXPECT_EQ(to_string(Name{"dense/08_batched", "batch=10000,n=64", Phase::factor, Scalar::f64}),
            "dense/08_batched|batch=10000,n=64|factor|f64");
}

TEST(BenchmarkName, ParsingInvertsFormattingForEveryPhaseAndScalar) {
  for (Phase phase : phases) {
    for (Scalar scalar : {Scalar::f32, Scalar::f64}) {
      for (const char* matrix : {"circuit_1", "n=4096", "batch=10000,n=64"}) {
        const Name name{"sparse_leftlooking/01_warp_per_column", matrix, phase, scalar};
        const auto parsed = parse_name(to_string(name));
        ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
        EXPECT_EQ(*parsed, name);
      }
    }
  }
}

TEST(BenchmarkName, RefusesWhatIsNoName) {
  for (const char* text : {"", "a|b|refactor", "a|b|refactor|f64|", "|b|refactor|f64", "a||refactor|f64",
                           "a|b|refactoring|f64", "a|b|refactor|f16", "a|b|refactor|f64/manual_time"}) {
    const auto parsed = parse_name(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code, StatusCode::invalid_argument) << text;
    EXPECT_FALSE(parsed.status().message.empty()) << text;
  }
}

TEST(ScalarOf, NamesTheType) {
  EXPECT_EQ(scalar_of<float>(), Scalar::f32);
  EXPECT_EQ(scalar_of<double>(), Scalar::f64);
}

}  // namespace
}  // namespace lulab::bench
