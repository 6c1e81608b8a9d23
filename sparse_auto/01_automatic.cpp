// Not a way of factoring but a choice between two: a pattern with work for many blocks goes to the GPU, one that is over in
// microseconds, or is one long chain, to the CPU.

#include "core/batch_factorizer.h"
#include "sparse_auto/automatic_factorizer.h"
#include "sparse_auto/rungs.h"

namespace lulab {

namespace sparse_leftlooking {
extern const Rung threads;
}
namespace sparse_syncfree {
extern const Rung supernode_panels;
}

namespace sparse_auto {
namespace {

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions& options) {
  return std::make_unique<AutomaticFactorizer<T>>(
      Candidates{.cpu = &sparse_leftlooking::threads, .gpu = &sparse_syncfree::supernode_panels}, options);
}

/// Of a batch the GPU is the better whatever the pattern: systems fill it that alone would not.
template <class T>
std::unique_ptr<BatchFactorizer<T>> make_batch(const FactorOptions& options) {
  const bool gpu = simt::machine() == simt::Machine::gpu && simt::device_properties().ok();
  return *lulab::make_batch<T>(gpu ? sparse_syncfree::supernode_panels : sparse_leftlooking::threads, options);
}

}  // namespace

// Device::cpu and no dependencies: it needs no GPU. Who wants to know what runs asks choice().
const Rung automatic = {
    .facts = {.id = "sparse_auto/01_automatic",
              .stage = "sparse_auto",
              .paper = "predicted times: symbolic/panel_costs.h, symbolic/panel_costs_cpu.h",
              .idea =
                  "the faster of sparse_syncfree/10_supernode_panels on the GPU and sparse_leftlooking/07_threads on "
                  "the CPU, as the pattern predicts",
              .pivoting = Pivoting::fixed,
              .perturbs_pivots = true},
    .make_float = make<float>,
    .make_double = make<double>,
    .make_batch_float = make_batch<float>,
    .make_batch_double = make_batch<double>};

}  // namespace sparse_auto
}  // namespace lulab
