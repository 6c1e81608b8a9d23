#pragma once
// A batched dense LU on many small systems, every one different, as a contender of bench/alternating.h.

#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/alternating.h"
#include "bench/dense_limits.h"
#include "dense/batched.h"
#include "verify/batch_probe.h"

namespace lulab::bench {

/// Enqueues the factorization of the batch it was prepared for.
using BatchRoutine = std::function<Status()>;

/// What factors a batch: prepare() makes workspace and a routine for this batch and stream, which outlive it.
struct BatchRung {
  std::string_view id;  // as in benchmark names
  Result<BatchRoutine> (*prepare_f32)(const dense::DeviceBatch<float>& batch, simt::Stream& stream);
  Result<BatchRoutine> (*prepare_f64)(const dense::DeviceBatch<double>& batch, simt::Stream& stream);
};
/// The ones of this build, the library's first.
std::vector<BatchRung> batch_rungs();
/// cuBLAS (cuda/library_batch.cpp); none in the simulator (host/library_batch.cpp).
std::vector<BatchRung> library_batch_rungs();

/// One batch on the device, its stream and clock: shared by contenders that take turns on it.
template <class T>
struct BatchArena {
  simt::Stream stream;
  simt::Timer timer;
  simt::DeviceBuffer<T> a;                      // (n, n, batch)
  simt::DeviceBuffer<std::int32_t> ipiv, info;  // (n, batch), (batch)
  DenseShape shape;

  /// Errors    out_of_memory with what was asked and what is free, device_error.
  static Result<BatchArena> create(const DenseShape& shape);
  dense::DeviceBatch<T> batch() const;
};

template <class T>
class BatchContender final : public Contender {
 public:
  /// Requires  the arena outlives the contender.
  /// Errors    those of the rung's prepare().
  static Result<std::unique_ptr<BatchContender>> create(const BatchRung& rung, BatchArena<T>& arena);

  Result<double> run(std::uint64_t seed) override;
  Status judge() override;
  /// Of the last judge().
  const DenseVerdict& verdict() const { return verdict_; }

 private:
  BatchContender(BatchArena<T>& arena, BatchRoutine routine) : arena_(&arena), routine_(std::move(routine)) {}

  BatchArena<T>* arena_;
  BatchRoutine routine_;
  std::uint64_t seed_ = 0;
  DenseVerdict verdict_;
};

}  // namespace lulab::bench
