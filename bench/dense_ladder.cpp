#include "bench/dense_ladder.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "bench/dense_contender.h"

namespace lulab::bench {
namespace {

constexpr std::int32_t default_sizes[] = {1024, 2048, 4096, 8192, 16384, 32768};
constexpr std::int32_t batch_sizes[] = {16, 32, 64, 128};
constexpr std::int32_t systems_of_a_batch = 10000;
constexpr std::int32_t largest_n = 1 << 17;

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

bool takes_matrix(const Rung& rung, Scalar scalar, std::int32_t n) {
  return scalar == Scalar::f64 ? takes_device_matrix<double>(rung, n) : takes_device_matrix<float>(rung, n);
}

/// The chosen ones and the yardstick, which comes first.   Empty when none is chosen.
std::vector<std::string> choose(const std::vector<std::string>& all, const std::vector<std::string>& chosen,
                                std::string_view yardstick) {
  std::vector<std::string> ids;
  for (const std::string& id : all)
    if (chosen.empty() || contains(chosen, id)) ids.push_back(id);
  if (ids.empty() || !contains(all, yardstick)) return ids;
  std::erase(ids, yardstick);
  ids.insert(ids.begin(), std::string(yardstick));
  return ids;
}

std::vector<std::string> rungs_for(const DenseShape& shape, Scalar scalar, const DenseLadderOptions& options) {
  std::vector<std::string> ids;
  if (shape.batch > 1) {
    for (const BatchRung& rung : batch_rungs()) ids.emplace_back(rung.id);
  } else {
    for (const Rung* rung : all_rungs())
      if (takes_matrix(*rung, scalar, shape.n)) ids.emplace_back(rung->facts.id);
  }
  return choose(ids, options.rungs, rung_of(shape.batch > 1 ? Yardstick::cublas : Yardstick::cusolver));
}

std::string key(const Rung& rung, Scalar scalar) { return fmt::format("{}|{}", rung.facts.id, to_string(scalar)); }

template <class T>
Result<double> estimate(const Rung& rung, std::int32_t n, double limit_ms, CostHistory& history) {
  return estimate_ms(history, key(rung, scalar_of<T>()), n, limit_ms,
                     [&](std::int32_t m) { return trial_ms<T>(rung, m); });
}

/// What the cases of one set share: the matrix on the device, made by the first that is prepared.
template <class T>
class SharedArena {
 public:
  explicit SharedArena(const DenseShape& shape) : shape_(shape) {}
  Result<DenseArena<T>*> get() {
    if (!arena_) arena_.emplace(DenseArena<T>::create(shape_));
    if (!arena_->ok()) return arena_->status();
    return &**arena_;
  }

 private:
  const DenseShape shape_;
  std::optional<Result<DenseArena<T>>> arena_;
};

template <class T>
using Prepare = std::function<Result<DenseRoutine>(DenseArena<T>&)>;

/// What one case has between its calls.
template <class T>
struct AtWork {
  std::shared_ptr<SharedArena<T>> shared;
  DenseArena<T>* arena = nullptr;  // shared's
  DenseRoutine routine;            // goes before the stream it works on
  std::uint64_t seed = 0;
};

template <class T>
Case dense_case(const DenseSet& set, const std::string& id, const DeviceConstants& constants,
                std::shared_ptr<SharedArena<T>> shared, Prepare<T> prepare) {
  auto work = std::make_shared<AtWork<T>>();
  work->shared = std::move(shared);
  Case c;
  c.rows = {{.name = {id, to_string(set.shape), Phase::factor, set.scalar}, .flops = dense_flops(set.shape)}};
  c.prepare = [work, prepare]() -> Status {
    LULAB_ASSIGN_OR_RETURN(const auto arena, work->shared->get());
    LULAB_ASSIGN_OR_RETURN(auto routine, prepare(*arena));
    work->arena = arena;
    work->routine = std::move(routine);
    return {};
  };
  c.run = [work](std::uint64_t seed) {
    work->seed = seed;
    return one_time(run_dense(work->routine, *work->arena, seed));
  };
  c.verify = [work, set, &constants](std::span<Row> rows) -> Status {
    LULAB_ASSIGN_OR_RETURN(const auto verdict, judge_dense(work->routine, *work->arena, work->seed));
    Row& row = rows[0];
    const bool pivots = work->routine.pivots;
    row.lu_residual = verdict.lu_residual;
    row.growth = verdict.growth;
    row.label = fmt::format("{} samples, {:.4g} to {:.4g} ms{}", row.samples, row.min_ms, row.max_ms,
                            pivots ? "" : ", no pivoting, diagonally dominant matrix");
    const DenseBound bound = dense_bound(set.shape, set.scalar, pivots, constants);
    row.bound_ms = bound.ms;
    row.bound_by = to_string(bound.by);
    if (!set.batched())
      row.peak_bytes = static_cast<std::int64_t>(sizeof(T)) * work->arena->a.size() + 4 * work->arena->ipiv.size() + 4 +
                       work->routine.work_bytes;
    return {};
  };
  return c;
}

template <class T>
Case matrix_case(const DenseSet& set, const Rung& rung, const DeviceConstants& constants, CostHistory& history,
                 double limit_ms, std::shared_ptr<SharedArena<T>> shared) {
  Case c = dense_case<T>(set, std::string(rung.facts.id), constants, std::move(shared),
                         [&rung](DenseArena<T>& arena) { return prepare_matrix(rung, arena); });
  c.reason_to_skip = [&rung, n = set.shape.n, limit_ms, &history]() -> Result<std::string> {
    LULAB_ASSIGN_OR_RETURN(const auto ms, estimate<T>(rung, n, limit_ms, history));
    return reason_to_skip(ms, limit_ms);
  };
  c.verify = [&rung, set, &history, verify = c.verify](std::span<Row> rows) -> Status {
    LULAB_RETURN_IF_ERROR(verify(rows));
    history.add(key(rung, set.scalar), set.shape.n, rows[0].min_ms);
    return {};
  };
  return c;
}

template <class T>
std::vector<Case> cases_of(const DenseSet& set, const DeviceConstants& constants, CostHistory& history,
                           double limit_ms) {
  const auto shared = std::make_shared<SharedArena<T>>(set.shape);
  std::vector<Case> cases;
  for (const std::string& id : set.rungs) {
    if (set.batched()) {
      cases.push_back(dense_case<T>(set, id, constants, shared, [id](DenseArena<T>& arena) -> Result<DenseRoutine> {
        for (const BatchRung& rung : batch_rungs())
          if (rung.id == id) return prepare_batch(rung, arena);
        return Status::error(StatusCode::invalid_argument, fmt::format("no batched rung '{}'", id));
      }));
    } else if (const auto rung = find_rung(all_rungs(), id); rung.ok()) {
      cases.push_back(matrix_case<T>(set, **rung, constants, history, limit_ms, shared));
    }
  }
  return cases;
}

}  // namespace

std::string to_string(const DenseShape& shape) {
  return shape.batch > 1 ? fmt::format("batch={},n={}", shape.batch, shape.n) : fmt::format("n={}", shape.n);
}

Result<std::vector<DenseSet>> dense_sets(const DenseLadderOptions& options) {
  std::vector<DenseShape> shapes;
  for (const std::int32_t n : options.sizes) {
    if (n < 1 || n > largest_n)
      return Status::error(StatusCode::invalid_argument, fmt::format("n = {} is not within 1..{}", n, largest_n));
    shapes.push_back({n, 1});
  }
  if (options.sizes.empty()) {
    for (const std::int32_t n : default_sizes) shapes.push_back({n, 1});
    for (const std::int32_t n : batch_sizes) shapes.push_back({n, systems_of_a_batch});
  }
  std::vector<DenseSet> sets;
  for (const DenseShape& shape : shapes) {
    for (const Scalar scalar : {Scalar::f64, Scalar::f32}) {
      if (!options.precisions.empty() && !contains(options.precisions, to_string(scalar))) continue;
      DenseSet set{shape, scalar, rungs_for(shape, scalar, options)};
      if (!set.rungs.empty()) sets.push_back(std::move(set));
    }
  }
  return sets;
}

Comparison dense_comparison(const DenseSet& set, const DeviceConstants& constants, CostHistory& history,
                            const Sampling& sampling, double limit_ms) {
  const bool f64 = set.scalar == Scalar::f64;
  return {.title = fmt::format("{} {}", to_string(set.shape), to_string(set.scalar)),
          .cases = f64 ? cases_of<double>(set, constants, history, limit_ms)
                       : cases_of<float>(set, constants, history, limit_ms),
          .sampling = sampling};
}

Result<double> estimate_dense_ms(const Rung& rung, Scalar scalar, std::int32_t n, double limit_ms,
                                 CostHistory& history) {
  if (!takes_matrix(rung, scalar, 0)) return 0.0;
  return scalar == Scalar::f64 ? estimate<double>(rung, n, limit_ms, history)
                               : estimate<float>(rung, n, limit_ms, history);
}

}  // namespace lulab::bench
