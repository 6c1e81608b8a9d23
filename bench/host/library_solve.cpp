#include "bench/library_solve.h"

namespace lulab::bench {

Result<std::unique_ptr<ParallelSolve>> library_solve(const Factors<double>&, SolveTask) {
  return Status::error(StatusCode::not_implemented, "cuSPARSE needs a build for the GPU");
}

}  // namespace lulab::bench
