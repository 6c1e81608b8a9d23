#pragma once
// A Factorizer that stands for two: analyze() chooses one, every other call goes to it.

#include <memory>
#include <optional>

#include "sparse_auto/choose.h"

namespace lulab::sparse_auto {

template <class T>
class AutomaticFactorizer final : public Factorizer<T> {
 public:
  using Look = Prospects (*)(const FilledPattern& filled, int threads);

  AutomaticFactorizer(const Candidates& candidates, const FactorOptions& options, Look look = prospects)
      : candidates_(candidates), options_(options), look_(look) {}

  Status analyze(const Analysis& analysis) override {
    choice_.reset();
    Status status;
    try {
      const Prospects seen = look_(analysis.filled, options_.threads);
      Choice chosen = choose(candidates_, seen);
      status = prepare(*chosen.rung, analysis);
      const bool no_room = status.code == StatusCode::out_of_memory || status.code == StatusCode::device_error;
      if (no_room && chosen.rung == candidates_.gpu) {
        chosen = fall_back(candidates_, seen, status);
        status = prepare(*chosen.rung, analysis);
      }
      if (status.ok()) choice_ = std::move(chosen);
    } catch (const std::bad_alloc&) {
      status = Status::error(StatusCode::out_of_memory, "not enough memory to choose between CPU and GPU");
    }
    if (!status.ok()) chosen_.reset();
    return status;
  }

  Status upload(std::span<const T> values) override { return chosen_ ? chosen_->upload(values) : before("upload()"); }
  Status factor() override { return chosen_ ? chosen_->factor() : before("factor()"); }
  Status refactor() override { return chosen_ ? chosen_->refactor() : before("refactor()"); }
  Status wait() override { return chosen_ ? chosen_->wait() : Status{}; }
  Result<Factors<T>> download() override {
    if (!chosen_) return before("download()");
    return chosen_->download();
  }
  Status download_values(std::span<T> values) override {
    return chosen_ ? chosen_->download_values(values) : before("download_values()");
  }
  Statistics statistics() const override { return chosen_ ? chosen_->statistics() : Statistics{}; }
  DeviceArrays<T> device_arrays() const override { return chosen_ ? chosen_->device_arrays() : DeviceArrays<T>{}; }
  const Choice* choice() const override { return choice_ ? &*choice_ : nullptr; }
  simt::Stream* stream() override { return chosen_ ? chosen_->stream() : nullptr; }

 private:
  static Status before(std::string_view call) {
    return Status::error(StatusCode::invalid_argument, "call analyze() before " + std::string(call));
  }

  Status prepare(const Rung& rung, const Analysis& analysis) {
    chosen_.reset();  // its memory first
    chosen_ = rung.make<T>(options_);
    return chosen_->analyze(analysis);
  }

  const Candidates candidates_;
  const FactorOptions options_;
  const Look look_;
  std::optional<Choice> choice_;
  std::unique_ptr<Factorizer<T>> chosen_;
};

}  // namespace lulab::sparse_auto
