#pragma once
// Dense factorizations of matrices that are made and judged on the device: one large one, or a batch of small ones.

#include <functional>
#include <string_view>
#include <vector>

#include "core/rung.h"
#include "dense/08_batched_kernel.h"
#include "dense/device_dense.h"
#include "model/dense_limits.h"
#include "verify/dense_probe.h"

namespace lulab::bench {

/// Matrices on the device, their stream and clock: shared by all that are timed in turn on them.
template <class T>
struct DenseArena {
  simt::Stream stream;
  simt::Timer timer;
  simt::DeviceBuffer<T> a;                      // (n, n, batch)
  simt::DeviceBuffer<std::int32_t> ipiv, info;  // (n, batch), (batch)
  DenseShape shape;

  /// Errors    out_of_memory with what was asked and what is free, device_error.
  static Result<DenseArena> create(const DenseShape& shape);
  dense::DeviceDense<T> matrix() const { return {shape.n, shape.n, a.data(), ipiv.data(), info.data()}; }
  dense::DenseBatchView<T> batch() const;
};

/// Enqueues the factorization of what lies in the arena it was prepared for.
struct DenseRoutine {
  std::function<Status()> getrf;
  std::int64_t work_bytes = 0;  // on the device, beside the arena
  bool pivots = true;           // else the diagonal must be dominant
};

/// What factors a batch: prepare() makes workspace and a routine for this batch and stream, which outlive it.
struct BatchRung {
  std::string_view id;  // as in benchmark names
  Result<DenseRoutine> (*prepare_f32)(const dense::DenseBatchView<float>& batch, simt::Stream& stream);
  Result<DenseRoutine> (*prepare_f64)(const dense::DenseBatchView<double>& batch, simt::Stream& stream);
};
/// The ones of this build, the library's first.
std::vector<BatchRung> batch_rungs();
/// cuBLAS (cuda/library_batch.cpp); none in the simulator (host/library_batch.cpp).
std::vector<BatchRung> library_batch_rungs();

/// Does the rung factor matrices that lie on the device, of this size?
template <class T>
bool takes_device_matrix(const Rung& rung, std::int32_t n);

/// Requires  takes_device_matrix<T>(rung, n); the arena outlives the routine.
/// Errors    those of the rung's preparation.
template <class T>
Result<DenseRoutine> prepare_matrix(const Rung& rung, DenseArena<T>& arena);
template <class T>
Result<DenseRoutine> prepare_batch(const BatchRung& rung, DenseArena<T>& arena);

/// The routine alone, between two events, on the matrices of this seed: uniform entries, or a dominant diagonal where
/// it
/// does not pivot.   Unit ms.
template <class T>
Result<double> run_dense(const DenseRoutine& routine, DenseArena<T>& arena, std::uint64_t seed);

/// Judges what run_dense() with this seed left.   Errors needs_repivot saying what is wrong.
template <class T>
Result<DenseVerdict> judge_dense(const DenseRoutine& routine, DenseArena<T>& arena, std::uint64_t seed);

/// One run of size n by itself, the better of two: the first may load code.   Unit ms.
template <class T>
Result<double> trial_ms(const Rung& rung, std::int32_t n);

}  // namespace lulab::bench
