#pragma once
// Seeded test matrices, from circuits to worst cases; the same values on every machine.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/matrix/csc.h"
#include "core/status.h"

namespace lulab {

struct GenerateOptions {
  std::int32_t n = 1000;     // number of rows; some families round it (GeneratorFamily::size)
  std::uint64_t seed = 1;    // of the random positions and values
  std::int32_t degree = 4;   // off-diagonal entries per row (random families), half bandwidth (banded)
  std::int32_t decades = 8;  // badly_scaled: rows and columns are scaled by up to 10^±decades
};

struct GeneratorFamily {
  std::string_view name;
  std::string_view description;  // one sentence
  std::string_view size;         // how n is rounded
  bool singular = false;         // every member is singular, structurally or numerically
  CscMatrix<double> (*make)(const GenerateOptions&) = nullptr;
};

/// All families: circuits, meshes, patterns, stress tests. Members are nonsingular unless `singular` is set, and well
/// conditioned except those of badly_scaled, wilkinson_growth and random.
std::span<const GeneratorFamily> generator_families();

/// A square matrix of a family, sorted, with seeded random unsymmetric values.
///
/// Errors    invalid_argument: unknown family (the message lists them), n < 1, degree outside 0..10^6, decades outside
///           0..100, n > 1024 for wilkinson_growth. out_of_memory.
/// Cost      O(n + nnz): n = 10^6 takes seconds.
Result<CscMatrix<double>> generate(std::string_view family, const GenerateOptions& options = {});

/// n random values with magnitude in [0.1, 1) and random sign.
std::vector<double> random_vector(std::int32_t n, std::uint64_t seed);

}  // namespace lulab
