#pragma once
// Many matrices of one pattern, factored in one call: Monte-Carlo runs, corners of a circuit, blocks of a larger system.

#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/rung.h"

namespace lulab {

/// Calls in order: analyze, then any number of upload + factor + wait. The pivots are the plan's diagonal in every system.
template <class T>
class BatchFactorizer {
 public:
  virtual ~BatchFactorizer() = default;
  /// Takes the pattern-only results; they must outlive the factorizer.   Requires systems >= 1.
  /// Errors    as Factorizer::analyze(); invalid_argument: systems < 1.
  virtual Status analyze(const Analysis& analysis, std::int32_t systems) = 0;
  /// values: (nnz(A), systems), those of a system together, in A's order.
  /// Errors    invalid_argument: another size, before analyze().
  virtual Status upload(std::span<const T> values) = 0;
  /// Errors    invalid_argument: before upload(); device_error, deadlock, out_of_memory. What is wrong with one system is
  ///           wait()'s.
  virtual Status factor() = 0;
  /// How each system fared: (systems), ok or the errors of Factorizer::factor() with fixed pivots. One that failed leaves
  /// the others alone.
  /// Errors    of all systems at once: device_error, deadlock, out_of_memory; invalid_argument: before factor().
  virtual Result<std::vector<Status>> wait() = 0;
  /// Errors    that of the system in wait(); invalid_argument: no such system.
  virtual Result<Factors<T>> download(std::int32_t system) = 0;
  /// After wait(): what is known without download(). peak_bytes is that of all systems.
  virtual Statistics statistics(std::int32_t system) const = 0;
  /// a: (nnz(A), systems), lu: (nnz(L+U), systems); see Factorizer. Those of systems that failed hold anything.
  virtual DeviceArrays<T> device_arrays() const { return {}; }
  /// nullptr for CPU rungs.
  virtual simt::Stream* stream() { return nullptr; }
};

/// For rungs that have no batches of their own: one system after another.
template <class T>
class OneByOneBatch final : public BatchFactorizer<T> {
 public:
  explicit OneByOneBatch(std::unique_ptr<Factorizer<T>> one) : one_(std::move(one)) {}

  Status analyze(const Analysis& analysis, std::int32_t systems) override {
    systems_ = 0;
    has_values_ = false;
    factors_.clear();
    if (systems < 1) return bad("a batch has at least one system");
    LULAB_RETURN_IF_ERROR(one_->analyze(analysis));
    nnz_ = analysis.a.row_idx.size();
    systems_ = systems;
    return {};
  }
  Status upload(std::span<const T> values) override {
    factors_.clear();
    has_values_ = false;
    if (systems_ == 0) return bad("call analyze() before upload()");
    if (values.size() != nnz_ * systems_)
      return bad(std::to_string(values.size()) + " values were given for " + std::to_string(systems_) + " systems of " +
                 std::to_string(nnz_) + " entries");
    return guarded([&] {
      values_.assign(values.begin(), values.end());
      has_values_ = true;
      return Status{};
    });
  }
  Status factor() override {
    factors_.clear();
    if (!has_values_) return bad("call analyze() and upload() before factor()");
    return guarded([&] {
      for (std::int32_t s = 0; s < systems_; ++s) {
        factors_.push_back(factor_one(s));
        if (is_of_all(factors_.back().status().code)) {
          Status failed = factors_.back().status();
          factors_.clear();
          return failed;
        }
      }
      return Status{};
    });
  }
  Result<std::vector<Status>> wait() override {
    if (factors_.empty()) return bad("call factor() before wait()");
    std::vector<Status> fared;
    for (const auto& f : factors_) fared.push_back(f.status());
    return fared;
  }
  Result<Factors<T>> download(std::int32_t system) override {
    if (system < 0 || system >= std::ssize(factors_)) return bad("download(): no such system, or no factor() yet");
    return factors_[system];
  }
  Statistics statistics(std::int32_t system) const override {
    return system >= 0 && system < std::ssize(factors_) && factors_[system].ok() ? factors_[system]->statistics
                                                                                 : Statistics{};
  }

 private:
  static Status bad(std::string what) { return Status::error(StatusCode::invalid_argument, std::move(what)); }
  /// What ails the machine and not a system.
  static bool is_of_all(StatusCode code) {
    return code == StatusCode::device_error || code == StatusCode::deadlock || code == StatusCode::out_of_memory;
  }
  template <class Step>
  Status guarded(Step&& step) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      factors_.clear();
      return Status::error(StatusCode::out_of_memory,
                           "no memory left for the factors of " + std::to_string(systems_) + " systems");
    }
  }
  Result<Factors<T>> factor_one(std::int32_t system) {
    LULAB_RETURN_IF_ERROR(one_->upload(std::span<const T>(values_).subspan(nnz_ * system, nnz_)));
    LULAB_RETURN_IF_ERROR(one_->factor());
    LULAB_RETURN_IF_ERROR(one_->wait());
    return one_->download();
  }

  std::unique_ptr<Factorizer<T>> one_;
  std::size_t nnz_ = 0;
  std::int32_t systems_ = 0;
  bool has_values_ = false;
  std::vector<T> values_;
  std::vector<Result<Factors<T>>> factors_;  // (systems)
};

/// Errors    not_implemented: the rung has no such scalar type or chooses pivots by value.
template <class T>
Result<std::unique_ptr<BatchFactorizer<T>>> make_batch(const Rung& rung, const FactorOptions& options = {});

}  // namespace lulab
