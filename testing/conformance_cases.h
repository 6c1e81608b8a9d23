#pragma once
// The registry times the generated matrices: the parameters of conformance_test.cpp (CPU rungs) and conformance_test.cu
// (GPU rungs). One test takes a rung in one precision through all its matrices: a program for each matrix would spend
// a third of its time on starting, and on the stacks of simulated threads.

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/rung.h"
#include "testing/device.h"
#include "testing/rungs.h"
#include "testing/test_matrices.h"
#include "verify/conformance.h"
#include "verify/metamorphic.h"

namespace lulab::testing {

struct ConformanceMatrix {
  std::string_view family;
  std::int32_t n;
};

struct ConformanceCase {
  const Rung* rung;
  bool is_float;
  std::vector<ConformanceMatrix> matrices;
};

/// Dense kernels in the simulator: n^3 steps of simulated threads, minutes under ThreadSanitizer.
inline bool is_slow_here(const Rung& rung) {
  return rung.facts.device == Device::gpu && rung.facts.max_dense_bytes > 0 &&
         simt::machine() == simt::Machine::simulator;
}

/// Every rung on `device` x f32, f64 x every family that a rung must factor, at n, and the smallest sizes of one
/// family. In the simulator dense GPU rungs at n = 12 (getrf_test.cu takes them to larger sizes), and the others in
/// float, whose kernels are the templates that those in double are, at 2/3 n. With a sanitizer GPU rungs at n / 2
/// (blocks of 1024 threads take a minute at n = 60), and where it looks for races on three families, which have long
/// and short columns, wide and narrow levels, and pivots off the diagonal: others differ in values.
inline std::vector<ConformanceCase> conformance_cases(Device device, std::int32_t n) {
  const bool few = simt::race_detection && device == Device::gpu;
  if (simt::instrumented && device == Device::gpu) n /= 2;
  std::vector<ConformanceCase> cases;
  for (const Rung* rung : all_rungs()) {
    if (rung->facts.device != device) continue;
    for (const bool is_float : {false, true}) {
      if (is_float ? !rung->supports<float>() : !rung->supports<double>()) continue;
      std::vector<ConformanceMatrix> matrices;
      const bool smaller = is_float && device == Device::gpu && simt::machine() == simt::Machine::simulator;
      const std::int32_t size = is_slow_here(*rung) ? 12 : smaller ? 2 * n / 3 : n;
      for (const GeneratorFamily& family : generator_families())
        // No LU with row pivoting is accurate for wilkinson_growth: that is what it is for.
        if (!family.singular && family.name != "wilkinson_growth" &&
            (!few || family.name == "logic_rent" || family.name == "dense_row" || family.name == "zero_diagonal"))
          matrices.push_back({family.name, size});
      for (const std::int32_t small : {0, 1, 2, is_slow_here(*rung) ? 13 : 33})
        matrices.push_back({"random_dominant", small});
      cases.push_back({rung, is_float, std::move(matrices)});
    }
  }
  return cases;
}

inline std::string name_of(const ::testing::TestParamInfo<ConformanceCase>& info) {
  return test_name(*info.param.rung) + (info.param.is_float ? "_f32" : "_f64");
}

inline void expect_conformance(const ConformanceCase& c, const ConformanceMatrix& matrix, std::uint64_t seed) {
  CscMatrix<double> a;
  if (matrix.n > 0) {
    GenerateOptions options;
    options.n = matrix.n;
    options.seed = seed;
    if (c.is_float) options.decades = 3;
    auto made = generate(matrix.family, options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    a = std::move(*made);
  }
  const auto failures =
      c.is_float ? conformance_failures<float>(*c.rung, a, seed) : conformance_failures<double>(*c.rung, a, seed);
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
}

/// expect(matrix) for each matrix of the case. The line that names it is there after a crash, too.
template <class Expect>
void for_each_matrix(const ConformanceCase& c, Expect&& expect) {
  for (const ConformanceMatrix& matrix : c.matrices) {
    const std::string name = std::string(matrix.family) + ", n = " + std::to_string(matrix.n);
    std::printf("matrix: %s\n", name.c_str());
    std::fflush(stdout);
    SCOPED_TRACE(name);
    expect(matrix);
  }
}

enum class Sizes { few, all };

/// The rung of the case on every test matrix. Few sizes: in the simulator kernels see the largest of few matrices, and
/// with a sanitizer few at all.
inline void expect_answers(const ConformanceCase& c, std::uint64_t seed, Sizes sizes = Sizes::few) {
  const bool few =
      sizes == Sizes::few && c.rung->facts.device == Device::gpu && simt::machine() == simt::Machine::simulator;
  const std::int32_t largest = !few ? 65 : simt::race_detection ? 13 : 33;
  for (const TestMatrix& matrix : test_matrices())
    for (std::int32_t n : {1, 2, 31, 32, 33, 64, 65}) {
      const bool large = matrix.name == "lapack_condition_2" || matrix.name == "arrow_first";
      if (few && simt::instrumented && (n == 1 || n == 31 || n == 32)) continue;
      if (n > largest && (!large || simt::instrumented)) {
        if (n != 33) continue;
        n = largest;
      }
      if (n < matrix.least_n) continue;
      if (c.is_float)
        expect_answer<float>(*c.rung, matrix, n, seed);
      else
        expect_answer<double>(*c.rung, matrix, n, seed);
    }
}

/// Matrices whose factors are compared with those of related ones: dominant, after an exchange of rows, a grid.
inline std::vector<ConformanceMatrix> relation_matrices(std::int32_t n) {
  return {{"random_dominant", 0}, {"random_dominant", n}, {"zero_diagonal", n - 1}, {"convection2d", n}};
}

inline void expect_relations(const ConformanceCase& c, const ConformanceMatrix& matrix,
                             const MetamorphicOptions& options) {
  CscMatrix<double> a;
  if (matrix.n > 0) {
    auto made = generate(matrix.family, {.n = matrix.n, .seed = options.seed});
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    a = std::move(*made);
  }
  const auto failures =
      c.is_float ? metamorphic_failures<float>(*c.rung, a, options) : metamorphic_failures<double>(*c.rung, a, options);
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
}

}  // namespace lulab::testing
