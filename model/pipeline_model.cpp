#include "model/pipeline_model.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "symbolic/levels.h"

namespace lulab {
namespace {

constexpr double comp_cycle =
    10;  // to issue the instructions between two accesses; the paper: 2 to 5 instructions, < 10 cycles

// The extended model counts the dependent memory periods of a warp in sparse_leftlooking/02_pipeline: loads whose
// result is the address of the next load.
constexpr double take_periods = 3;     // ticket; level_cols; col_ptr and diag
constexpr double load_periods = 1;     // per strip of 32 entries of A(:,j): rows and values
constexpr double look_periods = 2;     // per batch of U(:,j): its rows; then pointers into L and flags
constexpr double fetch_periods = 1;    // per batch, for its ready entries: rows and values of L
constexpr double update_periods = 1;   // per entry U(k,j): x(k) and x(i)
constexpr double strips_periods = 2;   // per 128 entries of L(:,k) after the first 32: rows and values; then x(i)
constexpr double store_periods = 2;    // per strip of 32 entries of column j: rows; then x(i)
constexpr double publish_periods = 3;  // pivot; arrival of all stores; fence (fitted, see below)
constexpr int batch = 8;
// Launch intervals before the first column and after the last one: clear, scatter, flags, pipeline, start of the
// stream.
constexpr double launches = 10;
// Two constants are fitted to measured factorizations with the ordering amd: one period per fence on the quick set of
// lulab-bench, `launches` on oscil_dcop_01, 1138_bus and fpga_dcop_01.

double strips_of(std::int64_t entries, std::int64_t size) {
  const std::int64_t strips = (entries + size - 1) / size;
  return static_cast<double>(strips);
}

struct Column {
  std::int64_t begin, diag, end;
  std::int64_t size() const { return end - begin; }
  std::int64_t l_size() const { return end - diag - 1; }
};

Column column(const FilledPattern& f, std::int32_t j) { return {f.col_ptr[j], f.diag[j], f.col_ptr[j + 1]}; }

/// Mean distance of neighbouring row indices at positions [begin, end).
double stride_of(const FilledPattern& f, std::int64_t begin, std::int64_t end) {
  if (end - begin < 2) return 1;
  return static_cast<double>(f.row_idx[end - 1] - f.row_idx[begin]) / static_cast<double>(end - begin - 1);
}

WarpParameters parameters(const DeviceConstants& c, const ModelOptions& options) {
  WarpParameters p;
  p.global_cycle = c.memory.global_cycle;
  p.cache_cycle = c.memory.cache_cycle;
  p.peak_bandwidth = c.bandwidth_bytes_per_s;
  p.sm_count = c.memory.sm_count;
  p.freq = c.memory.clock_ghz * 1e9;
  p.value_bytes = options.scalar_bytes;
  p.warps = options.warps_per_sm;
  p.comp_cycle = comp_cycle;
  return p;
}

std::int64_t resident_warps(const WarpParameters& p, const ModelOptions& options) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(p.sm_count) * options.warps_per_sm);
}

/// Converts cycles of the timeline and of its critical path to milliseconds.
void describe(Prediction& prediction, const FilledPattern& f, const Timeline& timeline, double launch_ms) {
  const double ms = 1e3 / prediction.warp.freq;
  prediction.launch_ms = launch_ms;
  prediction.ms = timeline.finish * ms + launch_ms;
  prediction.critical_columns = static_cast<std::int64_t>(timeline.critical.size());
  for (const std::int32_t j : timeline.critical) prediction.critical_updates += f.diag[j] - f.col_ptr[j];
  prediction.critical_hops = timeline.hops;
  prediction.hop_ms = timeline.hop_time * ms;
  prediction.work_ms = (timeline.finish - timeline.hop_time) * ms;
  prediction.warps_at_work = timeline.finish > 0 ? timeline.at_work / (timeline.finish * prediction.warp.sm_count) : 0;
  const auto most = std::max_element(prediction.subnodes.begin(), prediction.subnodes.end());
  prediction.most_common = static_cast<WarpCase>(most - prediction.subnodes.begin() + 1);
}

Prediction predict_published(const FilledPattern& f, const Schedule& schedule, const DeviceConstants& c,
                             const ModelOptions& options) {
  Prediction prediction;
  prediction.warp = parameters(c, options);
  const MissRates miss_rates(c.memory);
  double sum_of_miss_rates = 0;
  // A subnode processes the entries at [begin, end), 32 at a time; it occurs `count` times.
  const auto subnode = [&](std::int64_t begin, std::int64_t end, std::int64_t count) {
    WarpParameters p = prediction.warp;
    p.miss_rate = miss_rates.at(std::max(1.0, stride_of(f, begin, end)), p.warps);
    const WarpCase which = warp_case(p);
    prediction.subnodes[static_cast<std::size_t>(which) - 1] += count;
    sum_of_miss_rates += p.miss_rate * static_cast<double>(count);
    return cycles_per_warp(p, std::max(1.0, strips_of(end - begin, 32)));
  };
  std::vector<std::int64_t> uses(static_cast<std::size_t>(f.n), 0);  // number of updates by L(:,k)
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t s = f.col_ptr[j]; s < f.diag[j]; ++s) ++uses[f.row_idx[s]];
  std::vector<double> update(uses.size()), load_or_store(uses.size());
  for (std::int32_t j = 0; j < f.n; ++j) {
    const Column col = column(f, j);
    update[j] = subnode(col.diag + 1, col.end, uses[j]);
    load_or_store[j] = subnode(col.begin, col.end, 2);
  }

  const auto walk = [&](std::int32_t j, double start, std::span<const double> done) {
    ColumnRun run;
    double t = start + load_or_store[j];
    double waited = 0;
    for (std::int64_t s = f.col_ptr[j]; s < f.diag[j]; ++s) {
      const std::int32_t k = f.row_idx[s];
      if (done[k] > t) {
        waited += done[k] - t;
        t = done[k];
        run.freed_by = k;
        run.freed_at = t;
      }
      t += update[k];
    }
    run.finish = t + load_or_store[j];
    run.at_work = run.finish - start - waited;
    return run;
  };
  const Timeline timeline = run_column_queue(schedule, resident_warps(prediction.warp, options), walk);
  std::int64_t subnodes = 0;
  for (const std::int64_t count : prediction.subnodes) subnodes += count;
  prediction.warp.miss_rate = subnodes > 0 ? sum_of_miss_rates / static_cast<double>(subnodes) : 0;
  describe(prediction, f, timeline, 0);
  return prediction;
}

/// One warp that eliminates columns like sparse_leftlooking::eliminate_column(); a memory period takes `period` cycles,
/// a hop through a flag `hop`.
class Walker {
 public:
  Walker(const FilledPattern& f, double period, double hop) : f_(f), period_(period), hop_(hop) {}

  ColumnRun operator()(std::int32_t j, double start, std::span<const double> done) const {
    const Column col = column(f_, j);
    ColumnRun run;
    double waited = 0;
    double t = start + period_ * (take_periods + load_periods * strips_of(col.size(), 32));
    for (std::int64_t s = col.begin; s < col.diag;) {
      t += period_ * look_periods;
      std::int64_t ready =
          1;  // the warp waits for the first column; the others count only if they are finished by then
      while (ready < batch && s + ready < col.diag && done[f_.row_idx[s + ready]] <= t) ++ready;
      const std::int32_t first = f_.row_idx[s];
      if (done[first] > t) {
        run.freed_by = first;
        run.freed_at = done[first] + hop_;
        waited += run.freed_at - t;
        t = run.freed_at;
      }
      t += period_ * fetch_periods;
      for (; ready > 0; --ready, ++s)
        t += period_ *
             (update_periods +
              strips_periods * strips_of(std::max<std::int64_t>(0, column(f_, f_.row_idx[s]).l_size() - 32), 128));
    }
    run.finish = t + period_ * (store_periods * strips_of(col.size(), 32) + publish_periods);
    run.at_work = run.finish - start - waited;
    return run;
  }

 private:
  const FilledPattern& f_;
  double period_, hop_;
};

Prediction predict_extended(const FilledPattern& f, const Schedule& schedule, const DeviceConstants& c,
                            const ModelOptions& options) {
  Prediction prediction;
  WarpParameters& p = prediction.warp;
  p = parameters(c, options);
  // Instructions also wait for each other (multiply-add, barrier); the measured update loop includes that.
  const double dependent_cycle = std::max(0.0, least_period(c.memory) - p.cache_cycle - p.comp_cycle);
  p.cache_cycle += dependent_cycle;
  p.global_cycle += dependent_cycle;
  const std::int64_t resident = resident_warps(p, options);
  const double factor_bytes = static_cast<double>(options.scalar_bytes + 4) * static_cast<double>(f.nnz());
  p.miss_rate = std::max(0.0, 1 - c.memory.l2_bytes / std::max(factor_bytes, 1.0));
  const double hop = c.flag_hop_us * 1e-6 * p.freq;

  // The period depends on the number of working warps, and that on the period: fixed-point iteration.
  Timeline timeline;
  p.warps = 1;
  for (int pass = 0; pass < 20; ++pass) {
    constexpr double many = 1000;  // so many repetitions that start and end do not matter
    timeline = run_column_queue(schedule, resident, Walker(f, cycles_per_warp(p, many) / many, hop));
    const double at_work = timeline.at_work / (std::max(timeline.finish, 1.0) * p.sm_count);
    if (std::abs(at_work - p.warps) <= 0.01 * p.warps) break;
    p.warps = at_work;
  }
  prediction.subnodes[static_cast<std::size_t>(warp_case(p)) - 1] = f.nnz_u() + f.n;  // updates, load and store
  describe(prediction, f, timeline, launches * c.launch_us * 1e-3);
  return prediction;
}

}  // namespace

std::string_view to_string(PipelineModel model) {
  switch (model) {
    case PipelineModel::published: return "published";
    case PipelineModel::extended: return "extended";
  }
  return "?";
}

Prediction predict_pipeline(const Analysis& analysis, const DeviceConstants& constants, const ModelOptions& options) {
  const Schedule schedule = levels_left_looking(analysis.filled);
  return options.model == PipelineModel::published ? predict_published(analysis.filled, schedule, constants, options)
                                                   : predict_extended(analysis.filled, schedule, constants, options);
}

std::string to_json(const Prediction& prediction) {
  const WarpParameters& p = prediction.warp;
  const double bandwidth_warps = mwp(p);
  nlohmann::ordered_json json = {
      {"ms", prediction.ms},
      {"case", static_cast<int>(prediction.most_common)},
      {"subnodes", prediction.subnodes},
      {"miss_rate", p.miss_rate},
      {"comp_cycle", p.comp_cycle},
      {"mem_cycle", mem_cycle(p)},
      {"warps", p.warps},
      {"mwp", std::isfinite(bandwidth_warps) ? nlohmann::ordered_json(bandwidth_warps) : nlohmann::ordered_json()},
      {"mwp_req", mwp_req(p)},
      {"warp_exp", warp_exp(p)},
      {"warps_at_work", prediction.warps_at_work},
      {"critical_columns", prediction.critical_columns},
      {"critical_updates", prediction.critical_updates},
      {"critical_hops", prediction.critical_hops},
      {"hop_ms", prediction.hop_ms},
      {"work_ms", prediction.work_ms},
      {"launch_ms", prediction.launch_ms},
  };
  return json.dump(2);
}

std::string to_text(const Prediction& prediction) {
  const WarpParameters& p = prediction.warp;
  std::int64_t subnodes = 0;
  for (const std::int64_t count : prediction.subnodes) subnodes += count;
  const auto share = [&](double part, double whole) { return whole > 0 ? 100 * part / whole : 0.0; };
  std::string text = fmt::format("  {:<16} {:.4g} ms\n", "predicted", prediction.ms);
  for (const WarpCase which : {WarpCase::compute, WarpCase::bandwidth, WarpCase::latency}) {
    const auto number = static_cast<std::size_t>(which);
    const std::int64_t count = prediction.subnodes[number - 1];
    if (count > 0) {
      text += fmt::format("  {:<16} {} of {} subnodes ({:.1f} %): bound by {}\n", fmt::format("case {}", number), count,
                          subnodes, share(static_cast<double>(count), static_cast<double>(subnodes)), to_string(which));
    }
  }
  text += fmt::format("  {:<16} mem_cycle {:.0f}, comp_cycle {:.0f}, miss rate {:.3f}, #warp {:.2f}\n", "period",
                      mem_cycle(p), p.comp_cycle, p.miss_rate, p.warps);
  text +=
      fmt::format("  {:<16} MWP {:.4g}, MWP_req {:.4g}, warp_exp {:.4g}\n", "warps", mwp(p), mwp_req(p), warp_exp(p));
  text +=
      fmt::format("  {:<16} {} columns with {} entries of U; {} columns waited for the one before\n", "critical path",
                  prediction.critical_columns, prediction.critical_updates, prediction.critical_hops);
  text += fmt::format("  {:<16} {:.4g} ms at work ({:.1f} %), {:.4g} ms in hops ({:.1f} %), {:.4g} ms to launch\n", "",
                      prediction.work_ms, share(prediction.work_ms, prediction.ms), prediction.hop_ms,
                      share(prediction.hop_ms, prediction.ms), prediction.launch_ms);
  return text;
}

}  // namespace lulab
