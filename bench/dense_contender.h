#pragma once
// A dense GPU rung on matrices that are made and judged on the device, as a contender of bench/alternating.h.

#include <memory>

#include "bench/alternating.h"
#include "core/rung.h"
#include "dense/dense_factorizer.h"
#include "verify/dense_probe.h"

namespace lulab::bench {

/// One matrix on the device, its stream and clock: shared by contenders that take turns on it.
template <class T>
struct DenseArena {
  simt::Stream stream;
  simt::Timer timer;
  simt::DeviceBuffer<T> a;                     // (n, n)
  simt::DeviceBuffer<std::int32_t> ipiv_info;  // (n + 1)
  std::int32_t n = 0;

  /// Errors    out_of_memory with what was asked and what is free, device_error.
  static Result<DenseArena> create(std::int32_t n);
  dense::DeviceDense<T> matrix() const { return {n, n, a.data(), ipiv_info.data(), ipiv_info.data() + n}; }
};

template <class T>
class DenseContender final : public Contender {
 public:
  /// Prepares the rung for the arena's size.
  ///
  /// Requires  takes_device_matrix<T>(rung, arena.n); the arena outlives the contender.
  /// Errors    those of DenseFactorizer::prepare_getrf().
  static Result<std::unique_ptr<DenseContender>> create(const Rung& rung, DenseArena<T>& arena);

  /// getrf() alone, between two events; the matrix is made before: uniform entries, or a dominant diagonal where the
  /// rung does not pivot.
  Result<double> run(std::uint64_t seed) override;
  Status judge() override;

  /// Of the last judge().
  const DenseVerdict& verdict() const { return verdict_; }
  /// Device memory of the matrix and of the rung's workspace.
  std::int64_t bytes() const;

 private:
  DenseContender(const Rung& rung, DenseArena<T>& arena, std::unique_ptr<Factorizer<T>> factorizer);

  DenseArena<T>* arena_;
  std::unique_ptr<Factorizer<T>> owner_;
  dense::DenseFactorizer<T>* rung_;  // what owner_ is
  DenseProblem problem_;
  DenseVerdict verdict_;
};

/// Whether a rung factors matrices that lie on the device, of this size.
template <class T>
bool takes_device_matrix(const Rung& rung, std::int32_t n);

/// One run of size n by itself, the better of two: the first may load code.   Unit ms.
template <class T>
Result<double> trial_ms(const Rung& rung, std::int32_t n);

}  // namespace lulab::bench
