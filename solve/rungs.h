#pragma once
// The ladder of this room: the ways to solve with L and U, as rungs.def lists them.

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "core/status.h"

namespace lulab {

/// Those of DeviceSolver, each a rung.
enum class SolveMethod { level_set, sync_free, narrow_middle, chunks, fronts };
inline constexpr std::array solve_methods = {SolveMethod::level_set, SolveMethod::sync_free, SolveMethod::narrow_middle,
                                             SolveMethod::chunks, SolveMethod::fronts};

struct SolveRung {
  std::string_view id;                // "solve/01_level_set"; stable
  std::string_view paper;             // source
  std::string_view idea;              // one sentence
  std::optional<SolveMethod> method;  // none: the host solves (solve/triangular.h)
};

/// All, in ladder order.
std::span<const SolveRung* const> every_solve_rung();
/// By its id or a unique part of it.   Errors invalid_argument listing the ids there are.
Result<const SolveRung*> find_solve_rung(std::string_view name);
/// The id of its rung.
std::string_view to_string(SolveMethod method);

namespace solve_rungs {
extern const SolveRung reference;  // the others stand beside their kernels
}  // namespace solve_rungs

}  // namespace lulab
