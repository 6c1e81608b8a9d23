#include "examples/transient_circuit/transient.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace lulab::examples {
namespace {

constexpr int most_halvings = 20;

struct March {
  Newton& newton;
  const std::function<void(const Accepted&)>& on_accepted;
  std::vector<double> x;  // at the last accepted time point
  TransientCounts counts;

  /// One step; if it fails, its two halves.   last: the step ends on the grid
  Status advance(double from, double step, Method method, bool last, int halvings = 0) {
    const Moment at = {.time = from + step, .step = step, .method = method};
    std::vector<double> next = x;
    LULAB_ASSIGN_OR_RETURN(const auto converged, newton.solve(at, next));
    if (converged) {
      newton.devices().accept(newton.mna(), at, next);
      x = std::move(next);
      ++counts.accepted;
      on_accepted({at.time, step, method, last, x});
      return {};
    }
    if (halvings == most_halvings)
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("Newton's iteration does not converge at t = {:.6g} s, not even with a step of "
                                       "{:.3g} s",
                                       at.time, step));
    ++counts.halvings;
    LULAB_RETURN_IF_ERROR(advance(from, step / 2, method, false, halvings + 1));
    return advance(from + step / 2, step / 2, method, last, halvings + 1);
  }
};

}  // namespace

Status operating_point(Newton& newton, std::span<double> x) {
  Moment at;
  std::ranges::fill(x, 0.0);
  auto converged = newton.solve(at, x);
  if (converged.ok() && !*converged) {
    std::ranges::fill(x, 0.0);
    const double wanted = at.gmin;
    for (at.gmin = 1e-2; converged.ok(); at.gmin = std::max(at.gmin / 10, wanted)) {
      converged = newton.solve(at, x);
      if (!converged.ok() || !*converged || at.gmin == wanted) break;
    }
  }
  if (!converged.ok()) return converged.status();
  if (!*converged)
    return Status::error(StatusCode::invalid_argument,
                         "Newton's iteration does not find an operating point of this circuit");
  newton.devices().accept(newton.mna(), at, x);
  return {};
}

Result<TransientCounts> run_transient(Newton& newton, const TransientOptions& options,
                                      const std::function<void(const Accepted&)>& on_accepted) {
  if (!(options.stop > 0 && std::isfinite(options.stop)) || options.steps < 1)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} steps to t = {} s; both must be positive", options.steps, options.stop));
  March march = {newton, on_accepted, std::vector<double>(newton.mna().size()), {}};
  if (Status s = operating_point(newton, march.x); !s.ok()) return s;
  on_accepted({0, 0, options.method, true, march.x});
  for (std::int64_t k = 0; k < options.steps; ++k) {
    const double from = options.stop * k / options.steps, to = options.stop * (k + 1) / options.steps;
    const Method method = k == 0 ? Method::backward_euler : options.method;
    if (Status s = march.advance(from, to - from, method, true); !s.ok()) return s;
  }
  return march.counts;
}

}  // namespace lulab::examples
