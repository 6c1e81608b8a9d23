#pragma once
// An algorithm step by step on a small matrix, as its kernel did it in the simulator: what `lulab explain` shows.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/plan.h"
#include "core/status.h"

namespace lulab::app {

constexpr std::int32_t max_explained_n = 40;  // a longer story is not read

/// What can be explained: a rung, or a kernel that is one but for a rule.
struct Explainable {
  std::string_view name;  // a rung's id, or a word
  std::string_view says;  // what it is, in one line
};
std::span<const Explainable> explainables();

/// A position in L + U and the value that it has now.
struct ChangedEntry {
  std::int64_t position = 0;  // in the filled pattern
  double value = 0;
};

/// Something that a reader sees at once: the accesses of one worker to one end.
struct ExplainStep {
  enum class Kind {
    launch,
    takes,     // a worker takes a column
    loads,     // a column into its work vector
    updates,   // subtracts a multiple of an earlier column
    stores,    // U back from its work vector
    divides,   // by the pivot
    waits,     // for another column
    goes_on,   // that one is finished
    finishes,  // columns
    starts,    // a block, where not all fit at once
    ends,      // likewise
    race,
    deadlock,
    result,
  };
  Kind kind{};
  std::string worker;        // "block 3", "block 3 warp 1"; empty: none
  std::int32_t column = -1;  // that the worker works on; -1: none
  std::string text;
  std::vector<std::string> details;         // more lines, of a race or a deadlock
  std::vector<std::int64_t> read, written;  // positions that it read or wrote
  std::vector<ChangedEntry> changed;        // since the step before, by whatever worker
  std::int32_t waits_for = -1;              // a column
  std::vector<std::int32_t> finished;       // columns
};
std::string_view to_string(ExplainStep::Kind kind);

struct Explanation {
  std::string algorithm;           // name of what ran
  std::uint64_t seed = 0;          // of its schedule
  int resident = 0;                // blocks at most; 0: as many as the device holds
  std::vector<double> start;       // (nnz) of P·R·A·C·Q on the filled pattern
  std::vector<char> is_fill;       // (nnz)
  std::vector<ExplainStep> steps;  // in the order in which they ended
  nlohmann::json events;           // what was observed, in the order in which it happened; rows and columns from 1
  Status outcome;                  // deadlock, data_race (told by a step each), needs_repivot, ...
};

struct ExplainOptions {
  std::string algorithm;                   // of explainables(), or a unique part of its name
  std::optional<std::uint64_t> seed = {};  // none: LULAB_SIM_SEED, or 1
  std::optional<int> resident = {};        // blocks; none: what shows the algorithm's fault, else LULAB_SIM_RESIDENT
  bool with_events = false;                // fill Explanation::events
};

/// Runs the algorithm in the simulator and tells what it did.
///
/// Shapes    a_values: (nnz(A)) in A's own order.
/// Requires  n <= max_explained_n.
/// Errors    invalid_argument: no such algorithm; not_implemented: this build runs kernels on a GPU; out_of_memory.
Result<Explanation> explain(const Analysis& analysis, std::span<const double> a_values, const ExplainOptions& options);

}  // namespace lulab::app
