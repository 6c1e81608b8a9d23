#include "verify/conformance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/simt/device.h"
#include "verify/checks.h"
#include "verify/klu_oracle.h"
#include "verify/stable_pivots.h"
#include "verify/verify.h"

namespace lulab {

namespace {

template <class T>
class Examination {
 public:
  Examination(const Rung& rung, const CscView<double>& a, std::uint64_t seed)
      : rung_(rung), a_(convert<double>(a)), seed_(seed) {}

  std::vector<std::string> run() {
    if (!find_stable_pivots()) return failures_;
    factorizer_ = rung_.make<T>();
    const std::vector<T> values = convert<T>(a_.view()).values;
    const std::vector<T> others = nearby(values);
    expect_call_order(values);
    const auto first = expect_factors("factor()", a_, values, false);
    const auto again = expect_factors("refactor() with other values", with(others), others, true);
    expect_like_fresh(others, again);
    expect_recovery("values with a NaN", poisoned(values), values);
    expect_recovery("a column of zeros", with_zero_column(values), values);
    expect_determinism(values, first);
    return std::move(failures_);
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    failures_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  // Pivots that are good for A: those of the plan, or those chosen by value for a fixed-pivot rung that asks for them.
  bool find_stable_pivots() {
    auto analyses = SharedAnalyses::create(a_);
    if (!analyses.ok()) {
      fail("analysis: {}", analyses.status().to_string());
      return false;
    }
    analyses_ = std::move(*analyses);
    const StableFactors<T> factored = factor_with_stable_pivots<T>(rung_, *analyses_);
    if (!factored.status.ok()) fail("analyze() and factor() under stable pivots: {}", factored.status.to_string());
    analysis_ = factored.analysis;
    return factored.status.ok();
  }

  CscMatrix<double> with(const std::vector<T>& values) const {
    CscMatrix<double> b = a_;
    b.values.assign(values.begin(), values.end());
    return b;
  }
  std::vector<T> nearby(std::vector<T> values) const {
    std::mt19937_64 random(seed_);
    std::uniform_real_distribution<double> factor(0.98, 1.02);
    for (T& v : values) v = static_cast<T>(v * factor(random));
    return values;
  }
  std::vector<T> poisoned(std::vector<T> values) const {
    if (!values.empty()) values[values.size() / 2] = std::numeric_limits<T>::quiet_NaN();
    return values;
  }
  std::vector<T> with_zero_column(std::vector<T> values) const {
    const std::int32_t j = a_.n_cols / 2;
    if (a_.n_cols > 0) std::fill(values.begin() + a_.col_ptr[j], values.begin() + a_.col_ptr[j + 1], T(0));
    return values;
  }

  Result<Factors<T>> numeric(Factorizer<T>& on, std::span<const T> values, bool again) {
    LULAB_RETURN_IF_ERROR(on.upload(values));
    LULAB_RETURN_IF_ERROR(again ? on.refactor() : on.factor());
    LULAB_RETURN_IF_ERROR(on.wait());
    auto factors = on.download();
    if (factors.ok()) {
      std::vector<T> alone(factors->values.size(), std::numeric_limits<T>::quiet_NaN());
      const Status status = on.download_values(alone);
      if (!status.ok() || alone != factors->values) fail("download_values() gave other values: {}", status.to_string());
      alone.push_back(T(0));
      if (on.download_values(alone).code != StatusCode::invalid_argument) fail("download_values() took a wrong size");
      expect_kept(on.host_arrays(), *factors);
    }
    return factors;
  }

  /// What a Solver reads in place of a download.
  void expect_kept(const HostArrays<T>& arrays, const Factors<T>& factors) {
    if (arrays.lu.empty()) return;
    if (!std::ranges::equal(arrays.lu, factors.values)) fail("host_arrays() holds other values than download()");
    if ((arrays.filled ? *arrays.filled : analysis_->filled) != factors.filled)
      fail("host_arrays() holds another pattern than download()");
    const Plan& plan = arrays.plan ? *arrays.plan : analysis_->plan;
    if (plan.p != factors.plan.p || plan.q != factors.plan.q)
      fail("host_arrays() holds other permutations than download()");
    if (plan.r != factors.plan.r || plan.c != factors.plan.c)
      fail("host_arrays() holds other scalings than download()");
  }

  void expect_call_order(const std::vector<T>& values) {
    if (factorizer_->download().ok()) fail("download() before analyze() gave factors");
    if (factorizer_->upload(values).ok() && factorizer_->factor().ok() && factorizer_->wait().ok())
      fail("upload() and factor() before analyze() were ok");
    if (Status s = factorizer_->analyze(*analysis_); !s.ok())
      fail("analyze() after calls in the wrong order: {}", s.to_string());
    if (factorizer_->download().ok()) fail("download() before factor() gave factors");
    if (factorizer_->factor().ok() && factorizer_->wait().ok()) fail("factor() before upload() was ok");
    if (factorizer_->refactor().ok() && factorizer_->wait().ok()) fail("refactor() before factor() was ok");
    (void)factorizer_->wait();
    const std::vector<T> longer(values.size() + 1, T(1));
    if (const Status s = factorizer_->upload(longer); s.code != StatusCode::invalid_argument)
      fail("upload() of {} values for {} entries: {}", longer.size(), values.size(), to_string(s.code));
  }

  std::optional<Factors<T>> expect_factors(const char* phase, const CscMatrix<double>& of, const std::vector<T>& values,
                                           bool again) {
    auto f = numeric(*factorizer_, values, again);
    if (!f.ok()) {
      fail("{}: {}", phase, f.status().to_string());
      return std::nullopt;
    }
    for (const std::string& failure : judge<T>(of, *f, seed_).failures) fail("{}: {}", phase, failure);
    if (rung_.facts.exact_pattern && check_sizes(of.view(), *f).ok() && check_permutations(f->plan).ok()) {
      const auto compared = compare_with_klu(of, f->plan, f->filled);
      if (!compared.ok())
        fail("{}: {}", phase, compared.status().to_string());
      else if (!compared->equal)
        fail("{}: klu_pattern_equal: {}", phase, compared->first_difference);
    }
    return std::move(*f);
  }

  // Same pivots, same values: the factors agree up to rounding amplified by the conditioning of the leading blocks,
  // |difference| <= sqrt(eps) · max|value|.
  void expect_like_fresh(const std::vector<T>& values, const std::optional<Factors<T>>& refactored) {
    if (!refactored) return;
    const auto other = rung_.make<T>();
    if (!other->analyze(*analysis_).ok()) return fail("a second factorizer could not analyze");
    const auto fresh = numeric(*other, values, false);
    if (!fresh.ok()) return fail("factor() of the other values: {}", fresh.status().to_string());
    if (fresh->plan.p != refactored->plan.p || fresh->filled != refactored->filled) return;  // other pivots are as good
    double largest = 0;
    for (T v : fresh->values) largest = std::max(largest, std::abs(static_cast<double>(v)));
    const double tol = std::sqrt(unit_roundoff<T>()) * largest;
    for (std::size_t k = 0; k < fresh->values.size(); ++k)
      if (const double difference = std::abs(static_cast<double>(fresh->values[k]) - refactored->values[k]);
          !(difference <= tol))
        return fail("refactor() differs from a fresh factor() by {:.3g} (limit {:.3g}) at entry {}", difference, tol,
                    k);
  }

  void expect_recovery(const char* what, const std::vector<T>& bad, const std::vector<T>& good) {
    if (good.empty()) return;
    for (const bool again : {true, false}) {
      if (numeric(*factorizer_, bad, again).ok()) fail("{}: {} gave factors", what, again ? "refactor()" : "factor()");
      if (factorizer_->download().ok()) fail("{}: download() after the error gave factors", what);
      expect_factors(fmt::format("factor() after {}", what).c_str(), a_, good, false);
    }
  }

  void expect_determinism(const std::vector<T>& values, const std::optional<Factors<T>>& first) {
    if (!rung_.facts.deterministic || !first) return;
    const auto second = numeric(*factorizer_, values, false);
    if (!second.ok()) return fail("a second factor(): {}", second.status().to_string());
    if (second->plan.p != first->plan.p || second->filled != first->filled || second->values != first->values)
      fail("says deterministic, but a second factor() of the same values differs");
  }

  const Rung& rung_;
  CscMatrix<double> a_;
  std::uint64_t seed_;
  std::optional<SharedAnalyses> analyses_;
  const Analysis* analysis_ = nullptr;  // one of them
  std::unique_ptr<Factorizer<T>> factorizer_;
  std::vector<std::string> failures_;
};

}  // namespace

template <class T>
std::vector<std::string> conformance_failures(const Rung& rung, const CscView<double>& a, std::uint64_t seed) {
  return Examination<T>(rung, a, seed).run();
}
template std::vector<std::string> conformance_failures<float>(const Rung&, const CscView<double>&, std::uint64_t);
template std::vector<std::string> conformance_failures<double>(const Rung&, const CscView<double>&, std::uint64_t);

}  // namespace lulab
