#include "examples/power_flow/power_flow.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/timing.h"
#include "examples/power_flow/device_equations.h"

namespace lulab::examples::power_flow {
namespace {

/// Adds its lifetime to a sum.   Unit ms.
class AddTime {
 public:
  explicit AddTime(double& to) : to_(to) {}
  ~AddTime() { to_ += ms_since(start_); }
  AddTime(const AddTime&) = delete;
  AddTime& operator=(const AddTime&) = delete;

 private:
  double& to_;
  Clock::time_point start_ = Clock::now();
};

class Iteration {
 public:
  Iteration(const Equations& equations, const Options& options)
      : equations_(equations),
        options_(options),
        solver_(options.rung ? Solver<double>(*options.rung, options.solver) : Solver<double>(options.solver)) {
    jacobian_.CscPattern::operator=(equations.jacobian);
    jacobian_.values.resize(equations.jacobian.nnz());
    b_.resize(equations.unknowns());
    x_.resize(equations.unknowns());
    solution_.state = equations.start;
  }

  Result<Solution> run() {
    stamp_on_host();
    if (goes_on()) {
      LULAB_RETURN_IF_ERROR(named(first()));
      update_on_host();
      solution_.choice = solver_.choice();
      if (goes_on()) LULAB_RETURN_IF_ERROR(choose_place());
    }
    while (goes_on()) LULAB_RETURN_IF_ERROR(named(device_ ? step_on_device() : step_on_host()));
    if (device_) {
      LULAB_RETURN_IF_ERROR(device_->download(solution_.state));
      LULAB_RETURN_IF_ERROR(stream_->wait());
    }
    return std::move(solution_);
  }

 private:
  /// Notes whether it converged.
  bool goes_on() {
    const double mismatch = solution_.mismatch_pu.back();
    solution_.converged = mismatch <= options_.tolerance_pu;
    return !solution_.converged && std::isfinite(mismatch) && solution_.iterations() < options_.max_iterations;
  }

  void stamp_on_host() {
    const AddTime time(solution_.times.stamp);
    solution_.mismatch_pu.push_back(stamp(equations_, solution_.state, jacobian_.values, b_));
  }
  void update_on_host() {
    const AddTime time(solution_.times.stamp);
    update(equations_, x_, solution_.state);
    solution_.mismatch_pu.push_back(stamp(equations_, solution_.state, jacobian_.values, b_));
  }

  Status first() {
    {
      const AddTime time(solution_.times.analyze);
      LULAB_RETURN_IF_ERROR(solver_.analyze(jacobian_));
    }
    const AddTime time(solution_.times.first);
    LULAB_RETURN_IF_ERROR(solver_.factor(jacobian_));
    LULAB_RETURN_IF_ERROR(solver_.solve(b_, x_).status());
    count_repivots();
    return {};
  }

  Status step_on_host() {
    {
      const AddTime time(solution_.times.step);
      LULAB_RETURN_IF_ERROR(solver_.step(jacobian_.values, b_, x_).status());
      count_repivots();
    }
    update_on_host();
    return {};
  }
  void count_repivots() { solution_.repivots += !solver_.repivot_cause().ok(); }

  Status choose_place() {
    const bool on_gpu =
        solution_.choice.rung->facts.device == lulab::Device::gpu && simt::machine() == simt::Machine::gpu;
    solution_.on_device = options_.place == Place::device || (options_.place == Place::automatic && on_gpu);
    if (!solution_.on_device) return {};
    const AddTime time(solution_.times.set_up);
    LULAB_ASSIGN_OR_RETURN(stream_, simt::Stream::create());
    LULAB_ASSIGN_OR_RETURN(timer_, simt::Timer::create());
    LULAB_ASSIGN_OR_RETURN(device_, DeviceEquations::create(equations_, *stream_));
    LULAB_RETURN_IF_ERROR(device_->upload(solution_.state));
    LULAB_RETURN_IF_ERROR(device_->stamp());
    return stream_->wait();
  }

  Status step_on_device() {
    const Clock::time_point start = Clock::now();
    LULAB_RETURN_IF_ERROR(solver_.step_device(device_->values(), device_->b(), device_->x(), *stream_));
    LULAB_RETURN_IF_ERROR(timer_->start(*stream_));
    LULAB_RETURN_IF_ERROR(device_->update());
    LULAB_RETURN_IF_ERROR(device_->stamp());
    LULAB_RETURN_IF_ERROR(timer_->stop(*stream_));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    const Status solved = solver_.wait_for_step().status();
    if (solved.code == StatusCode::needs_repivot || solved.code == StatusCode::numerically_singular)
      return repeat_with_new_pivots();
    LULAB_RETURN_IF_ERROR(solved);
    LULAB_ASSIGN_OR_RETURN(const double stamp_ms, timer_->elapsed_ms());
    solution_.times.stamp += stamp_ms;
    solution_.times.step += ms_since(start) - stamp_ms;
    solution_.mismatch_pu.push_back(device_->largest_mismatch());
    return {};
  }
  /// The last step, stamped on the host.
  Status repeat_with_new_pivots() {
    LULAB_RETURN_IF_ERROR(device_->download_previous(solution_.state));
    LULAB_RETURN_IF_ERROR(stream_->wait());
    (void)stamp(equations_, solution_.state, jacobian_.values, b_);
    const int repivots = solution_.repivots + 1;
    LULAB_RETURN_IF_ERROR(step_on_host());
    solution_.repivots = repivots;
    LULAB_RETURN_IF_ERROR(device_->upload(solution_.state));
    LULAB_RETURN_IF_ERROR(device_->stamp());
    return stream_->wait();
  }

  /// Columns become buses.
  Status named(Status s) const {
    if (s.ok()) return s;
    std::vector<std::int32_t> buses;
    for (const std::int32_t column : s.where.columns) buses.push_back(bus_of(equations_, column));
    std::ranges::sort(buses);
    buses.erase(std::unique(buses.begin(), buses.end()), buses.end());
    s.where.columns = buses;
    s.message = "the Jacobian of the power flow: " + s.message;
    return s;
  }

  const Equations& equations_;
  const Options& options_;
  Solver<double> solver_;
  CscMatrix<double> jacobian_;
  std::vector<double> b_, x_;
  std::optional<simt::Stream> stream_;
  std::optional<simt::Timer> timer_;
  std::optional<DeviceEquations> device_;
  Solution solution_;
};

}  // namespace

Result<Solution> solve(const Equations& equations, const Options& options) {
  if (!(options.tolerance_pu > 0))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("a tolerance of {} p.u.; it must be positive", options.tolerance_pu));
  return Iteration(equations, options).run();
}

}  // namespace lulab::examples::power_flow
