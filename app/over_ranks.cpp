#include "app/over_ranks.h"

#include <fmt/format.h>

namespace lulab::app {
namespace {

Status check_arguments(const SolverArguments& arguments) {
  const RungFacts& facts = distributed_rung().facts;
  LULAB_RETURN_IF_ERROR(check_options(arguments.factor, facts.id, facts.options));
  const auto refuse = [&facts](const char* what) {
    return Status::error(StatusCode::invalid_argument, fmt::format("{} {}", facts.id, what));
  };
  if (arguments.precision != "f64") return refuse("works in f64 alone");
  if (arguments.factor.perturb_pivots > 0) return refuse("perturbs no pivots");
  return {};
}

}  // namespace

int run_over_ranks(const Context& context, const SolverArguments& arguments, const Status& refused,
                   const std::function<int(OverRanks&)>& work) {
  if (!context.distributed_lu)
    return fail(
        context,
        Status::error(StatusCode::not_implemented, fmt::format("this build has no SuperLU_DIST, which is what {} runs",
                                                               distributed_rung().facts.id)),
        "install libsuperlu-dist-dev, libopenmpi-dev and openmpi-bin, then configure again: cmake --fresh");
  const auto ranks = context.ranks();
  if (!ranks.ok()) return fail(context, ranks.status());
  const bool speaks = (*ranks)->rank() == 0;
  SolverArguments mine = arguments;
  if (!speaks) mine.column_order.clear();  // rank 0 reads the file, as that of A
  const auto preprocess = preprocess_options(mine);
  const Status checked = !refused.ok() ? refused : preprocess.ok() ? check_arguments(arguments) : preprocess.status();
  const Status agreed = agree(**ranks, checked);
  if (!agreed.ok()) return speaks ? fail(context, checked.ok() ? agreed : checked) : exit_code(agreed);
  const auto lu = context.distributed_lu(**ranks, arguments.factor.threads);
  if (!speaks) {
    lu->serve();
    return exit_ok;
  }
  OverRanks over = {(*ranks)->count(), *lu, DistributedSolver(*lu, *preprocess)};
  return work(over);
}

Result<Condition> judge_condition(DistributedSolver& solver, const SolverArguments& arguments) {
  const double at_most = solver.rcond_at_most();
  const ConditionEstimate estimate = {.rcond = at_most, .rcond_scaled = at_most};
  const Status singular = check_condition(estimate);
  if (!arguments.allow_singular) LULAB_RETURN_IF_ERROR(singular);
  return Condition{estimate, singular.message};
}

}  // namespace lulab::app
