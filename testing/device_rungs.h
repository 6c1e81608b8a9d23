#pragma once
// For tests of Solver: a rung on the device that is right but slow, that perturbs pivots and can be told to fail; and
// rungs that compute on the device, but keep their arrays to themselves. For *_test.cu.

#include <limits>
#include <memory>
#include <utility>

#include "core/device_backend.h"
#include "core/rung.h"
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
/// While it lives every factorization of OneThread goes wrong like this.
struct WithTrouble {
  explicit WithTrouble(Trouble which) { trouble = which; }
  ~WithTrouble() { trouble = Trouble::none; }
};

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
  while (flag.load(cuda::memory_order_acquire) != -77) {  // RACE: no thread stores it
  }
}

template <class T>
class OneThread final : public DeviceBackend<T> {
 public:
  explicit OneThread(const FactorOptions& options) : DeviceBackend<T>({.perturb_pivots = options.perturb_pivots}) {}

 protected:
  Status prepare_rung() override { return {}; }
  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    if (trouble == Trouble::endless_wait)
      return simt::launch(wait_for_ever_kernel<std::int32_t>, {.grid = 1, .block = 1}, stream, f.failed_column);
    DeviceFactorsView<T> of_system = f;
    for (std::int32_t s = 0; s < this->systems(); ++s) {
      LULAB_RETURN_IF_ERROR(simt::launch(eliminate_by_one_thread_kernel<T>,
                                         {.grid = 1, .block = trouble == Trouble::no_launch ? 1u << 20 : 1u}, stream,
                                         of_system, trouble == Trouble::silent_infinity ? infinity : nan));
      of_system.values += this->analysis().filled.nnz();
      ++of_system.failed_column;
      ++of_system.perturbed;
      ++of_system.a_max;
    }
    return {};
  }
  std::int64_t work_bytes() const override { return 0; }
};

/// The same without device_arrays(): a Solver checks the pivots and solves on the host.
template <class T>
class OneThreadHidden final : public Backend<T> {
 public:
  explicit OneThreadHidden(const FactorOptions& options) : inner_(options) {}
  Status prepare(const Analysis& analysis, std::int32_t systems) override { return inner_.prepare(analysis, systems); }
  Status upload(std::span<const T> values) override { return inner_.upload(values); }
  Status enqueue(Phase phase) override { return inner_.enqueue(phase); }
  Status collect(std::span<Status> statuses) override { return inner_.collect(statuses); }
  Result<Factors<T>> download(std::int32_t system) override { return inner_.download(system); }
  Statistics statistics(std::int32_t system) const override { return inner_.statistics(system); }
  simt::Stream* stream() override { return inner_.stream(); }

 private:
  OneThread<T> inner_;
};

/// Factors with one thread. hidden: only the host sees its factors; batches: takes several systems at once.
inline Rung one_thread_rung(bool hidden = false, bool perturbs = true, bool batches = false) {
  const RungFacts facts = {.id = hidden    ? "test/one_thread_hidden"
                                 : batches ? "test/one_thread_batch"
                                           : "test/one_thread",
                           .pivoting = Pivoting::fixed,
                           .device = Device::gpu,
                           .perturbs_pivots = perturbs,
                           .takes_batches = batches};
  return hidden ? rung_of<OneThreadHidden>(facts) : rung_of<OneThread>(facts);
}

/// one_thread_rung() with batches.
inline Rung one_thread_batch_rung() { return one_thread_rung(false, false, true); }

}  // namespace lulab::testing
