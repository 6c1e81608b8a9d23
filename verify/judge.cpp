#include "verify/judge.h"

#include <fmt/format.h>

#include "core/matrix/number_text.h"
#include "verify/checks.h"
#include "verify/extended.h"

namespace lulab {

namespace {

// Writes yes or no into `answer`, and why not into the failures.
bool ask(std::optional<bool>& answer, const char* check, const Status& status, Checks& checks) {
  answer = status.ok();
  if (!status.ok()) checks.failures.push_back(fmt::format("{}: {}", check, status.message));
  return status.ok();
}

void require_at_most(const char* check, double value, double most, Checks& checks) {
  if (!(value <= most))
    checks.failures.push_back(fmt::format("{} = {}, limit {:.3g}", check, short_number(value), most));
}

void add_note(Checks& checks, const std::string& note) { checks.note += (checks.note.empty() ? "" : "; ") + note; }

}  // namespace

template <class T>
Checks judge(const CscView<double>& a, const Factors<T>& f, std::uint64_t seed, Zeros zeros) {
  Checks checks;
  checks.eps = unit_roundoff<T>();
  if (!ask(checks.structure, "structure", check_sizes(a, f), checks)) return checks;
  const bool structure = ask(checks.structure, "structure", check_structure(f.filled), checks);
  const bool permutations = ask(checks.permutations, "permutations", check_permutations(f.plan), checks);
  const bool scalings = ask(checks.scalings, "scalings", check_scalings(f.plan), checks);
  ask(checks.finite, "finite", check_finite(f), checks);
  if (!structure || !permutations || !scalings) return checks;
  const Status contained = check_pattern_contains_a(a, f.plan, f.filled);
  if (!contained.ok() && zeros == Zeros::left_out && check_missing_are_zero(a, f).ok()) {
    checks.pattern_contains_a = false;
    add_note(checks, fmt::format("{}; L·U gives its value without it", contained.message));
  } else {
    ask(checks.pattern_contains_a, "pattern_contains_a", contained, checks);
  }

  const LuResidual lu = lu_residual(a, f, seed);
  checks.lu_residual = lu.value;
  checks.lu_residual_method = lu.method;
  require_at_most("lu_residual", lu.value, Tolerances::lu_residual, checks);
  checks.growth = pivot_growth(a, f);

  const extended::Condition condition = extended::estimate_condition(a, f);
  checks.rcond = condition.rcond;
  checks.rcond_scaled = condition.rcond_scaled;

  const SolveResiduals solved = solve_residuals(a, f, seed);
  checks.scaled_residual = solved.scaled_residual;
  checks.solve_residual = solved.solve_residual;
  checks.hpl_residual = solved.hpl_residual;
  checks.first_backward_error = solved.first_backward_error;
  checks.backward_error = solved.backward_error;
  checks.omega = solved.omega;
  checks.omega1 = solved.omega1;
  checks.omega2 = solved.omega2;
  checks.forward_error = solved.forward_error * condition.rcond / checks.eps;
  checks.refinement_steps = solved.refinement_steps;
  require_at_most("scaled_residual", solved.scaled_residual, Tolerances::scaled_residual, checks);
  if (condition.rcond_scaled < 100 * checks.eps) {
    add_note(checks, fmt::format("refined solves are reported, not judged: rcond {:.3g} after scaling is below 100 eps",
                                 condition.rcond_scaled));
    return checks;
  }
  require_at_most("solve_residual", solved.solve_residual, Tolerances::solve_residual, checks);
  require_at_most("hpl_residual", solved.hpl_residual, Tolerances::hpl_residual, checks);
  require_at_most("omega", solved.omega, Tolerances::omega * checks.eps, checks);
  require_at_most("forward_error", *checks.forward_error, Tolerances::forward_error, checks);
  return checks;
}
template Checks judge(const CscView<double>&, const Factors<float>&, std::uint64_t, Zeros);
template Checks judge(const CscView<double>&, const Factors<double>&, std::uint64_t, Zeros);

}  // namespace lulab
