#pragma once
// Many value sets of one matrix's pattern, factored in one call by a rung that has batches of its own.

#include <memory>

#include "bench/problem.h"
#include "core/batch_factorizer.h"
#include "core/simt/device.h"

namespace lulab::bench {

template <class T>
constexpr bool has_batch_phase(const Rung& rung) {
  return std::is_same_v<T, float> ? rung.make_batch_float != nullptr : rung.make_batch_double != nullptr;
}

template <class T>
class BatchSubject {
 public:
  /// Uploads `systems` perturbed copies of the problem's values.
  ///
  /// Requires  has_batch_phase<T>(rung); `problem` outlives the subject; systems >= 1.
  /// Errors    those of the rung.
  static Result<BatchSubject> create(const Rung& rung, const Problem& problem, std::int32_t systems,
                                     const FactorOptions& factor = {});

  /// One factorization of all systems: device time between two events, or steady_clock where it runs on the CPU, divided by
  /// their number.   Unit ms a system.   Errors    those of the rung.
  Result<double> sample();

  /// Largest componentwise backward error, before refinement, of a solve with the first, the middle and the last system's
  /// factors.   Errors    those of a system; needs_repivot when it exceeds 10 sqrt(eps).
  Result<double> verify();

  std::int64_t peak_bytes() const;

 private:
  BatchSubject(const Problem& problem, std::int32_t systems) : problem_(&problem), systems_(systems) {}
  std::vector<double> values_of(std::int32_t system) const;

  const Problem* problem_;
  std::int32_t systems_;
  std::unique_ptr<BatchFactorizer<T>> batch_;
  std::optional<simt::Timer> timer_;
};

}  // namespace lulab::bench
