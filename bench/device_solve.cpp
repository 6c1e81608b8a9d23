#include <optional>
#include <utility>

#include "bench/library_solve.h"
#include "bench/stopwatch.h"

namespace lulab::bench {
namespace {

class DeviceSolve final : public ParallelSolve {
 public:
  DeviceSolve(const Factors<double>& factors, SolveMethod method, SolveTask task, int warps_per_sm)
      : factors_(factors), method_(method), task_(task), warps_per_sm_(warps_per_sm) {}

  Status create() {
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(watch_, Stopwatch::create(&*stream_));
    const std::int64_t size = std::int64_t(factors_.filled.n) * task_.columns;
    for (simt::DeviceBuffer<double>* buffer : {&d_b_, &d_x_}) LULAB_RETURN_IF_ERROR(simt::make(*buffer, size));
    LULAB_RETURN_IF_ERROR(simt::make(d_values_, factors_.values, *stream_));
    return stream_->wait();
  }

  Result<double> analyze() override {
    solver_.reset();
    const auto start = Clock::now();
    LULAB_ASSIGN_OR_RETURN(auto solver, DeviceSolver<double>::create(factors_.filled, Plan::identity(factors_.filled.n),
                                                                     {.method = method_,
                                                                      .max_columns = task_.columns,
                                                                      .transposed = task_.transposed,
                                                                      .warps_per_sm = warps_per_sm_},
                                                                     *stream_));
    LULAB_RETURN_IF_ERROR(solver.update(d_values_.data(), *stream_));
    LULAB_RETURN_IF_ERROR(solver.wait_for_pivots(*stream_));
    const double ms = ms_since(start);
    solver_.emplace(std::move(solver));
    return ms;
  }

  Result<double> solve(std::span<const double> from, std::span<double> to) override {
    LULAB_RETURN_IF_ERROR(d_b_.upload(from, *stream_));
    LULAB_RETURN_IF_ERROR(d_x_.fill_bytes(0xFF, *stream_));  // NaN: what is not written shows
    LULAB_RETURN_IF_ERROR(stream_->wait());
    const auto ms = watch_->time([&] {
      return task_.transposed ? solver_->solve_transposed(d_b_.data(), d_x_.data(), task_.columns, *stream_)
                              : solver_->solve(d_b_.data(), d_x_.data(), task_.columns, *stream_);
    });
    LULAB_RETURN_IF_ERROR(ms.status());
    LULAB_RETURN_IF_ERROR(d_x_.download(to, *stream_));
    LULAB_RETURN_IF_ERROR(solver_->wait(*stream_));
    return ms;
  }

  std::int64_t bytes() const override {
    return 8 * (d_b_.size() + d_x_.size() + d_values_.size()) + (solver_ ? solver_->bytes() : 0);
  }

  std::int64_t levels() const override { return task_.transposed ? solver_->levels_transposed() : solver_->levels(); }

 private:
  const Factors<double>& factors_;
  const SolveMethod method_;
  const SolveTask task_;
  const int warps_per_sm_;
  std::optional<simt::Stream> stream_;
  std::optional<Stopwatch> watch_;
  simt::DeviceBuffer<double> d_b_, d_x_, d_values_;
  std::optional<DeviceSolver<double>> solver_;
};

}  // namespace

Result<std::unique_ptr<ParallelSolve>> device_solve(const Factors<double>& factors, SolveMethod method, SolveTask task,
                                                    int warps_per_sm) {
  auto made = std::make_unique<DeviceSolve>(factors, method, task, warps_per_sm);
  LULAB_RETURN_IF_ERROR(made->create());
  return std::unique_ptr<ParallelSolve>(std::move(made));
}

}  // namespace lulab::bench
