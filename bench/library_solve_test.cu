#include "bench/library_solve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/matrix/generate.h"
#include "core/rung.h"
#include "core/simt/test_device.h"
#include "solve/triangular.h"
#include "symbolic/analyze.h"

namespace lulab::bench {
namespace {

Factors<double> klu_factors(const CscMatrix<double>& a) {
  const auto analysis = analyze(a).value();
  const auto factorizer = (*find_rung(all_rungs(), "sparse_leftlooking/90_klu"))->make<double>();
  EXPECT_TRUE(factorizer->analyze(analysis).ok());
  EXPECT_TRUE(factorizer->upload(a.values).ok());
  EXPECT_TRUE(factorizer->factor().ok());
  return factorizer->download().value();
}

TEST(LibrarySolve, SolvesAsTheHostDoes) {
  LULAB_NEED_DEVICE();
  if (simt::machine() == simt::Machine::simulator) GTEST_SKIP() << "a library for the GPU";
  for (const char* family : {"random_dominant", "power_grid", "ladder"}) {
    const Factors<double> f = klu_factors(generate(family, {.n = 700, .seed = 3}).value());
    auto library = library_solve(f);
    LULAB_ASSERT_OK(library);
    for (std::uint64_t seed : {1, 2}) {  // a second analysis, other right sides
      LULAB_ASSERT_OK((*library)->analyze());
      const std::vector<double> b = random_vector(f.filled.n, seed);
      std::vector<double> host = b, x(b.size(), std::numeric_limits<double>::quiet_NaN());
      solve_lower<double>(f.filled, f.values, host);
      solve_upper<double>(f.filled, f.values, host);
      const auto ms = (*library)->solve(b, x);
      LULAB_ASSERT_OK(ms);
      EXPECT_GT(*ms, 0);
      // Both are backward stable; they differ by the condition of L and U, small for these families.
      double difference = 0, largest = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_TRUE(std::isfinite(x[i])) << family << " " << i;
        difference = std::max(difference, std::abs(x[i] - host[i]));
        largest = std::max(largest, std::abs(host[i]));
      }
      EXPECT_TRUE(difference <= 1e-9 * largest) << family << " " << difference << " of " << largest;
    }
    EXPECT_GE((*library)->bytes(), 12 * f.filled.nnz());
  }
}

TEST(LibrarySolve, SaysThatTheSimulatorHasNone) {
  LULAB_NEED_SIMULATOR();
  const Factors<double> f = klu_factors(generate("ladder", {.n = 50, .seed = 3}).value());
  EXPECT_EQ(library_solve(f).status().code, StatusCode::not_implemented);
}

}  // namespace
}  // namespace lulab::bench
