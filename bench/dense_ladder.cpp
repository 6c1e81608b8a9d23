#include "bench/dense_ladder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "bench/batch_contender.h"
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

std::vector<Row> rows_of(const DenseCase& c) {
  std::vector<Row> rows;
  for (const std::string& id : c.rungs) {
    Row row;
    row.name = name_of(c, id);
    row.flops = dense_flops(c.shape);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string in_words(const Row& row, std::string_view matrices) {
  return fmt::format("{} samples, {:.4g} to {:.4g} ms{}", row.samples, row.min_ms, row.max_ms, matrices);
}

void set_bound(Row& row, const DenseBound& bound) {
  row.bound_ms = bound.ms;
  row.bound_by = to_string(bound.by);
}

/// Samples those contenders that there are; rows[k] belongs to contenders[k].
template <class C>
void sample_rows(std::vector<Row>& rows, const std::vector<std::unique_ptr<C>>& contenders,
                 const AlternatingOptions& sampling) {
  std::vector<Contender*> present;
  std::vector<std::size_t> index;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (contenders[k] == nullptr) continue;
    present.push_back(contenders[k].get());
    index.push_back(k);
  }
  const std::vector<Samples> samples = sample_alternating(present, sampling);
  for (std::size_t k = 0; k < present.size(); ++k) {
    Row& row = rows[index[k]];
    if (!samples[k].status.ok()) {
      row.error = samples[k].status.to_string();
      continue;
    }
    set_times(row, samples[k].ms);
    row.lu_residual = contenders[index[k]]->verdict().lu_residual;
    row.growth = contenders[index[k]]->verdict().growth;
  }
}

template <class T>
void measure_matrices(const DenseCase& c, const DeviceConstants& constants, CostHistory& history,
                      const DenseMeasuring& how, std::vector<Row>& rows) {
  std::vector<const Rung*> rungs;
  for (Row& row : rows) {
    const auto rung = find_rung(all_rungs(), row.name.rung);
    rungs.push_back(rung.ok() ? *rung : nullptr);
    if (!rung.ok()) {
      row.error = rung.status().to_string();
      continue;
    }
    const auto ms = estimate<T>(**rung, c.shape.n, how.limit_ms, history);
    row.error = ms.ok() ? reason_to_skip(*ms, how.limit_ms) : ms.status().to_string();
  }

  auto arena = DenseArena<T>::create(c.shape.n);
  std::vector<std::unique_ptr<DenseContender<T>>> contenders(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (!rows[k].error.empty()) continue;
    auto made = arena.ok() ? DenseContender<T>::create(*rungs[k], *arena) : arena.status();
    if (made.ok())
      contenders[k] = std::move(*made);
    else
      rows[k].error = made.status().to_string();
  }
  sample_rows(rows, contenders, how.sampling);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    Row& row = rows[k];
    if (!row.error.empty()) continue;
    const bool pivots = rungs[k]->facts.pivoting != Pivoting::fixed;
    row.label = in_words(row, pivots ? "" : ", no pivoting, diagonally dominant matrix");
    row.peak_bytes = contenders[k]->bytes();
    set_bound(row, dense_bound(c.shape, c.scalar, pivots, constants));
    history.add(key(*rungs[k], c.scalar), c.shape.n, row.min_ms);
  }
}

template <class T>
void measure_batch(const DenseCase& c, const DeviceConstants& constants, const DenseMeasuring& how,
                   std::vector<Row>& rows) {
  const std::vector<BatchRung> rungs = batch_rungs();
  auto arena = BatchArena<T>::create(c.shape);
  std::vector<std::unique_ptr<BatchContender<T>>> contenders(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto rung = std::find_if(rungs.begin(), rungs.end(), [&](const BatchRung& r) { return r.id == c.rungs[k]; });
    if (rung == rungs.end()) {
      rows[k].error = fmt::format("no batched rung '{}'", c.rungs[k]);
      continue;
    }
    auto made = arena.ok() ? BatchContender<T>::create(*rung, *arena) : arena.status();
    if (made.ok())
      contenders[k] = std::move(*made);
    else
      rows[k].error = made.status().to_string();
  }
  sample_rows(rows, contenders, how.sampling);
  for (Row& row : rows) {
    if (!row.error.empty()) continue;
    row.label = in_words(row, "");
    set_bound(row, dense_bound(c.shape, c.scalar, true, constants));
  }
}

}  // namespace

std::string to_string(const DenseShape& shape) {
  return shape.batch > 1 ? fmt::format("batch={},n={}", shape.batch, shape.n) : fmt::format("n={}", shape.n);
}

Name name_of(const DenseCase& c, const std::string& rung) {
  return {rung, to_string(c.shape), Phase::factor, c.scalar};
}

Result<std::vector<DenseCase>> dense_cases(const DenseLadderOptions& options) {
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
  std::vector<DenseCase> cases;
  for (const DenseShape& shape : shapes) {
    for (const Scalar scalar : {Scalar::f64, Scalar::f32}) {
      if (!options.precisions.empty() && !contains(options.precisions, to_string(scalar))) continue;
      DenseCase c{shape, scalar, rungs_for(shape, scalar, options)};
      if (!c.rungs.empty()) cases.push_back(std::move(c));
    }
  }
  return cases;
}

std::vector<Row> measure(const DenseCase& c, const DeviceConstants& constants, CostHistory& history,
                         const DenseMeasuring& how) {
  std::vector<Row> rows = rows_of(c);
  const bool f64 = c.scalar == Scalar::f64;
  if (c.batched())
    f64 ? measure_batch<double>(c, constants, how, rows) : measure_batch<float>(c, constants, how, rows);
  else
    f64 ? measure_matrices<double>(c, constants, history, how, rows)
        : measure_matrices<float>(c, constants, history, how, rows);
  return rows;
}

std::vector<Row> rows_without_times(const DenseCase& c, const std::string& why) {
  std::vector<Row> rows = rows_of(c);
  for (Row& row : rows) row.error = why;
  return rows;
}

Result<double> estimate_dense_ms(const Rung& rung, Scalar scalar, std::int32_t n, double limit_ms,
                                 CostHistory& history) {
  if (!takes_matrix(rung, scalar, 0)) return 0.0;
  return scalar == Scalar::f64 ? estimate<double>(rung, n, limit_ms, history)
                               : estimate<float>(rung, n, limit_ms, history);
}

}  // namespace lulab::bench
