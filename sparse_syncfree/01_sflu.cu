// Synchronization-free LU as published: one launch, a block a column, a degree to wait for.  Zhao et al. 2021, Algorithm 2
//
//   for all columns k, in parallel
//     wait for each column that k needs, in the order of its rows, and subtract it
//     divide by the pivot, tell those who wait                               sflu_columns.h

#include "sparse_syncfree/rungs.h"
#include "sparse_syncfree/sflu_columns.h"

namespace lulab::sparse_syncfree {
namespace {

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<SfluFactorizer<T>>();
}

}  // namespace

const Rung sflu = {
    .facts = {.id = "sparse_syncfree/01_sflu",
              .stage = "sparse_syncfree",
              .paper = "Zhao et al. 2021 (SFLU), Algorithm 2",
              .idea =
                  "one launch for all columns: a block a column, whose thread 0 waits until the degree of each column "
                  "it needs is zero",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .dependencies = Dependencies::walking,
              .deterministic = true,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_syncfree
