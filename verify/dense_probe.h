#pragma once
// Dense problems that never leave the device: entries come from a hash, and factors are judged by what they do to a
// vector, so that n = 32768 needs neither a second matrix nor a transfer.

#include <cstdint>
#include <string>

#include "core/simt/device.h"
#include "core/status.h"
#include "dense/device_dense.h"

namespace lulab {

enum class DenseKind {
  uniform,   // needs row pivoting
  dominant,  // the diagonal exceeds the sum of its row and of its column: for rungs without pivoting
};

/// An n x n matrix whose entry (i,j) is a hash of (seed, i, j).
struct DenseProblem {
  std::int32_t n = 0;
  std::uint64_t seed = 1;
  DenseKind kind = DenseKind::uniform;
};

/// A(i,j): a multiple of 2^-24 in (-1, 1), never zero, the same in float and double; `dominant` adds n on the diagonal.
///
/// Requires  0 <= i, j < n <= 2^17.
/// Source    mixing function of splitmix64 (Steele, Lea & Flood 2014).
template <class T>
T dense_entry(const DenseProblem& problem, std::int32_t i, std::int32_t j);

/// Enqueues a.a := A and poisons the results: ipiv := -1, info := -1.
///
/// Shapes    a: n x n, ld >= n; rows below n of a column are left alone.
/// Requires  problem.n = a.n >= 1.
/// Errors    device_error.
template <class T>
Status fill_dense(const DenseProblem& problem, const dense::DeviceDense<T>& a, simt::Stream& stream);

struct DenseVerdict {
  double lu_residual = 0;  // max over x of ||P·A·x − L·(U·x)||_inf / (n · eps · ||A·x||_inf); right: <= 30
  double growth = 0;       // max |U| / max |A|
  std::string failure;     // what is wrong; empty: P·A = L·U to rounding error
};

/// Multiplies P·A and L·U with two random vectors, in double, A made anew from the hash.
///
/// LAPACK's dget01 divides by ||A|| ||x||, which for random entries is larger than ||A·x|| by sqrt(n)/4: one wrong
/// entry would hide in it. In float it can still hide beside a dominant diagonal (n >= 300), never in double.
///
/// Shapes    lu: as getrf leaves it, with ipiv and info; ld >= n.
/// Requires  problem.n = lu.n >= 1.
/// Ensures   a NaN, an infinity, info != 0 and an ipiv that is no swap sequence are failures. eps is the unit roundoff.
/// Errors    out_of_memory, device_error.
/// Cost      O(n^2) time, 3 n ceil(n/512) + 12 n doubles on the device.
template <class T>
Result<DenseVerdict> probe_dense_factors(const DenseProblem& problem, const dense::DeviceDense<T>& lu,
                                         simt::Stream& stream);

}  // namespace lulab
