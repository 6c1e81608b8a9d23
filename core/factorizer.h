#pragma once
// The one numeric contract: the calls of every rung, their order, and what became of each system.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/device_scaling.h"
#include "core/rung.h"

namespace lulab {

/// One pattern factored by one rung, for one matrix or for a batch of `systems` matrices with that pattern.
///
/// Calls in order: analyze, then upload + factor, then any number of upload + refactor; wait() before download().
/// Rungs on the GPU only enqueue in upload, factor and refactor; wait() waits. Rungs on the CPU are done when factor()
/// or refactor() returns, and these return what wait() returns.
///
/// Errors    invalid_argument (wrong shape, call order, a value of A that is not finite), numerically_singular from
///           factor(), needs_repivot from refactor() or where pivots are fixed (where.columns = column in A's
///           numbering), out_of_memory, device_error, deadlock. After an error no factors are available; download()
///           returns that error until a later factor() or refactor() succeeds. Factors that download() returns are
///           finite, their pivots not zero; CPU wrappers of libraries may find an overflow only in download().
/// Batches   need fixed pivots: the plan's diagonal in every system. A system that fails leaves the others alone.
template <class T>
class Factorizer final {
 public:
  /// facts: of the rung that the backend belongs to; they must outlive the Factorizer.
  explicit Factorizer(std::unique_ptr<Backend<T>> backend, const RungFacts& facts = fixed_pivots_facts,
                      const FactorOptions& options = {});
  ~Factorizer();
  Factorizer(Factorizer&&) noexcept;

  /// Takes the pattern-only results; they must outlive the Factorizer.   Requires  systems >= 1.
  /// Errors    invalid_argument (systems < 1, an option out of range), not_implemented (systems > 1 and pivots by
  ///           value), out_of_memory, device_error, those of the rung.
  Status analyze(const Analysis& analysis, std::int32_t systems = 1);
  /// After r and c of the analyzed plan have changed: as analyze(), but what does not depend on them is kept.
  /// Errors    as analyze(); not_implemented: call analyze() instead.
  Status take_scales();
  /// values: (nnz(A), systems), a system's together, in the order of the analyzed A. Factors of earlier values are no
  /// longer available; their pivots are. Float factors see R·A·C as scaled in double, then rounded.
  Status upload(std::span<const T> values);
  // Clang 14 takes two functions whose parameters agree for the same one, whatever they require.
  using OtherScalar = std::conditional_t<std::is_same_v<T, double>, float, double>;
  Status upload(std::span<const OtherScalar> values) requires(!std::is_same_v<T, double>);
  /// The same from device memory, enqueued on stream(): d_values may change once it was waited for. R·A·C that is out
  /// of the range of T is infinite there, and found as an infinite entry of A is.
  /// Errors    not_implemented: the rung takes none from there; out_of_memory, device_error.
  Status upload_from_device(const double* d_values);
  /// Can it be called?
  bool takes_from_device() const;
  /// Allocates what it needs, which the first call does otherwise.   Errors out_of_memory, device_error.
  Status prepare_upload_from_device();
  Status factor();
  /// Same pattern and pivots as the last factor(), the values last uploaded.
  Status refactor();
  /// Makes the call below possible: on a device, of one system, where no pivots are perturbed. Nothing runs meanwhile;
  /// factors stay, refactor() may take longer.
  /// Errors    not_implemented: this rung does not do it, or has no memory for it, and goes on without; out_of_memory,
  ///           device_error: analyze() is next.
  Status prepare_right_side();
  /// refactor() that carries a right-hand side along as one more column: device_arrays().y is L⁻¹ of it.
  /// Requires  prepare_right_side(); b stays as it is until stream() was waited for.
  Status refactor_with(const RightSide& b);
  /// upload_from_device() and refactor() by a graph that recorded both, launched on a stream for which stream() will
  /// wait.
  Status replay(simt::Graph& recorded, simt::Stream& stream);
  /// Enqueues what wait() needs to know, on a stream that has waited for stream() and for which stream() will wait: for
  /// callers that enqueue more before they wait.
  Status download_outcome(simt::Stream& stream) { return active().download_outcome(stream); }
  /// Errors    of all systems at once; otherwise that of the first system that failed, see statuses().
  Status wait();
  /// After wait(): what became of each system, (systems). Empty: an error of all systems, or nothing was factored.
  std::span<const Status> statuses() const { return statuses_; }

  /// Waits. Errors  that of the system; invalid_argument: no such system.
  Result<Factors<T>> download(std::int32_t system = 0);
  /// The values of L and U alone, in the order of download()'s: for a caller that keeps the Factors of an earlier
  /// refactorization. They are there on return.
  /// Shapes    values: (nnz(L+U)).   Errors as download(); invalid_argument for another size.
  Status download_values(std::span<T> values, std::int32_t system = 0);
  /// After wait(): what is known without download(): peak_bytes (of all systems), perturbed_pivots.
  Statistics statistics(std::int32_t system = 0) const;
  /// They stay where they are until the next analyze(); what is in them is enqueued on stream(). `a` is null where the
  /// rung got R·A·C in place of A.
  DeviceArrays<T> device_arrays() const;
  /// After a wait() that found no error, of one system. They stay where they are until the next analyze().
  HostArrays<T> host_arrays() const;
  /// The stream the work is enqueued on; null for rungs on the CPU.
  simt::Stream* stream();

  std::int32_t systems() const { return systems_; }
  /// The backend, for a caller that knows its type.
  Backend<T>& backend() { return *backend_; }

 private:
  Status refuse(Status why);
  Status start(Phase phase);
  template <class Enqueue>
  Status start(Phase phase, const Enqueue& enqueue);
  template <class S>
  Status upload_any(std::span<const S> values);
  Status scale_and_upload(const double* d_values);
  template <class S>
  Result<std::span<const T>> for_rung(std::span<const S> values);
  Status check_system(std::int32_t system);
  template <class Step>
  auto guarded(Step&& step) -> decltype(step());

  const RungFacts* facts_;
  FactorOptions options_;
  std::unique_ptr<Backend<T>> backend_;
  std::unique_ptr<Backend<T>> loop_;  // over the systems of a batch, where backend_ takes one
  const Analysis* analysis_ = nullptr;
  std::unique_ptr<const Analysis> of_scaled_;  // with R = C = 1: the rung gets R·A·C; null: the rung scales
  std::vector<T> for_rung_;                    // (nnz(A), systems), where they are not the caller's values
  std::optional<DeviceScaling<T>> scaling_;    // the same on the device, once it was asked for
  std::int32_t systems_ = 1;
  bool has_values_ = false, has_pivots_ = false;
  bool in_flight_ = false;  // enqueued, not yet waited for
  Phase phase_ = Phase::factor;
  Status error_;                  // why there are no factors; ok: there are
  std::vector<Status> statuses_;  // (systems) or none

  Backend<T>& active() { return loop_ ? *loop_ : *backend_; }
  const Backend<T>& active() const { return loop_ ? *loop_ : *backend_; }
};

/// In front of a backend that belongs to no rung of the ladder: one of a test, or a rung's with options of its own.
template <class B, class... Args>
Factorizer<typename B::Value> factorizer_of(Args&&... args) {
  return Factorizer<typename B::Value>(std::make_unique<B>(std::forward<Args>(args)...));
}

}  // namespace lulab
