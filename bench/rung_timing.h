#pragma once
// One rung on one matrix in one precision, timed phase by phase, every result judged.

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/problem.h"
#include "bench/stopwatch.h"
#include "core/factorizer.h"
#include "driver/choose_rung.h"

namespace lulab::bench {

inline constexpr std::string_view reference_id = "sparse_leftlooking/00_reference";
inline constexpr std::string_view klu_id = "sparse_leftlooking/90_klu";

/// One run of preprocess or symbolic on the host.   Unit ms.
/// Errors    those of the phase; invalid_argument when the result differs from problem.analysis.
Result<double> sample_host_phase(const Problem& problem, Phase phase);

/// What was not left at its default: "at most 2 threads, memory_ratio = 4".
std::string label_of(const FactorOptions& options);

struct RungTimingOptions {
  bool cold = false;  // flush the device's L2 before each timed run
  FactorOptions factor = {};
};

template <class T>
class RungTiming {
 public:
  /// Factors once and judges the result: this is the warm-up; a rung that uses threads finds out how many. A rung with
  /// fixed pivots whose backward error exceeds sqrt(eps) here gets the pivots of sparse_leftlooking/00_reference
  /// instead, and label() says so.
  ///
  /// Requires  rung.supports<T>(); `problem` outlives the timing.
  /// Errors    those of the rung; needs_repivot when even the reference's pivots give an inaccurate factorization.
  static Result<RungTiming> create(const Rung& rung, const Problem& problem, RungTimingOptions options = {});

  /// One timed run of the phase on other values than the run before: device time between two events for GPU rungs,
  /// steady_clock for CPU rungs; a rung that uses one thread stays on its core meanwhile (not in Phase::schedule, where
  /// a rung starts its threads).   Unit ms.   Requires !is_pattern_phase(phase) and !is_solver_phase(phase).
  /// Errors    those of the rung.
  Result<double> sample(Phase phase);

  /// Componentwise backward error, before refinement, of a solve with what the last sample(phase) left behind.
  /// Other values on the same pivots may cost a digit: stale factors are off by at least 1e-2.
  /// Errors    needs_repivot when it exceeds 10 sqrt(eps) or the factors are not finite; those of the rung.
  Result<double> verify(Phase phase);

  const std::string& label() const { return label_; }
  /// Whose times these are: the rung, or what auto_rung was resolved to; label() says so, too.
  const Rung& working_rung() const;
  /// Why auto chose it; empty where the rung was named.
  const std::string& choice_reason() const { return choice_.reason; }
  /// The rung works with the reference's pivots, on another pattern than the problem's.
  bool repivoted() const { return repivoted_ != nullptr; }
  /// Of the pattern that is factored here, which differs from the problem's after re-pivoting.
  Limits limits(const DeviceConstants& constants, Dependencies dependencies) const;
  /// Of the host, the calling one among them; 1 for GPU rungs.
  int threads() const { return threads_; }
  /// Most device memory in use since create(), bytes; 0 for CPU rungs.
  std::int64_t peak_bytes() const;

 private:
  RungTiming(RungChoice choice, const Problem& problem, const FactorOptions& factor)
      : rung_(choice.rung), choice_(std::move(choice)), problem_(&problem), factor_options_(factor) {}
  Status start(const Analysis& analysis);
  Status find_out_threads();
  Status take_reference_pivots();
  Status download_factors();
  Status make_room();
  Result<double> verify(Phase phase, double limit);
  Result<double> judge(std::span<const T> x, double limit) const;
  Result<double> timed(const std::function<Status()>& operation);

  const Rung* rung_;
  RungChoice choice_;
  const Problem* problem_;
  FactorOptions factor_options_;
  std::string label_;
  std::unique_ptr<Analysis> repivoted_;  // where fixed pivots failed
  const Analysis* analysis_ = nullptr;
  std::array<std::vector<double>, 3> inputs_;   // values of A, each set perturbed otherwise
  std::array<simt::HostBuffer<T>, 3> uploads_;  // the same in T
  int threads_ = 1;
  bool has_room_ = false;
  simt::HostBuffer<T> downloaded_;  // (nnz(L+U)) what the last sample of download or end_to_end brought back
  std::size_t current_ = 0;
  std::unique_ptr<Factorizer<T>> factorizer_;
  std::optional<Stopwatch> watch_;
  std::optional<simt::DeviceBuffer<char>> flushed_;
  std::optional<Factors<T>> factors_;  // last downloaded
  std::vector<T> b_, x_;
};

}  // namespace lulab::bench
