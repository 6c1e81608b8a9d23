#pragma once
// The rungs of symbolic/ on one matrix.

#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"
#include "bench/problem.h"
#include "symbolic/rungs.h"

namespace lulab::bench {

/// A part of an id that no other id of the ladder has.   Errors invalid_argument listing the ids.
Result<const FillRung*> find_fill_rung(std::string_view name);
/// Is it the id of one?
bool is_fill_rung(std::string_view id);

struct FillOptions {
  std::vector<std::string> rungs = {};  // ids; empty: all, but those that take too long for the matrix
  bool host_to_host = true;             // the phase symbolic
  bool on_device = true;                // the phase symbolic_device
  int threads = 0;                      // FillLimits::threads
  double budget_s = 0.05;               // to sample each rung for
  double bandwidth_bytes_per_s = 0;     // of a copy in device memory; 0: not known
};

/// They take turns with the yardstick symbolic/01_gilbert_peierls, which is always there, first, on one thread. A time
/// counts where the pattern is that of the analysis, entry by entry. In the phase symbolic it is the time of a call: B
/// and the pattern of L + U in host memory, workspace allocated in it. In symbolic_device both lie on the device: of
/// rungs that can leave the pattern there. 08's line "_to_fronts" begins where its other ends: panels, fronts, and the
/// plan of 12_multifrontal on the host; its fronts must be those that the host finds. "_a_to_fronts" begins with A and
/// its order on the device. The bound of the others is to read the one pattern and to write the other as fast as a copy
/// does.
///
/// Requires  problem outlives the comparison.
/// Ensures   GPU rungs are skipped in the simulator; their lines say so.
Comparison fill_comparison(const Problem& problem, const FillOptions& options);

/// That of P·R·A·C·Q.
CscPattern pattern_to_fill(const Problem& problem);

/// What a line of a rung differs in from the rung's others.
struct FillVariant {
  std::string name = {};  // follows the rung's id: "_1GB"
  FillLimits limits = {};
  double bandwidth_bytes_per_s = 0;  // of a copy in device memory; 0: not known
};

/// One call of the rung. Rungs that search from many columns at once get Row::fill. moved_bytes counts what their
/// kernels read and write at least, as if nothing were cached: 12 for an entry of B read (its row; a word of maxId or
/// of a set, read and written), what is cleared, the sets of found rows twice (their rows are counted, then listed),
/// 4 for an entry of L + U. It leaves out the queues, for nobody counts what joins them.
/// Requires as above.
Case fill_case(const FillRung& rung, const Problem& problem, FillVariant variant = {});

/// The search for the pattern of L + U by SFLU's kernel, with that of P·R·A·C·Q on the device before and that of L + U
/// left there. Preparing it searches once, which tells how much room L + U take. The pattern must be that of the
/// analysis.
///
/// Requires  problem outlives the case.
Case sflu_fill_case(Name name, const Problem& problem);

}  // namespace lulab::bench
