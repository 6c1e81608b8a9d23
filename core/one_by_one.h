#pragma once
// Batches for a rung that takes one system: one after the other, their factors on the host.

#include <vector>

#include "core/backend.h"

namespace lulab {

/// Keeps the values and the factors of all systems in host memory.
template <class T>
class OneByOne final : public Backend<T> {
 public:
  explicit OneByOne(Backend<T>& one) : one_(one) {}

  Status prepare(const Analysis& analysis, std::int32_t systems) override {
    nnz_ = analysis.a.row_idx.size();
    systems_ = systems;
    return one_.prepare(analysis, 1);
  }

  Status take_scales() override { return one_.take_scales(); }

  Status upload(std::span<const T> values) override {
    values_.assign(values.begin(), values.end());
    return {};
  }

  Status enqueue(Phase phase) override {
    factors_.clear();
    for (std::int32_t s = 0; s < systems_; ++s) {
      factors_.push_back(factor_one(s, phase));
      if (is_of_machine(factors_.back().status().code)) return factors_.back().status();
    }
    return {};
  }

  Status collect(std::span<Status> statuses) override {
    for (std::int32_t s = 0; s < systems_; ++s) statuses[s] = factors_[s].status();
    return {};
  }

  Result<Factors<T>> download(std::int32_t system) override { return factors_[system]; }

  Statistics statistics(std::int32_t system) const override {
    const bool there = system < std::ssize(factors_) && factors_[system].ok();
    return there ? factors_[system]->statistics : Statistics{};
  }

 private:
  Result<Factors<T>> factor_one(std::int32_t system, Phase phase) {
    LULAB_RETURN_IF_ERROR(one_.upload(std::span<const T>(values_).subspan(nnz_ * system, nnz_)));
    LULAB_RETURN_IF_ERROR(one_.enqueue(phase));
    Status status;
    LULAB_RETURN_IF_ERROR(one_.collect(std::span(&status, 1)));
    LULAB_RETURN_IF_ERROR(std::move(status));
    return one_.download(0);
  }

  Backend<T>& one_;
  std::size_t nnz_ = 0;
  std::int32_t systems_ = 0;
  std::vector<T> values_;                    // (nnz(A), systems)
  std::vector<Result<Factors<T>>> factors_;  // (systems)
};

}  // namespace lulab
