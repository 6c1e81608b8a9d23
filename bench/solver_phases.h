#pragma once
// The phases for which a user waits, step, step_device and first: whole solvers side by side, each as its users call
// it, every x judged.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "bench/peers/peer.h"
#include "bench/problem.h"
#include "core/rung.h"

namespace lulab::bench {

/// A solver with one matrix, as the phases call it. Values, b and x are in host memory.
class TimedSolver {
 public:
  virtual ~TimedSolver() = default;
  /// Names of the parts of a step or of a first solution.
  virtual std::vector<std::string> parts(Phase phase) const = 0;
  /// What comes before the first step: A analyzed and factored.
  virtual Status prepare(const CscView<double>& a) = 0;
  /// x with A x = b for new values.   Returns the ms of parts(Phase::step).   Requires prepare().
  virtual Result<Times> step(std::span<const double> values, std::span<const double> b, std::span<double> x) = 0;
  /// The same with all three in device memory: what brings them there and back is not timed. A solver that works on the
  /// host makes the step there.   Returns the ms of the whole, then of parts(Phase::step_device).
  virtual Result<Times> step_device(std::span<const double> values, std::span<const double> b, std::span<double> x) = 0;
  /// The same from the beginning.   Returns the ms of parts(Phase::first).   Requires no call before it.
  virtual Result<Times> first(const CscView<double>& a, std::span<const double> b, std::span<double> x) = 0;
  /// The values of A in the order that this solver takes them in, before the clock starts (bench/peers/peer.h).
  virtual std::span<const double> in_own_order(std::span<const double> values) { return values; }
  virtual bool works_on_host() const { return true; }
  /// That live on between calls, so that none are seen to start.
  virtual int threads() const { return 1; }
  /// Fills in label, chosen_rung, choice_reason.
  virtual void describe(Row&) const {}
};

struct Contender {
  std::string id;
  Scalar scalar = Scalar::f64;
  std::function<std::unique_ptr<TimedSolver>()> make;
  double accuracy = 0;  // largest componentwise backward error of x
  std::function<Result<std::string>()> reason_to_skip = {};
};

/// Solver<T> with its defaults, apart from the options of the factorization; auto_rung() is Solver's own choice.
/// x is refined: its backward error is at most 1e-12.
///
/// Requires  rung.supports<T>(); rung and problem outlive the contender.
template <class T>
Contender solver_contender(const Rung& rung, const Problem& problem, const FactorOptions& factor = {});

/// KLU with its own defaults, without refinement: a backward error of at most 10 sqrt(eps).
///
/// Requires  problem outlives it.
Contender klu_contender(const Problem& problem);
/// KLU with the order of the problem's plan. In the phase first the order is made, too: preprocess() with the one that
/// the analysis chose.
Contender klu_our_order_contender(const Problem& problem);
/// Another library, with a backward error of at most 10 sqrt(eps), too.
Contender peer_contender(const PeerLibrary& library, const Problem& problem);

/// Componentwise backward error of x (solve/refine.h).
/// Errors    needs_repivot: above the limit, or NaN.
Result<double> judge_solution(const CscView<double>& a, std::span<const double> x, std::span<const double> b,
                              double limit);

/// The contenders in one phase, taking turns. Each run has one of three sets of values and b, or one step of the
/// problem's sequence, by the round's seed, in page-locked memory; x is NaN before. The clock is the host's, of
/// step_device on a GPU that of its stream. x is judged after each run; the first bad one ends the case without a time,
/// and Row::backward_error is the largest. For `first` each run has a fresh solver; the second says what memory it
/// takes.
/// energy: of steps on the GPU, too, one after the other, whose last x is judged.
///
/// Requires  is_solver_phase(phase); problem outlives the cases.
std::vector<Case> solver_cases(const std::vector<Contender>& contenders, const Problem& problem, Phase phase,
                               bool energy = false);

}  // namespace lulab::bench
