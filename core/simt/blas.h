#pragma once
// The two dense operations that blocked LU needs, by cuBLAS on a GPU and by plain loops in the simulator.
// Matrices are column-major: element (i,j) of A is d_a[i + j * lda].

#include <cstdint>
#include <memory>

#include "core/simt/device.h"

namespace lulab::simt {

/// Work for one stream, in its order; may be captured into a graph. Moves only.
///
/// Requires  the stream outlives it. T is float or double; float is computed in float, not in TF32.
/// Ensures   equal inputs give equal bits.
class Blas {
 public:
  /// Not while the stream is being captured: it allocates.
  /// Errors    out_of_memory (a workspace of 32 MiB on a GPU), device_error.
  static Result<Blas> create(Stream& stream);
  ~Blas();
  Blas(Blas&&) noexcept;
  Blas& operator=(Blas&&) noexcept;

  /// C <- C - A B.
  ///
  /// Shapes    A: m x k, B: k x n, C: m x n, none of them overlapping C. m, n, k may be 0: nothing to do.
  /// Errors    invalid_argument (a negative size, a leading dimension below the rows, a null pointer), device_error.
  /// Cost      2 m n k flops.
  template <class T>
  Status subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, const T* d_a, std::int64_t lda, const T* d_b,
                          std::int64_t ldb, T* d_c, std::int64_t ldc);

  /// B <- L^-1 B.
  ///
  /// Shapes    L: m x m, unit lower triangular; what is stored on and above its diagonal is not read. B: m x n.
  /// Errors    as above.
  /// Cost      m (m-1) n flops.
  template <class T>
  Status solve_unit_lower(std::int64_t m, std::int64_t n, const T* d_l, std::int64_t ldl, T* d_b, std::int64_t ldb);

  /// Device memory of the workspace.
  std::int64_t bytes() const;

  struct Impl;

 private:
  explicit Blas(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab::simt
