#pragma once
// Batches of small dense systems, every one different, made and judged like the large ones of verify/dense_probe.h.

#include <cstdint>

#include "core/simt/device.h"
#include "core/status.h"
#include "dense/08_batched_kernel.h"
#include "verify/dense_probe.h"

namespace lulab {

/// System s of the batch with this seed.
DenseProblem batch_system(std::int32_t n, std::uint64_t seed, std::int32_t s);

/// Enqueues the systems, and poisons the results: ipiv := -1, info := -1.
///
/// Shapes    batch: as for getrf_batched(); what lies between columns and systems is left alone.
/// Requires  batch.n >= 1, batch.batch >= 1.
/// Errors    device_error.
template <class T>
Status fill_dense_batch(std::uint64_t seed, const dense::DenseBatchView<T>& batch, simt::Stream& stream);

/// By the definition, on the host: ||P·A − L·U||_1 / (n · eps · ||A||_1) of systems spread over the batch, the first
/// and the last among them; info and the swap sequence of every system.
///
/// Shapes    lu: as getrf_batched() leaves it, mask not looked at.
/// Ensures   lu_residual and growth are the largest of the systems looked at, failure names the first wrong one. eps is
///           the unit roundoff; right: <= 30 (LAPACK dget01).
/// Errors    device_error.
/// Cost      4/3 n^3 flops and a transfer for each of 64 systems.
template <class T>
Result<DenseVerdict> probe_dense_batch(std::uint64_t seed, const dense::DenseBatchView<T>& lu, simt::Stream& stream);

}  // namespace lulab
