#pragma once
// Commands with the rung whose factors are spread over ranks.

#include <functional>

#include "app/distributed_solver.h"
#include "app/input.h"

namespace lulab::app {

/// What rank 0 works with.
struct OverRanks {
  int ranks;
  DistributedLu& lu;
  DistributedSolver solver;
};

/// Runs `work` on rank 0 while the others serve its solver.   refused: the command's own options, where not ok
/// Returns   what `work` returns; on the other ranks exit_ok, and the code of the error where this build has no
///           SuperLU_DIST, no MPI, or the rung does not know an option.
int run_over_ranks(const Context& context, const SolverArguments& arguments, const Status& refused,
                   const std::function<int(OverRanks&)>& work);

/// rcond of what the solver has factored, at most.
/// Errors    as judge_condition().
Result<Condition> judge_condition(DistributedSolver& solver, const SolverArguments& arguments);

}  // namespace lulab::app
