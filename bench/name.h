#pragma once
// Benchmark names, stable because tools parse them: <rung id>|<matrix name or n=...>|<phase>|<f32 or f64>.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/scalar.h"
#include "core/status.h"

namespace lulab::bench {

enum class Phase {
  preprocess,       // scaling, matching, ordering                              host, once a matrix
  symbolic,         // the pattern of L+U   host, once a matrix; rungs of symbolic/; SFLU's on the device
  symbolic_device,  // the same with both patterns in device memory, and from there to a schedule
  schedule,         // index map, and what the rung itself prepares from the pattern
  upload,           // values to where the rung works
  factor,           // first factorization, pivoting where the rung does
  refactor,         // new values, same pattern and pivots
  download,         // factors to the host
  solve,            // two triangular solves, one right-hand side               host
  end_to_end,       // upload + refactor + download
  batch,            // many value sets in one call, a system's share of the time; only where it is asked for
  batch_step,       // values and b of many systems in device memory -> x, through BatchSolver; likewise
  step,             // new values and b in host memory -> x in host memory, through Solver
  step_device,      // the same in device memory, in the order of a stream
  first,            // a matrix never seen -> x, likewise: analyze, factor, solve
  run,              // first, and then 99 steps with other values; only where it is asked for
};
inline constexpr std::array phases = {Phase::preprocess, Phase::symbolic,    Phase::symbolic_device, Phase::schedule,
                                      Phase::upload,     Phase::factor,      Phase::refactor,        Phase::download,
                                      Phase::solve,      Phase::end_to_end,  Phase::batch,           Phase::batch_step,
                                      Phase::step,       Phase::step_device, Phase::first,           Phase::run};
/// Phases of a whole solver, for which a user waits (solver_phases.h).
inline constexpr std::array solver_phases = {Phase::step, Phase::step_device, Phase::first, Phase::run};
constexpr bool is_solver_phase(Phase phase) { return std::ranges::find(solver_phases, phase) != solver_phases.end(); }
/// Phases that no rung of a numeric stage has a part in (but see fill_cases.h).
constexpr bool is_pattern_phase(Phase phase) {
  return phase == Phase::preprocess || phase == Phase::symbolic || phase == Phase::symbolic_device;
}
std::string_view to_string(Phase phase);
/// Errors    invalid_argument listing the phases there are.
Result<Phase> parse_phase(std::string_view text);

struct Name {
  std::string rung;
  std::string matrix;
  Phase phase = Phase::refactor;
  Scalar scalar = Scalar::f64;

  bool operator==(const Name&) const = default;
};

/// "sparse_leftlooking/90_klu|memplus|refactor|f64".   Requires no '|' in rung and matrix.
std::string to_string(const Name& name);
/// Errors    invalid_argument: not four fields, an empty field, an unknown phase or scalar.
Result<Name> parse_name(std::string_view text);

}  // namespace lulab::bench
