#pragma once
// For tests of Solver: a rung on the device that is right but slow, that perturbs pivots and can be told to fail; and
// rungs that compute on the device, but keep their arrays to themselves. For *_test.cu.

#include <limits>
#include <memory>
#include <utility>

#include "core/device_factorizer.h"
#include "core/simt/kernel.h"

namespace lulab::testing {

/// What goes wrong in every factorization of OneThread.
enum class Trouble {
  none,
  no_launch,        // the launch is refused
  endless_wait,     // the kernel waits for what never comes: the simulator only
  silent_infinity,  // an entry of L is infinite, and no column is reported
};
inline Trouble trouble = Trouble::none;

/// Left-looking, one thread.   grid, block: 1
template <class T>
__global__ void eliminate_by_one_thread_kernel(DeviceFactorsView<T> f, T infinity) {
  const T least = f.perturb_pivots * *f.a_max;
  for (std::int32_t j = 0; j < f.n; ++j) {
    for (std::int64_t p = f.col_ptr[j]; p < f.diag[j]; ++p) {
      const std::int32_t k = f.row_idx[p];
      const T u = f.values[p];
      std::int64_t to = p + 1;
      for (std::int64_t s = f.diag[k] + 1; s < f.col_ptr[k + 1]; ++s) {
        while (f.row_idx[to] < f.row_idx[s]) ++to;
        f.values[to] -= f.values[s] * u;
      }
    }
    T pivot = f.values[f.diag[j]];
    if (fabs(static_cast<double>(pivot)) < static_cast<double>(least)) {
      pivot = f.values[f.diag[j]] = pivot < T(0) ? -least : least;
      ++*f.perturbed;
    }
    bool sound = pivot != T(0);
    for (std::int64_t p = f.diag[j] + 1; p < f.col_ptr[j + 1]; ++p) {
      f.values[p] /= pivot;
      sound = sound && f.values[p] - f.values[p] == T(0);
    }
    if (!sound && j < *f.failed_column) *f.failed_column = j;
  }
  if (infinity == infinity) f.values[f.diag[0] + 1] = infinity;
}

template <class Int>
__global__ void wait_for_ever_kernel(Int* never) {
  cuda::atomic_ref<Int, cuda::thread_scope_device> flag(*never);
  while (flag.load(cuda::memory_order_acquire) != -77) {  // RACE: nobody stores it
  }
}

template <class T>
class OneThread final : public DeviceFactorizer<T> {
 public:
  explicit OneThread(const FactorOptions& options) : DeviceFactorizer<T>({.perturb_pivots = options.perturb_pivots}) {}

 protected:
  Status prepare() override { return {}; }
  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    if (trouble == Trouble::endless_wait)
      return simt::launch(wait_for_ever_kernel<std::int32_t>, {.grid = 1, .block = 1}, stream, f.failed_column);
    return simt::launch(eliminate_by_one_thread_kernel<T>,
                        {.grid = 1, .block = trouble == Trouble::no_launch ? 1u << 20 : 1u}, stream, f,
                        trouble == Trouble::silent_infinity ? infinity : nan);
  }
  std::int64_t work_bytes() const override { return 0; }
};

/// Another factorizer without device_arrays(): a Solver judges and solves on the host.
template <class T>
class Reticent final : public Factorizer<T> {
 public:
  explicit Reticent(std::unique_ptr<Factorizer<T>> inner) : inner_(std::move(inner)) {}
  Status analyze(const Analysis& analysis) override { return inner_->analyze(analysis); }
  Status upload(std::span<const T> values) override { return inner_->upload(values); }
  Status factor() override { return inner_->factor(); }
  Status refactor() override { return inner_->refactor(); }
  Status wait() override { return inner_->wait(); }
  Result<Factors<T>> download() override { return inner_->download(); }
  Statistics statistics() const override { return inner_->statistics(); }
  simt::Stream* stream() override { return inner_->stream(); }

 private:
  std::unique_ptr<Factorizer<T>> inner_;
};

template <class T>
std::unique_ptr<Factorizer<T>> make_one_thread(const FactorOptions& options) {
  return std::make_unique<OneThread<T>>(options);
}
template <class T>
std::unique_ptr<Factorizer<T>> make_reticent(const FactorOptions& options) {
  return std::make_unique<Reticent<T>>(std::make_unique<OneThread<T>>(options));
}

/// A rung of one thread, and the same with factors that only the host sees.
inline Rung one_thread_rung(bool reticent = false, bool perturbs = true) {
  Rung rung;
  rung.facts.id = reticent ? "test/one_thread_reticent" : "test/one_thread";
  rung.facts.pivoting = Pivoting::fixed;
  rung.facts.device = Device::gpu;
  rung.facts.perturbs_pivots = perturbs;
  rung.make_float = reticent ? make_reticent<float> : make_one_thread<float>;
  rung.make_double = reticent ? make_reticent<double> : make_one_thread<double>;
  return rung;
}

}  // namespace lulab::testing
