#pragma once
// 11_fan_in as a Backend. Where a plan would take too much memory it factors as 10_supernode_panels does.

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/device_backend.h"
#include "sparse_syncfree/10_device_panels.h"
#include "sparse_syncfree/11_fan_in_launch.h"
#include "sparse_syncfree/options.h"
#include "sparse_syncfree/systems_of_batch.h"
#include "symbolic/right_side_column.h"

namespace lulab::sparse_syncfree {

struct FanInSettings {
  FanInOptions plan;  // scalar_bytes, shared_bytes and max_bytes are lowered to what there is
  FanInOptions batch_plan = fan_in_batch_options();  // of several systems
  double perturb_pivots = 0;                         // see FactorOptions
  double memory_ratio = 4;                           // see options.h
  std::int32_t systems_at_once = 0;                  // of a batch, in one launch; 0: as many as have room
  std::int64_t blocks = 0;                           // of the grid; 0: as many as are resident at once
  std::uint64_t seed = 0;                            // of injected delays
};

template <class T, bool inject_delays = false>
class FanInBackend final : public DeviceBackend<T> {
 public:
  explicit FanInBackend(const FanInSettings& settings = {})
      : DeviceBackend<T>({.perturb_pivots = settings.perturb_pivots, .pattern = false}), settings_(settings) {}
  explicit FanInBackend(const FactorOptions& options)
      : FanInBackend(FanInSettings{.plan = {.may_shrink_blocks = true},
                                   .perturb_pivots = options.perturb_pivots,
                                   .memory_ratio = options.get(memory_ratio_option)}) {}

  Status prepare_right_side() override {
    if (panels_ || this->analysis().filled.n == 0)
      return Status::error(StatusCode::not_implemented,
                           "factors that go by panels, or of no column, carry no right-hand side along");
    if (d_y_.size() > 0) return {};
    const auto no_room = [] {
      return Status::error(StatusCode::not_implemented, "no memory for a right-hand side that is carried along");
    };
    simt::DeviceBuffer<T> d_y;
    Status made;
    try {
      const RightSideColumn column = with_right_side(this->analysis().filled, this->analysis().a_to_filled);
      if (!simt::make(d_y, column.filled.n).ok()) return no_room();
      made = make_plan(column.filled, column.a_to_filled);
    } catch (const std::bad_alloc&) {
      made = no_room();
    }
    if (!made.ok()) {
      LULAB_RETURN_IF_ERROR(prepare_rung());
      return no_room();
    }
    d_y_ = std::move(d_y);
    simt::name_elements(d_y_.data(), d_y_.size(), "y");
    view_.y = d_y_.data();
    return {};
  }
  Status enqueue_with(const RightSide& b) override {
    view_.b = b;
    Status enqueued = this->enqueue(Phase::refactor);
    view_.b = {};
    return enqueued;
  }

  /// For tests: chunks of each kind, threads of a block; none where it factors as 10 does.
  struct Kinds {
    std::int32_t sparse = 0, dense = 0, split = 0, threads = 0;
  };
  Kinds kinds() const { return kinds_; }

 protected:
  Status prepare_rung() override {
    panels_.reset();
    kinds_ = {};
    if (!(settings_.memory_ratio >= 0))
      return Status::error(StatusCode::invalid_argument, "memory_ratio must not be negative");
    const Status made = make_plan(this->analysis().filled, this->analysis().a_to_filled);
    if (made.code != StatusCode::not_implemented) return made;
    release();
    panels_.emplace(PanelOptions{.perturb_pivots = settings_.perturb_pivots, .memory_ratio = settings_.memory_ratio});
    return panels_->prepare(this->analysis().filled, this->factors_bytes(), this->systems() > 1 ? this->systems() : 0,
                            *this->stream(), this->analysis().supernodes.get());
  }
  Status clear(simt::Stream& stream) override {
    return panels_ ? panels_->clear(stream) : Status{};  // the launch before has emptied the words
  }
  bool takes_scaled_values() const override { return !panels_; }
  bool tells_outcome() const override { return !panels_; }
  Status launch(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    if (panels_) return panels_->launch(f, stream);
    if (view_.n_tasks == 0) {
      if (this->analysis().filled.n == 0) return {};
      return Status::error(StatusCode::device_error, "11_fan_in has no plan on the device; call analyze()");
    }
    DeviceFactorsView<T> first = f;  // of the systems of a launch
    FanInView<T> view = view_;
    view.a = this->scaled_values();
    first.failed_column = d_failures_.data();
    first.perturbed = d_failures_.data() + this->systems();
    view.failed_column = f.failed_column;
    view.perturbed = f.perturbed;
    for (std::int32_t left = this->systems(); left > 0; left -= view.systems) {
      view.systems = std::min(left, view_.systems);
      LULAB_RETURN_IF_ERROR(simt::launch(kernel_,
                                         {.grid = static_cast<unsigned>(blocks_),
                                          .block = static_cast<unsigned>(shape_.threads),
                                          .shared_bytes = shared_bytes_},
                                         stream, first, view, settings_.seed));
      first = factors_of(first, view.nnz, view.systems);
      view.a.values += view.systems * view.nnz_a;
      view.failed_column += view.systems;
      view.perturbed += view.systems;
    }
    return {};
  }
  const T* right_side_solution() const override { return d_y_.data(); }
  std::int64_t work_bytes() const override {
    return panels_ ? panels_->bytes() : bytes_ + 4 * d_failures_.size() + std::int64_t(sizeof(T)) * d_y_.size();
  }

 private:
  /// not_implemented: none may be made.
  Status make_plan(const FilledPattern& filled, std::span<const std::int64_t> a_to_filled) {
    LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
    const std::int64_t held_bytes = this->factors_bytes() + 8 * (std::int64_t(filled.n) + 1);
    const std::int64_t allowed = plan_bytes_allowed(settings_.memory_ratio, this->systems() * filled.nnz(), sizeof(T),
                                                    held_bytes, always_allowed_to_fronts);
    for (FanInOptions options : plans_to_try(device.sm_count)) {
      options.scalar_bytes = sizeof(T);
      options.shared_bytes = std::min<std::int64_t>(options.shared_bytes, device.shared_bytes_per_block - 1024);
      options.max_bytes = std::min(options.max_bytes, allowed);
      const auto plan = make_fan_in_plan(filled, a_to_filled, options);
      const Status made = plan.ok() ? upload_plan(*plan, filled, options, device.sm_count) : plan.status();
      if (made.code != StatusCode::not_implemented && made.code != StatusCode::out_of_memory) return made;
    }
    return Status::error(StatusCode::not_implemented, "no plan of 11_fan_in keeps within what it may take");
  }

  /// The first that can be made is taken. Larger chunks send fewer words.
  std::vector<FanInOptions> plans_to_try(int sm_count) const {
    if (this->analysis().filled.nnz() > max_fan_in_entries) return {};
    FanInOptions larger = settings_.plan;
    larger.columns *= 2;
    larger.split_columns *= 2;
    std::vector<FanInOptions> all = {settings_.plan, larger};
    if (this->systems() > 1) all.insert(all.begin(), settings_.batch_plan);
    for (FanInOptions& o : all) o.workers = sm_count * (fan_in_threads / o.shape.threads);
    return all;
  }

  /// Systems that a launch takes, in memory and in tickets of 31 bits; launches of equal size.
  std::int32_t systems_of_launch(const FanInPlan& plan, const FanInOptions& options) const {
    constexpr std::int64_t most_bytes = std::int64_t(2) << 30;  // more systems at once win nothing
    const std::int64_t of_words = 2 * std::int64_t(sizeof(T)) * std::max<std::int64_t>(plan.n_words, 1);
    const std::int64_t fit = settings_.systems_at_once > 0
                                 ? settings_.systems_at_once
                                 : std::min(options.max_bytes - std::ssize(plan.tasks), most_bytes) / of_words;
    const std::int64_t counted = (1 << 30) / std::max(plan.size(), 1);
    const std::int64_t systems = this->systems();
    const std::int64_t at_once = std::clamp<std::int64_t>(std::min(fit, counted), 1, systems);
    const std::int64_t launches = (systems + at_once - 1) / at_once;
    return static_cast<std::int32_t>((systems + launches - 1) / launches);
  }

  /// filled: as the plan was made for
  Status upload_plan(const FanInPlan& plan, const FilledPattern& filled, const FanInOptions& options, int sm_count) {
    simt::Stream& stream = *this->stream();
    release();
    shape_ = plan.shape;
    kernel_ = shape_.threads == fan_in_threads ? fan_in_kernel<T, fan_in_threads, inject_delays>()
                                               : fan_in_kernel<T, fan_in_batch_threads, inject_delays>();
    const std::int32_t at_once = systems_of_launch(plan, options);
    const std::int64_t half = plan.n_words * at_once;
    kinds_ = {plan.n_sparse, plan.n_dense, plan.n_split, shape_.threads};
    std::vector<FanInFetch> fetches;
    for (std::int32_t t = 0; t < plan.size(); ++t)
      fetches.push_back({plan.begin[t], plan.task(t).staged, plan.task(t).x_scalars});
    LULAB_RETURN_IF_ERROR(simt::make(d_tasks_, plan.tasks, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_fetches_, fetches, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_col_ptr_, filled.col_ptr, stream));
    LULAB_RETURN_IF_ERROR(simt::make(d_words_, 2 * half));
    LULAB_RETURN_IF_ERROR(simt::make(d_state_, 1));
    std::vector<std::int32_t> no_failures(2 * std::size_t(this->systems()), 0);
    std::fill_n(no_failures.begin(), this->systems(), this->analysis().filled.n);
    LULAB_RETURN_IF_ERROR(simt::make(d_failures_, no_failures, stream));
    LULAB_RETURN_IF_ERROR(d_words_.fill_bytes(0xff, stream));
    LULAB_RETURN_IF_ERROR(d_state_.fill_bytes(0, stream));
    simt::name_elements(d_words_.data(), 2 * half, "words");
    simt::name_elements(d_state_.data(), 1, "state");
    simt::name_elements(d_failures_.data(), d_failures_.size(), "failures");
    const std::int64_t scratch_bytes = std::int64_t(sizeof(T)) * shape_.scratch();
    shared_bytes_ = static_cast<std::size_t>(plan.shared_bytes);
    view_ = {.tasks = reinterpret_cast<const char*>(d_tasks_.data()),
             .fetches = d_fetches_.data(),
             .a = {},
             .b = {},
             .y = nullptr,
             .col_ptr = d_col_ptr_.data(),
             .words = d_words_.data(),
             .state = d_state_.data(),
             .failed_column = nullptr,
             .perturbed = nullptr,
             .n_words = plan.n_words,
             .half = half,
             .nnz = this->analysis().filled.nnz(),
             .nnz_a = std::ssize(this->analysis().a_to_filled),
             .systems = at_once,
             .n = filled.n,
             .n_tasks = plan.size(),
             .arena = static_cast<std::uint32_t>((plan.shared_bytes - scratch_bytes) / 16 * 16)};
    bytes_ = d_tasks_.size() + std::int64_t(sizeof(FanInFetch)) * d_fetches_.size() + 8 * d_col_ptr_.size() +
             std::int64_t(sizeof(T)) * d_words_.size();
    LULAB_ASSIGN_OR_RETURN(const auto blocks_per_sm,
                           simt::max_resident_blocks_per_sm(kernel_, shape_.threads, shared_bytes_));
    const std::int64_t resident = std::int64_t(sm_count) * blocks_per_sm;
    blocks_ = settings_.blocks > 0 ? settings_.blocks
                                   : std::clamp<std::int64_t>(std::int64_t(plan.size()) * at_once, 1, resident);
    return stream.wait();  // the plan need not outlive this
  }
  void release() {
    d_tasks_ = {};
    d_fetches_ = {};
    d_col_ptr_ = {};
    d_words_ = {};
    d_state_ = {};
    d_failures_ = {};
    d_y_ = {};
    view_ = {};
    bytes_ = 0;
    kinds_ = {};
  }

  const FanInSettings settings_;
  std::optional<DevicePanels<T>> panels_;  // where it factors as 10 does
  simt::DeviceBuffer<std::byte> d_tasks_;
  simt::DeviceBuffer<FanInFetch> d_fetches_;
  simt::DeviceBuffer<std::int64_t> d_col_ptr_;
  simt::DeviceBuffer<Word<T>> d_words_;
  simt::DeviceBuffer<FanInState> d_state_;
  simt::DeviceBuffer<std::int32_t> d_failures_;  // (systems, 2) failed columns, perturbed pivots
  simt::DeviceBuffer<T> d_y_;                    // (n + 1) where b is carried along
  FanInView<T> view_ = {};
  std::int64_t blocks_ = 1, bytes_ = 0;
  std::size_t shared_bytes_ = 0;
  FanInShape shape_;
  FanInKernel<T> kernel_ = nullptr;
  Kinds kinds_;
};

}  // namespace lulab::sparse_syncfree
