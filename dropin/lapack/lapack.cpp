// liblulab_lapack.so: LAPACK's LU of a full matrix, as Fortran calls it, by the rungs of dense/. Arguments, results and
// the call of xerbla are LAPACK's. No exception leaves it.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/factorizer.h"
#include "core/simt/device_start.h"
#include "dense/00_reference.h"
#include "dense/91_eigen.h"
#include "dense/dense_backend.h"
#include "dense/rungs.h"
#include "dropin/wanted_device.h"
#include "model/dense_limits.h"

// That of the program, or of its LAPACK; a program without one is told by info alone.
extern "C" __attribute__((weak, visibility("default"))) void xerbla_(const char* name, const int* argument,
                                                                     std::size_t length);

namespace lulab::lapack_shape {

namespace {

/// info where there is no memory and A is half done, for which LAPACK has no number. LAPACKE gives this one.
constexpr int no_memory = -1010;

/// LULAB_LAPACK: cpu, gpu, else by size.
WantedDevice wanted() {
  static const WantedDevice wanted = wanted_device("LULAB_LAPACK");
  return wanted;
}

/// A square matrix from host memory to the device, factored, and back.
template <class T>
class OnDevice {
 public:
  /// Errors    as those of the rung; then A and ipiv are as they were.
  Status factor(DenseView<T> a, std::span<std::int32_t> ipiv, std::int32_t& info) {
    const std::lock_guard lock(mutex_);
    Status done = try_factor(a, ipiv, info);
    if (done.ok()) return done;
    d_a_ = {};
    prepared_n_ = -1;
    if (done.code != StatusCode::invalid_argument && done.code != StatusCode::out_of_memory) is_broken_ = true;
    return done;
  }
  bool is_broken() const { return is_broken_; }

 private:
  Status try_factor(DenseView<T> a, std::span<std::int32_t> ipiv, std::int32_t& info) {
    const std::int32_t n = a.n_cols;
    const std::int64_t size = std::int64_t(n) * n;
    if (n != prepared_n_) LULAB_RETURN_IF_ERROR(prepare(n));
    if (d_a_.size() < size) {
      d_a_ = {};  // the old memory first
      LULAB_RETURN_IF_ERROR(simt::make(d_a_, size));
      LULAB_RETURN_IF_ERROR(simt::make(d_ipiv_, n));
      LULAB_RETURN_IF_ERROR(simt::make(d_info_, 1));
    }
    // The rows between n and ld are somebody else's: neither read nor written.
    std::vector<T> packed(a.ld == n ? 0 : size);
    const std::span<T> values = packed.empty() ? std::span<T>(a.data, size) : std::span<T>(packed);
    if (!packed.empty())
      for (std::int32_t j = 0; j < n; ++j) std::copy_n(&a(0, j), n, &values[std::int64_t(j) * n]);
    LULAB_RETURN_IF_ERROR(d_a_.upload(values, *stream_));
    LULAB_RETURN_IF_ERROR(getrf_->getrf({n, n, d_a_.data(), d_ipiv_.data(), d_info_.data()}));
    LULAB_RETURN_IF_ERROR(d_ipiv_.download(ipiv, *stream_));
    LULAB_RETURN_IF_ERROR(d_info_.download({&info, 1}, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());  // what the kernels met, before A is overwritten
    const Status copied = simt::copy_to_host(values.data(), d_a_.data(), values.size_bytes(), *stream_);
    if (!copied.ok() || !stream_->wait().ok()) throw std::bad_alloc();  // A may be overwritten in part
    if (!packed.empty())
      for (std::int32_t j = 0; j < n; ++j) std::copy_n(&values[std::int64_t(j) * n], n, &a(0, j));
    return {};
  }

  Status prepare(std::int32_t n) {
    prepared_n_ = -1;
    if (!stream_) {
      LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    }
    if (getrf_ == nullptr) use(dense::cooperative_panel);
    Status prepared = getrf_->prepare_getrf(n, *stream_);
    if (prepared.code == StatusCode::not_implemented) {  // a GPU without clusters
      use(dense::blocked_cublas);
      prepared = getrf_->prepare_getrf(n, *stream_);
    }
    if (prepared.ok()) prepared_n_ = n;
    return prepared;
  }

  void use(const Rung& rung) {
    factorizer_ = rung.make<T>();
    getrf_ = &dynamic_cast<dense::DenseBackend<T>&>(factorizer_->backend());
  }

  std::mutex mutex_;  // of what follows
  std::optional<simt::Stream> stream_;
  std::unique_ptr<Factorizer<T>> factorizer_;
  dense::DenseBackend<T>* getrf_ = nullptr;
  std::int32_t prepared_n_ = -1;
  simt::DeviceBuffer<T> d_a_;
  simt::DeviceBuffer<std::int32_t> d_ipiv_, d_info_;
  std::atomic<bool> is_broken_ = false;  // no device, or one that failed: not asked again
};

template <class T>
OnDevice<T>& on_device() {
  static auto& device = *new OnDevice<T>;  // for programs that factor in their destructors
  return device;
}

/// Is the device predicted to be faster, its start included? What it would have saved so far pays for that.
template <class T>
bool is_for_device(std::int32_t n) {
  if (wanted() != WantedDevice::automatic) return wanted() == WantedDevice::gpu;
  if (simt::machine() == simt::Machine::simulator) return false;
  constexpr bool is_double = sizeof(T) == 8;
  constexpr double cpu_flops_per_us = is_double ? 1.5e4 : 3e4;  // Eigen on one core
  constexpr double copy_bytes_per_us = 5e3;                     // of ordinary host memory, there and back
  constexpr double call_us = 100;
  static const DeviceConstants h200 = builtin_constants("NVIDIA H200");
  static std::atomic<double> could_be_saved_us = 0;
  const DenseShape shape{n};
  const double bound_us = 1e3 * dense_bound(shape, is_double ? Scalar::f64 : Scalar::f32, true, h200).ms;
  const double gpu_us = call_us + 2 * bound_us + 2.0 * sizeof(T) * n * n / copy_bytes_per_us;
  const double saved_us = dense_flops(shape) / cpu_flops_per_us - gpu_us;
  if (saved_us <= 0) return false;
  const double so_far = could_be_saved_us.load() + saved_us;
  could_be_saved_us = so_far;  // of two threads one may be forgotten
  return simt::device_start_us() <= so_far;
}

enum class Blocked { no, yes };

/// xerbla(), and info.
int refuse(std::string_view routine, int argument) {
  if (xerbla_ != nullptr) xerbla_(routine.data(), &argument, routine.size());
  return -argument;
}

/// Runs `work`, and turns what it throws into info.
template <class Work>
int guarded(Work work) {
  try {
    return work();
  } catch (const std::exception&) {
    return no_memory;
  }
}

template <class T>
int factor(DenseView<T> a, int* ipiv, Blocked blocked) {
  const std::span<std::int32_t> swaps(ipiv, std::min(a.n_rows, a.n_cols));
  std::int32_t info = 0;
  const bool by_device = blocked == Blocked::yes && a.n_rows == a.n_cols && !on_device<T>().is_broken() &&
                         is_for_device<T>(a.n_cols) && on_device<T>().factor(a, swaps, info).ok();
  if (!by_device) info = blocked == Blocked::yes ? dense::getrf_eigen(a, swaps) : dense::getrf_reference(a, swaps);
  for (std::int32_t& row : swaps) ++row;
  return info;
}

template <class T>
void solve(DenseView<const T> lu, const int* ipiv, bool transposed, DenseView<T> b) {
  std::vector<std::int32_t> swaps(ipiv, ipiv + lu.n_cols);
  for (std::int32_t& row : swaps) --row;
  dense::getrs_eigen(lu, std::span<const std::int32_t>(swaps), transposed, b);
}

template <class T>
int getrf(std::string_view routine, Blocked blocked, int m, int n, T* a, int lda, int* ipiv) {
  if (m < 0) return refuse(routine, 1);
  if (n < 0) return refuse(routine, 2);
  if (lda < std::max(1, m)) return refuse(routine, 4);
  if (m == 0 || n == 0) return 0;
  if (a == nullptr || ipiv == nullptr) return refuse(routine, a == nullptr ? 3 : 5);
  return guarded([&] { return factor(DenseView<T>{a, m, n, lda}, ipiv, blocked); });
}

template <class T>
int getrs(std::string_view routine, char trans, int n, int nrhs, const T* a, int lda, const int* ipiv, T* b, int ldb) {
  const bool transposed = std::string_view("TtCc").find(trans) != std::string_view::npos;
  if (!transposed && trans != 'N' && trans != 'n') return refuse(routine, 1);
  if (n < 0) return refuse(routine, 2);
  if (nrhs < 0) return refuse(routine, 3);
  if (lda < std::max(1, n)) return refuse(routine, 5);
  if (ldb < std::max(1, n)) return refuse(routine, 8);
  if (n == 0 || nrhs == 0) return 0;
  if (a == nullptr || b == nullptr) return refuse(routine, a == nullptr ? 4 : 7);
  // LAPACK takes any, and writes there.
  if (ipiv == nullptr || !std::all_of(ipiv, ipiv + n, [n](int row) { return 1 <= row && row <= n; }))
    return refuse(routine, 6);
  return guarded([&] {
    solve(DenseView<const T>{a, n, n, lda}, ipiv, transposed, DenseView<T>{b, n, nrhs, ldb});
    return 0;
  });
}

template <class T>
int gesv(std::string_view routine, int n, int nrhs, T* a, int lda, int* ipiv, T* b, int ldb) {
  if (n < 0) return refuse(routine, 1);
  if (nrhs < 0) return refuse(routine, 2);
  if (lda < std::max(1, n)) return refuse(routine, 4);
  if (ldb < std::max(1, n)) return refuse(routine, 7);
  if (n == 0) return 0;
  if (a == nullptr || ipiv == nullptr) return refuse(routine, a == nullptr ? 3 : 5);
  if (b == nullptr && nrhs > 0) return refuse(routine, 6);
  return guarded([&] {
    const int info = factor(DenseView<T>{a, n, n, lda}, ipiv, Blocked::yes);
    if (info == 0) solve(DenseView<const T>{a, n, n, lda}, ipiv, false, DenseView<T>{b, n, nrhs, ldb});
    return info;
  });
}

}  // namespace

}  // namespace lulab::lapack_shape

#pragma GCC visibility push(default)
extern "C" {

// The lengths of characters, which Fortran passes last, are 1 here: not read, so that C may leave them out.
#define LULAB_LAPACK(T, d, D)                                                                                         \
  void d##getrf_(const int* m, const int* n, T* a, const int* lda, int* ipiv, int* info) {                            \
    *info = lulab::lapack_shape::getrf(D "GETRF", lulab::lapack_shape::Blocked::yes, *m, *n, a, *lda, ipiv);          \
  }                                                                                                                   \
  void d##getrf2_(const int* m, const int* n, T* a, const int* lda, int* ipiv, int* info) {                           \
    *info = lulab::lapack_shape::getrf(D "GETRF2", lulab::lapack_shape::Blocked::yes, *m, *n, a, *lda, ipiv);         \
  }                                                                                                                   \
  void d##getf2_(const int* m, const int* n, T* a, const int* lda, int* ipiv, int* info) {                            \
    *info = lulab::lapack_shape::getrf(D "GETF2", lulab::lapack_shape::Blocked::no, *m, *n, a, *lda, ipiv);           \
  }                                                                                                                   \
  void d##getrs_(const char* trans, const int* n, const int* nrhs, const T* a, const int* lda, const int* ipiv, T* b, \
                 const int* ldb, int* info) {                                                                         \
    *info = lulab::lapack_shape::getrs(D "GETRS", *trans, *n, *nrhs, a, *lda, ipiv, b, *ldb);                         \
  }                                                                                                                   \
  void d##gesv_(const int* n, const int* nrhs, T* a, const int* lda, int* ipiv, T* b, const int* ldb, int* info) {    \
    *info = lulab::lapack_shape::gesv(D "GESV ", *n, *nrhs, a, *lda, ipiv, b, *ldb);                                  \
  }
LULAB_LAPACK(double, d, "D")
LULAB_LAPACK(float, s, "S")
#undef LULAB_LAPACK

}  // extern "C"
#pragma GCC visibility pop
