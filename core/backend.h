#pragma once
// What a rung writes. Factorizer<T> (core/factorizer.h) stands in front of it and keeps the order of calls.
//
// Two base classes know most of it: HostBackend (a rung on the CPU writes eliminate() and result()) and DeviceBackend
// (a rung on the GPU writes prepare_rung() and launch()).

#include <algorithm>
#include <cstdint>
#include <span>

#include "core/plan.h"
#include "core/simt/device.h"
#include "core/status.h"

namespace lulab {

enum class Phase {
  factor,    // choose pivots, unless they are fixed
  refactor,  // the same pattern and pivots, other values
};

/// Arrays of a rung on the GPU, in device memory; null where the rung keeps no array of this layout.
template <class T>
struct DeviceArrays {
  const T* a = nullptr;   // (nnz(A), systems) as last uploaded
  const T* lu = nullptr;  // (nnz(L+U), systems) of the last factorization, in the order of download(); a system that
                          // failed holds no useful values
  const std::int32_t* failed_column = nullptr;  // (systems) the smallest column that failed; n: none
  const std::int32_t* perturbed = nullptr;      // (systems) perturbed pivots
  const T* y = nullptr;                         // (n) L⁻¹ b of the last factorization that carried one (RightSide)
};

/// b of a factorization that carries it along as one more column of A, in device memory: scaled and permuted, P R b.
struct RightSide {
  const double* scaled = nullptr;               // (n)
  const unsigned long long* largest = nullptr;  // (1) bits of max |scaled|; b is brought to size 1 by a power of two
};

/// Arrays of a rung on the CPU, of the last factorization.
template <class T>
struct HostArrays {
  std::span<const T> lu;  // (nnz(L+U)) in the order of download(), finite, no pivot zero; empty: the rung keeps no such
                          // array
  const Plan* plan = nullptr;             // of lu, where the rung chose pivots by value; null: that of the analysis
  const FilledPattern* filled = nullptr;  // likewise
  double max_pracq = 0;                   // max |P·R·A·C·Q|
};

/// One factorization at work, for one pattern and `systems` sets of values.
///
/// Factorizer calls prepare(), then upload() and enqueue() in turn, collect() after each enqueue(), and download() only
/// for a system whose status is ok. Every function may throw std::bad_alloc.
template <class T>
class Backend {
 public:
  using Value = T;

  virtual ~Backend() = default;

  /// Once an analysis, which outlives the other calls: workspace, schedules.   Requires  systems = 1, or
  /// RungFacts::takes_batches.
  virtual Status prepare(const Analysis& analysis, std::int32_t systems) = 0;
  /// Other scalings r and c in the analysis of prepare(); nothing runs.   Errors not_implemented: prepare() anew.
  virtual Status take_scales() {
    return Status::error(StatusCode::not_implemented, "this rung keeps nothing when scalings change");
  }
  /// values: (nnz(A), systems), a system's together, in A's own order. They may be enqueued; the caller's array may
  /// change on return where stream() is null, else after stream()->wait().
  virtual Status upload(std::span<const T> values) = 0;
  /// The same from device memory, enqueued on stream().   Errors not_implemented: the rung takes none from there.
  virtual Status upload_from_device(const T* d_values);
  /// Starts the factorization of the values last uploaded. On the CPU it is over on return.
  /// Errors    of all systems at once (device_error, out_of_memory, ...). What is wrong with one system, collect()
  ///           says.
  virtual Status enqueue(Phase phase) = 0;
  /// Makes enqueue_with() possible.   Ensures the last factorization stays.
  /// Errors    not_implemented: this rung carries no right-hand side along, or not with what memory there is, and goes
  ///           on without; out_of_memory, device_error: nothing can be enqueued any more.
  virtual Status prepare_right_side() {
    return Status::error(StatusCode::not_implemented, "this rung carries no right-hand side along");
  }
  /// enqueue(Phase::refactor) that carries b along: DeviceArrays::y. b need not be finite.
  /// Requires  prepare_right_side(), one system.
  virtual Status enqueue_with(const RightSide& /*b*/) {
    return Status::error(StatusCode::not_implemented, "this rung carries no right-hand side along");
  }
  /// Enqueues what collect() copies to the host, on a stream that has waited for the factorization; without this call
  /// collect() does so itself.
  virtual Status download_outcome(simt::Stream& /*stream*/) { return {}; }
  /// Waits until it is over.
  /// Shapes    statuses: (systems), ok on entry. numerically_singular from Phase::factor, needs_repivot from
  ///           Phase::refactor or where pivots are fixed; where.columns = column in A's numbering.
  /// Errors    of all systems at once.
  virtual Status collect(std::span<Status> statuses) = 0;

  virtual Result<Factors<T>> download(std::int32_t system) = 0;
  /// The values of L and U alone, in the order of download()'s.   Shapes values: (nnz(L+U)).
  virtual Status download_values(std::span<T> values, std::int32_t system) {
    LULAB_ASSIGN_OR_RETURN(const auto factors, download(system));
    LULAB_RETURN_IF_ERROR(check_room(values.size(), factors.values.size()));
    std::ranges::copy(factors.values, values.begin());
    return {};
  }
  /// What is known without download(): peak_bytes (of all systems), perturbed_pivots.
  virtual Statistics statistics(std::int32_t /*system*/) const { return {}; }
  virtual DeviceArrays<T> device_arrays() const { return {}; }
  virtual HostArrays<T> host_arrays() const { return {}; }
  /// The stream the work is enqueued on; null on the CPU.
  virtual simt::Stream* stream() { return nullptr; }

 protected:
  /// Errors    invalid_argument: `given` values are not the nnz(L+U) there are.
  static Status check_room(std::size_t given, std::size_t nnz);
};

}  // namespace lulab
