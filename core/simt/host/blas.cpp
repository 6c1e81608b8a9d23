// Blas in the simulator: plain loops, each sum in ascending order of its index.

#include "core/simt/blas.h"

#include "core/simt/blas_operand.h"
#include "core/simt/host/stream_impl.h"

namespace lulab::simt {

struct Blas::Impl {
  Stream::Impl* stream;
};

Blas::Blas(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Blas::~Blas() = default;
Blas::Blas(Blas&&) noexcept = default;
Blas& Blas::operator=(Blas&&) noexcept = default;

std::int64_t Blas::bytes() const { return 0; }

Result<Blas> Blas::create(Stream& stream) {
  if (stream.impl().capturing())
    return Status::error(StatusCode::invalid_argument, "Blas::create: the stream is being captured; create it before");
  return Blas(std::make_unique<Impl>(Impl{&stream.impl()}));
}

template <class T>
Status Blas::subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, const T* d_a, std::int64_t lda,
                              const T* d_b, std::int64_t ldb, T* d_c, std::int64_t ldc) {
  LULAB_RETURN_IF_ERROR(check_operand("subtract_product", {"A", m, k, d_a, lda}));
  LULAB_RETURN_IF_ERROR(check_operand("subtract_product", {"B", k, n, d_b, ldb}));
  LULAB_RETURN_IF_ERROR(check_operand("subtract_product", {"C", m, n, d_c, ldc}));
  return impl_->stream->enqueue([=] {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t i = 0; i < m; ++i) d_c[i + j * ldc] -= d_a[i + p * lda] * d_b[p + j * ldb];
    return Status{};
  });
}

template <class T>
Status Blas::solve_unit_lower(std::int64_t m, std::int64_t n, const T* d_l, std::int64_t ldl, T* d_b,
                              std::int64_t ldb) {
  LULAB_RETURN_IF_ERROR(check_operand("solve_unit_lower", {"L", m, m, d_l, ldl}));
  LULAB_RETURN_IF_ERROR(check_operand("solve_unit_lower", {"B", m, n, d_b, ldb}));
  return impl_->stream->enqueue([=] {
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t p = 0; p < m; ++p)
        for (std::int64_t i = p + 1; i < m; ++i) d_b[i + j * ldb] -= d_l[i + p * ldl] * d_b[p + j * ldb];
    return Status{};
  });
}

#define LULAB_BLAS(T)                                                                                                \
  template Status Blas::subtract_product(std::int64_t, std::int64_t, std::int64_t, const T*, std::int64_t, const T*, \
                                         std::int64_t, T*, std::int64_t);                                            \
  template Status Blas::solve_unit_lower(std::int64_t, std::int64_t, const T*, std::int64_t, T*, std::int64_t);
LULAB_BLAS(float)
LULAB_BLAS(double)
#undef LULAB_BLAS

}  // namespace lulab::simt
