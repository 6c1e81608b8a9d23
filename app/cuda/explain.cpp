#include "app/explain.h"

namespace lulab::app {

std::span<const Explainable> explainables() { return {}; }

Result<Explanation> explain(const Analysis& /*analysis*/, std::span<const double> /*a_values*/,
                            const ExplainOptions& /*options*/) {
  return Status::error(StatusCode::not_implemented,
                       "steps are recorded by the simulator, and this build runs kernels on a GPU");
}

}  // namespace lulab::app
