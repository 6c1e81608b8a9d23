#pragma once
// The symbolic factorization that a rung's paper brings along on the device, timed and compared with the analysis.

#include "bench/problem.h"
#include "core/rung.h"
#include "core/simt/device.h"
#include "symbolic/fill_sflu.h"

namespace lulab::bench {

/// The phase symbolic of this rung is SymbolicSubject's.
constexpr bool has_symbolic_phase(const Rung& rung) { return rung.facts.id == "sparse_syncfree/01_sflu"; }

class SymbolicSubject {
 public:
  /// Searches once and compares: this is the warm-up, and finds out how much room L + U take.
  ///
  /// Requires  `problem` outlives the subject.
  /// Errors    those of fill_sflu() and of verify().
  static Result<SymbolicSubject> create(const Problem& problem);

  /// One search: device time between two events, with the pattern of P·R·A·C·Q there before and that of L + U left there.
  /// Unit ms.   Errors    device_error.
  Result<double> sample();

  /// Does the last search have the pattern of the analysis, which equals fill_reference()'s?
  /// Errors    invalid_argument when not; out_of_memory, device_error, deadlock.
  Status verify();

 private:
  SymbolicSubject(const Problem& problem, simt::Stream stream, simt::Timer timer, SfluFill fill)
      : problem_(&problem), stream_(std::move(stream)), timer_(std::move(timer)), fill_(std::move(fill)) {}

  const Problem* problem_;
  simt::Stream stream_;
  simt::Timer timer_;
  SfluFill fill_;
};

}  // namespace lulab::bench
