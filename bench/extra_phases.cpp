#include "bench/extra_phases.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/auto_rung.h"
#include "bench/host_threads.h"
#include "bench/stopwatch.h"
#include "core/factorizer.h"
#include "core/matrix/generate.h"
#include "driver/batch_solver.h"
#include "solve/refine.h"
#include "solve/triangular.h"

namespace lulab::bench {
namespace {

template <class T>
Result<double> backward_error_of(const Factors<T>& factors, CscView<double> a, std::span<const double> values,
                                 std::uint64_t seed) {
  a.values = values;
  const std::vector<double> b = random_vector(a.n_cols, seed);
  std::vector<double> x(b.size(), std::numeric_limits<double>::quiet_NaN());
  LULAB_RETURN_IF_ERROR(solve_mixed<T>(factors, b, x));
  return componentwise_backward_error(a, x, b);
}

template <class T>
struct Batch {
  std::unique_ptr<Factorizer<T>> factorizer;
  std::optional<Stopwatch> watch;
  int threads = 1;
};

/// (nnz(A), systems)
std::vector<double> values_of(const Problem& problem, std::int32_t systems) {
  std::vector<double> values;
  values.reserve(problem.a.values.size() * systems);
  for (std::int32_t s = 0; s < systems; ++s)
    for (const double v : perturbed(problem.a.values, s + 1)) values.push_back(v);
  return values;
}

template <class T>
struct BatchStep {
  std::unique_ptr<BatchSolver<T>> solver;
  std::optional<simt::Stream> stream;
  std::optional<Stopwatch> watch;
  simt::DeviceBuffer<double> d_values, d_b, d_x;
  std::vector<double> b;  // (n, systems)
};

}  // namespace

template <class T>
Case batch_case(const Rung& rung, const Problem& problem, std::int32_t systems, const FactorOptions& factor) {
  auto work = std::make_shared<Batch<T>>();
  Case c;
  c.rows = {{.name = {std::string(rung.facts.id), problem.name, Phase::batch, scalar_of<T>()}}};
  c.prepare = [work, &rung, &problem, systems, factor]() -> Status {
    simt::reset_peak_bytes();
    const RungChoice choice = resolve(rung, problem.analysis.filled, factor, systems);
    work->factorizer = choice.rung->make<T>(factor.only(choice.rung->facts.options));
    Factorizer<T>& batch = *work->factorizer;
    const NewThreads started;
    LULAB_RETURN_IF_ERROR(batch.analyze(problem.analysis, systems));
    if (choice.rung->facts.device == Device::cpu) work->threads = started.with_caller();
    const std::vector<double> given = values_of(problem, systems);
    const std::vector<T> values(given.begin(), given.end());
    LULAB_RETURN_IF_ERROR(batch.upload(values));
    if (batch.stream() != nullptr) LULAB_RETURN_IF_ERROR(batch.stream()->wait());  // values is a local
    auto watch = Stopwatch::create(batch.stream());
    if (watch.ok()) work->watch.emplace(std::move(*watch));
    return watch.status();
  };
  c.run = [work, systems](std::uint64_t) -> Result<Times> {
    const auto ms = work->watch->time([&]() -> Status {
      LULAB_RETURN_IF_ERROR(work->factorizer->factor());
      return work->watch->on_device() ? Status{} : work->factorizer->wait();
    });
    LULAB_RETURN_IF_ERROR(work->factorizer->wait());
    if (!ms.ok()) return ms.status();
    return Times{*ms / systems};
  };
  c.verify = [work, &problem, systems](std::span<Row> rows) -> Status {
    const double limit = 10 * std::sqrt(static_cast<double>(std::numeric_limits<T>::epsilon()));
    for (const std::int32_t s : {0, systems / 2, systems - 1}) {
      LULAB_ASSIGN_OR_RETURN(const auto factors, work->factorizer->download(s));
      const auto error = backward_error_of<T>(factors, problem.a, perturbed(problem.a.values, s + 1), s + 1);
      if (!error.ok()) return error.status();
      if (!(*error <= limit))
        return Status::error(StatusCode::needs_repivot,
                             fmt::format("system {} of the batch has the backward error {:.1e}", s, *error));
      rows[0].backward_error = std::max(rows[0].backward_error, *error);
    }
    rows[0].label = fmt::format("{} systems, time of one", systems);
    rows[0].threads = work->threads;
    rows[0].peak_bytes = work->watch->on_device() ? simt::peak_bytes() : 0;
    return {};
  };
  return c;
}
template <class T>
Case batch_step_case(const Rung& rung, const Problem& problem, std::int32_t systems, const FactorOptions& factor) {
  auto work = std::make_shared<BatchStep<T>>();
  Case c;
  c.rows = {{.name = {std::string(rung.facts.id), problem.name, Phase::batch_step, scalar_of<T>()}}};
  c.prepare = [work, &rung, &problem, systems, factor]() -> Status {
    simt::reset_peak_bytes();
    const RungChoice choice = resolve(rung, problem.analysis.filled, factor, systems);
    SolverOptions options;
    options.factor = factor.only(choice.rung->facts.options);
    work->solver = std::make_unique<BatchSolver<T>>(*choice.rung, options);
    LULAB_RETURN_IF_ERROR(work->solver->analyze(problem.a.view(), problem.analysis, systems));
    const std::vector<double> values = values_of(problem, systems);
    const auto statuses = work->solver->factor(values);
    if (!statuses.ok()) return statuses.status();
    for (const Status& s : *statuses)
      if (!s.ok()) return s;
    work->b.clear();
    for (std::int32_t s = 0; s < systems; ++s)
      for (const double v : random_vector(problem.a.n_cols, s + 1)) work->b.push_back(v);
    auto stream = simt::Stream::create();
    if (!stream.ok()) return stream.status();
    work->stream.emplace(std::move(*stream));
    LULAB_RETURN_IF_ERROR(simt::make(work->d_values, values, *work->stream));
    LULAB_RETURN_IF_ERROR(simt::make(work->d_b, work->b, *work->stream));
    LULAB_RETURN_IF_ERROR(simt::make(work->d_x, std::ssize(work->b)));
    LULAB_RETURN_IF_ERROR(work->stream->wait());  // values is a local
    auto watch = Stopwatch::create(&*work->stream);
    if (watch.ok()) work->watch.emplace(std::move(*watch));
    return watch.status();
  };
  c.run = [work, systems](std::uint64_t) -> Result<Times> {
    LULAB_RETURN_IF_ERROR(work->d_x.fill_bytes(0xff, *work->stream));
    const auto ms = work->watch->time([&] {
      return work->solver->step_device(work->d_values.data(), work->d_b.data(), work->d_x.data(), *work->stream);
    });
    const auto refined = work->solver->wait_for_step();
    if (!ms.ok()) return ms.status();
    if (!refined.ok()) return refined.status();
    for (const Result<Refinement>& r : *refined)
      if (!r.ok()) return r.status();
    return Times{*ms / systems};
  };
  c.verify = [work, &problem, systems](std::span<Row> rows) -> Status {
    std::vector<double> x(work->b.size(), std::numeric_limits<double>::quiet_NaN());
    LULAB_RETURN_IF_ERROR(work->d_x.download(std::span(x), *work->stream));
    LULAB_RETURN_IF_ERROR(work->stream->wait());
    const auto n = static_cast<std::size_t>(problem.a.n_cols);
    for (const std::int32_t s : {0, systems / 2, systems - 1}) {
      const std::vector<double> values = perturbed(problem.a.values, s + 1);
      CscView<double> a = problem.a.view();
      a.values = values;
      const auto part = [&](const std::vector<double>& all) { return std::span(all).subspan(n * s, n); };
      const double error = componentwise_backward_error(a, part(x), part(work->b));
      if (!(error <= SolverOptions().backward_error))
        return Status::error(StatusCode::needs_repivot,
                             fmt::format("system {} of the batch has the backward error {:.1e}", s, error));
      rows[0].backward_error = std::max(rows[0].backward_error, error);
    }
    rows[0].label = fmt::format("{} systems, time of one", systems);
    rows[0].peak_bytes = simt::peak_bytes();
    return {};
  };
  return c;
}
template Case batch_step_case<float>(const Rung&, const Problem&, std::int32_t, const FactorOptions&);
template Case batch_step_case<double>(const Rung&, const Problem&, std::int32_t, const FactorOptions&);

template Case batch_case<float>(const Rung&, const Problem&, std::int32_t, const FactorOptions&);
template Case batch_case<double>(const Rung&, const Problem&, std::int32_t, const FactorOptions&);

}  // namespace lulab::bench
