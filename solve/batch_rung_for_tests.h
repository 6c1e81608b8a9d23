#pragma once
// For tests of BatchSolver: a rung whose batches lie in device memory and are right but slow. For *_test.cu.

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/batch_factorizer.h"
#include "solve/device_rungs_for_tests.h"

namespace lulab::testing {

/// One thread eliminates a system, one system after another. Heeds `trouble`.
template <class T>
class OneThreadBatch final : public BatchFactorizer<T> {
 public:
  Status analyze(const Analysis& analysis, std::int32_t systems) override {
    analysis_ = &analysis;
    systems_ = systems;
    auto stream = simt::Stream::create();
    LULAB_RETURN_IF_ERROR(stream.status());
    stream_.emplace(std::move(*stream));
    const FilledPattern& f = analysis.filled;
    LULAB_RETURN_IF_ERROR(simt::make(d_col_ptr_, f.col_ptr, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_row_idx_, f.row_idx, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_diag_, f.diag, *stream_));
    LULAB_RETURN_IF_ERROR(simt::make(d_a_, analysis.a.nnz() * systems));
    LULAB_RETURN_IF_ERROR(simt::make(d_lu_, f.nnz() * systems));
    LULAB_RETURN_IF_ERROR(simt::make(d_failed_, systems));
    const T zero[1] = {T(0)};
    LULAB_RETURN_IF_ERROR(simt::make(d_zero_, std::span<const T>(zero), *stream_));
    return stream_->wait();
  }
  Status upload(std::span<const T> values) override {
    const CscPattern& a = analysis_->a;
    if (values.size() != std::size_t(a.nnz()) * systems_)
      return Status::error(StatusCode::invalid_argument, "another number of values");
    const std::int64_t nnz = a.nnz(), nnz_lu = analysis_->filled.nnz();
    std::vector<T> lu(nnz_lu * systems_, T(0));
    for (std::int32_t s = 0; s < systems_; ++s)
      for (std::int32_t j = 0; j < a.n_cols; ++j)
        for (std::int64_t k = a.col_ptr[j]; k < a.col_ptr[j + 1]; ++k)
          lu[nnz_lu * s + analysis_->a_to_filled[k]] =
              static_cast<T>(analysis_->plan.r[a.row_idx[k]] * values[nnz * s + k] * analysis_->plan.c[j]);
    const std::vector<std::int32_t> none(systems_, a.n_cols);
    LULAB_RETURN_IF_ERROR(d_a_.upload(values, *stream_));
    LULAB_RETURN_IF_ERROR(d_lu_.upload(lu, *stream_));
    LULAB_RETURN_IF_ERROR(d_failed_.upload(none, *stream_));
    return stream_->wait();
  }
  Status factor() override {
    const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
    const bool silent = trouble == Trouble::silent_infinity, no_launch = trouble == Trouble::no_launch;
    for (std::int32_t s = 0; s < systems_; ++s) {
      const DeviceFactorsView<T> view{analysis_->filled.n,
                                      d_col_ptr_.data(),
                                      d_row_idx_.data(),
                                      d_diag_.data(),
                                      d_lu_.data() + analysis_->filled.nnz() * s,
                                      d_failed_.data() + s,
                                      T(0),
                                      d_zero_.data(),
                                      nullptr};
      LULAB_RETURN_IF_ERROR(simt::launch(eliminate_by_one_thread_kernel<T>,
                                         {.grid = 1, .block = no_launch ? 1u << 20 : 1u}, *stream_, view,
                                         silent ? infinity : nan));
    }
    return {};
  }
  Result<std::vector<Status>> wait() override {
    std::vector<std::int32_t> failed(systems_);
    LULAB_RETURN_IF_ERROR(d_failed_.download(failed, *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    fared_.clear();
    for (const std::int32_t j : failed) {
      Where where;
      if (j < analysis_->filled.n) where.columns = {analysis_->plan.q[j]};
      fared_.push_back(where.columns.empty() ? Status{}
                                             : Status::error(StatusCode::needs_repivot, "a bad pivot", where));
    }
    return fared_;
  }
  Result<Factors<T>> download(std::int32_t system) override {
    LULAB_RETURN_IF_ERROR(fared_[system]);
    Factors<T> f{analysis_->plan, analysis_->filled, std::vector<T>(analysis_->filled.nnz()), {}};
    LULAB_RETURN_IF_ERROR(simt::copy_to_host(f.values.data(), d_lu_.data() + f.filled.nnz() * system,
                                             f.values.size() * sizeof(T), *stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    return f;
  }
  Statistics statistics(std::int32_t) const override {
    Statistics known;
    known.peak_bytes = std::int64_t(sizeof(T)) * (d_a_.size() + d_lu_.size());
    return known;
  }
  DeviceArrays<T> device_arrays() const override { return {d_a_.data(), d_lu_.data()}; }
  simt::Stream* stream() override { return stream_ ? &*stream_ : nullptr; }

 private:
  const Analysis* analysis_ = nullptr;
  std::int32_t systems_ = 0;
  std::optional<simt::Stream> stream_;
  simt::DeviceBuffer<std::int64_t> d_col_ptr_, d_diag_;
  simt::DeviceBuffer<std::int32_t> d_row_idx_, d_failed_;
  simt::DeviceBuffer<T> d_a_, d_lu_, d_zero_;
  std::vector<Status> fared_;
};

template <class T>
std::unique_ptr<BatchFactorizer<T>> make_one_thread_batch(const FactorOptions&) {
  return std::make_unique<OneThreadBatch<T>>();
}

/// one_thread_rung() with such batches.
inline Rung one_thread_batch_rung() {
  Rung rung = one_thread_rung(false, false);
  rung.facts.id = "test/one_thread_batch";
  rung.make_batch_float = make_one_thread_batch<float>;
  rung.make_batch_double = make_one_thread_batch<double>;
  return rung;
}

}  // namespace lulab::testing
