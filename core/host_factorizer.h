#pragma once
// What every CPU rung shares: the order of calls, the values of P·R·A·C·Q, and the error that bars download().

#include <algorithm>
#include <new>
#include <span>

#include <fmt/format.h>

#include "core/factors.h"
#include "core/plan_gather.h"
#include "core/rung.h"

namespace lulab {

/// A Factorizer whose rung writes only the three steps below; it never sees n = 0, a bad plan, a non-finite input or a
/// call out of order, and may throw std::bad_alloc.
template <class T>
class HostFactorizer : public Factorizer<T> {
 public:
  explicit HostFactorizer(const FactorOptions& options) : options_(options) {}

  Status analyze(const Analysis& analysis) final {
    has_values_ = has_pivots_ = false;
    analysis_ = nullptr;
    error_ = before("factor()", "download()");
    if (!(options_.pivot_tol >= 0 && options_.pivot_tol <= 1))
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("pivot_tol = {}; it must be in 0..1", options_.pivot_tol));
    LULAB_RETURN_IF_ERROR(check_perturb_pivots(options_.perturb_pivots));
    return guarded([&]() -> Status {
      auto gather = PlanGather::create(analysis.a, analysis.plan);
      if (!gather.ok()) return gather.status();
      gather_ = std::move(*gather);
      pracq_.assign(gather_.pattern().row_idx.size(), T(0));
      analysis_ = &analysis;
      Status s = n() > 0 ? prepare() : Status{};
      if (!s.ok()) analysis_ = nullptr;
      return s;
    });
  }

  Status upload(std::span<const T> values) final {
    has_values_ = false;
    if (!analysis_) return error_ = before("analyze()", "upload()");
    LULAB_RETURN_IF_ERROR(noted(gather_.gather(values, std::span<T>(pracq_))));
    uploaded_max_ = max_abs(std::span<const T>(pracq_));
    has_values_ = true;
    return {};
  }

  Status factor() final {
    has_pivots_ = false;
    if (!has_values_) return error_ = before("analyze() and upload()", "factor()");
    LULAB_RETURN_IF_ERROR(noted(n() > 0 ? guarded([&] { return eliminate(); }) : Status{}));
    has_pivots_ = true;
    return succeeded(StatusCode::numerically_singular);
  }

  Status refactor() final {
    if (!has_values_ || !has_pivots_) return error_ = before("upload() and a factor() that succeeds", "refactor()");
    LULAB_RETURN_IF_ERROR(noted(n() > 0 ? guarded([&] { return eliminate_again(); }) : Status{}));
    return succeeded(StatusCode::needs_repivot);
  }

  /// Overflow that the rung did not see shows here: numerically_singular after factor(), needs_repivot after
  /// refactor().
  Result<Factors<T>> download() final {
    if (!error_.ok()) return error_;
    Factors<T> factors;
    LULAB_RETURN_IF_ERROR(noted(guarded([&] {
      factors.plan = plan();
      if (n() > 0) factors = result();
      return check_factors(factors, if_not_finite_);
    })));
    measure_factors(factors, plan(), factored_max_);
    return factors;
  }

  Status download_values(std::span<T> values) final {
    if (!error_.ok()) return error_;
    const std::span<const T> own = checked_values();
    if (own.empty()) return Factorizer<T>::download_values(values);
    LULAB_RETURN_IF_ERROR(this->check_size(values.size(), own.size()));
    std::ranges::copy(own, values.begin());
    return {};
  }

 protected:
  std::int32_t n() const { return gather_.pattern().n_cols; }
  const Analysis& analysis() const { return *analysis_; }
  const Plan& plan() const { return analysis_->plan; }
  /// P·R·A·C·Q as last uploaded, rows sorted.
  CscView<T> pracq() const { return {gather_.pattern().view(), pracq_}; }
  const FactorOptions& options() const { return options_; }
  /// Pivots smaller than that in magnitude are replaced by it, in rungs that perturb.
  T least_pivot() const { return static_cast<T>(options_.perturb_pivots * uploaded_max_); }
  /// An error of column j of P·R·A·C·Q.
  Status column_error(StatusCode code, std::int32_t j, std::string_view what) const {
    return Status::error(code, fmt::format("column {} of A (column {} of P·R·A·C·Q): {}", plan().q[j], j, what),
                         {{}, 0, {}, {plan().q[j]}});
  }

 private:
  virtual Status prepare() { return {}; }                   // of analyze(); pracq() has its pattern, no values
  virtual Status eliminate() = 0;                           // of factor()
  virtual Status eliminate_again() { return eliminate(); }  // of refactor()
  virtual Factors<T> result() = 0;                          // of download()
  /// Those of result(), in rungs that have looked at each of them; empty: download() looks.
  virtual std::span<const T> checked_values() const { return {}; }

  static Status before(std::string_view first, std::string_view call) {
    return Status::error(StatusCode::invalid_argument, fmt::format("call {} before {}", first, call));
  }
  Status noted(Status s) {
    if (!s.ok()) error_ = s;
    return s;
  }
  Status succeeded(StatusCode if_not_finite) {
    if_not_finite_ = if_not_finite;
    factored_max_ = uploaded_max_;
    error_ = {};
    return {};
  }
  template <class Step>
  Status guarded(Step&& step) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      return Status::error(
          StatusCode::out_of_memory,
          fmt::format("no memory left for n = {}, nnz(A) = {}; try another ordering", n(), pracq_.size()));
    }
  }

  FactorOptions options_;
  const Analysis* analysis_ = nullptr;
  PlanGather gather_;
  std::vector<T> pracq_;
  double uploaded_max_ = 0;  // max |P·R·A·C·Q| of the last upload() and of the values in the factors
  double factored_max_ = 0;
  StatusCode if_not_finite_ = StatusCode::numerically_singular;
  bool has_values_ = false;
  bool has_pivots_ = false;
  Status error_ = before("analyze(), upload() and factor()", "download()");
};

}  // namespace lulab
