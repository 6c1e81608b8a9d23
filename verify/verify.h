#pragma once
// Every chosen rung on one matrix: analyze, factor, solve, and all the checks of verify/checks.h.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/rung.h"
#include "verify/judge.h"
#include "verify/report.h"
#include "verify/stable_pivots.h"

namespace lulab {

enum class Precision { f64, f32, both };

struct VerifyOptions {
  std::vector<const Rung*> rungs;  // empty: all_rungs()
  Precision precision = Precision::f64;
  PreprocessOptions preprocess;         // Order::automatic means amd: the rung is judged, not the order
  StablePivotOptions pivots;            // when fixed pivots are unstable, judge the factors under other pivots
  bool klu_oracle = true;               // compare the patterns of L and U with KLU's
  std::int32_t max_simulator_n = 5000;  // larger matrices skip GPU rungs in the simulator
  std::int32_t max_dense_n = 3000;      // larger matrices skip dense rungs, on whatever device: the host judges them
  std::uint64_t seed = 1;               // right-hand sides, probing vectors
};

/// Called before each rung runs, for progress: rung id, its index, how many.
using VerifyProgress = std::function<void(std::string_view id, int index, int count)>;

/// Runs each chosen rung on the device of this build and judges its factors.
///
/// Shapes    A: n x n, sorted.
/// Ensures   the rungs share one analysis, and up to two more under pivots chosen by value, by column and by row,
///           where fixed pivots are unstable.
///           One RungReport for each chosen rung and precision, in order; never throws for a bad matrix: report.status
///           and each verdict say what happened. Where every rung says singular the matrix is. A rung that
///           says so is `failed` where another one factors the matrix with a safe condition number.
/// Cost      the factorizations, O(flops) for each exact product of L and U (probing above 2e9 flops), one KLU
///           analysis.
MatrixReport verify_matrix(const std::string& name, const CscView<double>& a, const VerifyOptions& options = {},
                           const VerifyProgress& progress = {});

}  // namespace lulab
