#pragma once
// Predictions of the performance model beside measured times.

#include <optional>
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "bench/problem.h"
#include "core/rung.h"
#include "model/pipeline_model.h"

namespace lulab::bench {

/// The one rung that the model describes.
inline constexpr std::string_view modelled_rung = "sparse_leftlooking/02_pipeline";

struct ModelCheck {
  std::string matrix, order;
  std::int32_t n = 0, levels = 0;
  std::int64_t nnz = 0, nnz_lu = 0;
  Prediction published, extended;
  std::optional<double> measured_ms;

  /// |predicted - measured| / measured.   Requires measured_ms.
  double relative_error(const Prediction& prediction) const;
};

/// Both predictions.   Requires problem.analysis.
ModelCheck check_model(const Problem& problem, const DeviceConstants& constants, int scalar_bytes, int warps_per_sm);

/// Median time of one refactorization, in ms, its result verified.
///
/// Requires  T is a scalar of the rung; `problem` with values.
/// Errors    not_implemented in the simulator, needs_repivot where the plan's pivots are not stable (the rung would
///           work on another pattern than the one that was predicted); those of the rung.
template <class T>
Result<double> measure_refactor(const Rung& rung, const Problem& problem, const FactorOptions& options = {});

/// Mean of |predicted - measured| / measured over the checks that have a measured time; nullopt where none has.
std::optional<double> mean_relative_error(std::span<const ModelCheck> checks, PipelineModel model);

/// One object: names and sizes, both predictions, measured_ms and relative errors where there is a measured time.
nlohmann::ordered_json to_json(const ModelCheck& check);

}  // namespace lulab::bench
