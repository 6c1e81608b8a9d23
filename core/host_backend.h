#pragma once
// What every rung on the CPU shares: the values of P·R·A·C·Q, and the check of the factors that it hands out.

#include <span>
#include <string_view>
#include <vector>

#include "core/backend.h"
#include "core/factor_options.h"
#include "core/plan_gather.h"

namespace lulab {

/// A Backend of one system whose rung writes only the steps below. It never sees n = 0, a bad plan or a value that is
/// not finite.
template <class T>
class HostBackend : public Backend<T> {
 public:
  explicit HostBackend(const FactorOptions& options) : options_(options) {}

  Status prepare(const Analysis& analysis, std::int32_t systems) final;
  Status take_scales() final;
  Status upload(std::span<const T> values) final;
  Status enqueue(Phase phase) final;
  Status collect(std::span<Status> statuses) final;
  /// An overflow that the rung did not see shows here: numerically_singular after Phase::factor, needs_repivot after
  /// Phase::refactor.
  Result<Factors<T>> download(std::int32_t system) final;
  Status download_values(std::span<T> values, std::int32_t system) final;
  HostArrays<T> host_arrays() const final;

 protected:
  std::int32_t n() const { return gather_.pattern().n_cols; }
  const Analysis& analysis() const { return *analysis_; }
  const Plan& plan() const { return analysis_->plan; }
  /// P·R·A·C·Q as last uploaded, rows in gathered_rows().
  CscView<T> pracq() const { return {gather_.pattern().view(), pracq_}; }
  const FactorOptions& options() const { return options_; }
  /// Smaller pivots are replaced by it, in rungs that perturb.
  T least_pivot() const { return static_cast<T>(options_.perturb_pivots * uploaded_max_); }
  /// An error of column j of P·R·A·C·Q.
  Status column_error(StatusCode code, std::int32_t j, std::string_view what) const;

 private:
  virtual GatheredRows gathered_rows() const { return GatheredRows::sorted; }
  virtual Status prepare_rung() { return {}; }              // once an analysis; pracq() has its pattern, no values
  virtual Status eliminate() = 0;                           // Phase::factor
  virtual Status eliminate_again() { return eliminate(); }  // Phase::refactor
  virtual Factors<T> result() = 0;                          // of download()
  /// Those of result() in rungs that have checked each value, but for max_pracq; none: download() checks.
  virtual HostArrays<T> checked() const { return {}; }

  FactorOptions options_;
  const Analysis* analysis_ = nullptr;
  PlanGather gather_;
  std::vector<T> pracq_;
  double uploaded_max_ = 0;  // max |P·R·A·C·Q| of the last upload() ...
  double factored_max_ = 0;  // ... and of the values in the factors
  StatusCode if_not_finite_ = StatusCode::numerically_singular;
  Status eliminated_;  // of the last enqueue()
};

}  // namespace lulab
