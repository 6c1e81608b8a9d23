#pragma once
// What else could solve a circuit's systems: an iterative method instead of a factorization, a parallel triangular
// solve instead of the host's. Both on one matrix, each solution judged.

#include <string>
#include <vector>

#include "bench/gmres.h"
#include "bench/harness.h"
#include "bench/problem.h"

namespace lulab::bench {

struct AlternativesOptions {
  GmresOptions gmres = {};
  std::vector<std::string> ids = {};  // only what has one of these as a part of its id; none: all
  double budget_s = 0.05;             // to sample each line for; three samples at least, one where a run takes over 2 s
  int warps_per_sm = 0;               // of our solves on the device; 0: DeviceSolver's choice
};

/// The ids of what is measured below.
std::vector<std::string> alternative_ids();

/// What is measured on a matrix, one comparison after the other, each with one case:
///   sparse_leftlooking/90_klu         refactor    one thread
///   solve/00_reference                solve       U⁻¹ L⁻¹ on the host, with the L and U of klu
///   alternatives/gmres_ilut           factor      the preconditioner, new for new values
///                                     solve       the iterations
///                                     end_to_end  both
///   alternatives/cusparse_spsv        schedule    the library's analysis of L and U
///                                     solve       U⁻¹ L⁻¹ on the device
///   solve/01_level_set, ...           the same by each rung on the device (solve/rungs.h); schedule: analysis, upload,
///                                     and L and U by rows
///   ..._transposed                    solve       L⁻ᵀ U⁻ᵀ by each of these
///   alternatives/cusparse_spsm_x32, solve/01_level_set_x32, ...   solve   U⁻¹ L⁻¹ of 32 right-hand sides at once; the
///                                     time of one
///   alternatives/refined              solve       A x = b by DeviceSolver and DeviceRefiner until it has converged, on
///                                     the host's clock
///
/// GMRES gets P·R·A·C·Q too, the matrix that is factored. A time stands only where x = C Q y solves A x = b with a
/// componentwise backward error of at most 10 sqrt(eps); else row.error says why, "did not converge" among the reasons.
/// Our kernels have no time in the simulator, but are judged there.
///
/// Requires  `problem` outlives the comparisons.
/// Source    Chen et al. 2015, appendix B.2, Table 1 and B.3, Fig. 5.
std::vector<Comparison> alternatives(const Problem& problem, const AlternativesOptions& options = {});

}  // namespace lulab::bench
