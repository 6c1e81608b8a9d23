#include "bench/gsofa_set.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/simt/device.h"
#include "symbolic/fill_sources.h"

namespace lulab::bench {
namespace {

const std::array set_rungs = {&fill_rungs::fill2, &fill_rungs::fill2_threads, &fill_rungs::gsofa,
                              &fill_rungs::gsofa_sources};

constexpr std::int64_t gb = 1'000'000'000;
// A thread of 04 looks at nearly all of B alone: seconds.
constexpr std::int32_t most_n_of_fill2_threads = 150'000;
constexpr std::int32_t most_groups = 1000;

/// Workspace that the rung makes use of within these limits.
Result<std::int64_t> need_of(const FillRung& rung, std::int32_t n, const FillLimits& limits) {
  LULAB_ASSIGN_OR_RETURN(const auto search, rung.make_search(n, limits));
  return useful_workspace_bytes(*search, n, limits);
}

/// Lines of 05 or 06: names and limits.
Result<std::vector<FillVariant>> gsofa_variants(const FillRung& rung, std::int32_t n) {
  LULAB_ASSIGN_OR_RETURN(const std::int64_t need, need_of(rung, n, {}));
  std::vector<FillVariant> variants = {{"", {.workspace_bytes = need}}};
  const auto add = [&](std::string name, const FillLimits& limits) { variants.push_back({std::move(name), limits}); };
  for (const std::int64_t budget : {16, 5, 1})
    if (budget * gb < need) add(fmt::format("_{}GB", budget), {.workspace_bytes = budget * gb});
  const std::int64_t eighth = need / 8;
  add("_eighth", {.workspace_bytes = eighth});
  add("_line_9.5", {.workspace_bytes = need, .passes_found_rows = true});
  if (&rung != &fill_rungs::gsofa_sources) return variants;
  add("_clears_max_id", {.workspace_bytes = need, .clears_max_id = true});
  LULAB_ASSIGN_OR_RETURN(const std::int64_t with_bubbles, need_of(rung, n, {.keeps_bubbles = true}));
  add("_bubbles", {.workspace_bytes = with_bubbles, .keeps_bubbles = true});
  add("_eighth_clears_max_id", {.workspace_bytes = eighth, .clears_max_id = true});
  add("_eighth_bubbles", {.workspace_bytes = eighth, .keeps_bubbles = true});
  add("_eighth_one_size", {.workspace_bytes = eighth, .groups_of_one_size = true});
  if (gb < need) {
    add("_1GB_bubbles", {.workspace_bytes = gb, .keeps_bubbles = true});
    add("_1GB_one_size", {.workspace_bytes = gb, .groups_of_one_size = true});
  }
  for (const std::int32_t sources : {64, 128, 256, 1024})
    if (sources < n && n / sources <= most_groups)
      add(fmt::format("_{}_columns", sources), {.workspace_bytes = need, .sources = sources});
  return variants;
}

/// The columns of the share are those of the pattern.
Status compare_share(const DeviceFilledPattern& found, const FilledPattern& expected, simt::Stream& stream) {
  std::vector<std::int32_t> rows(found.nnz), expected_rows;
  if (found.nnz > 0)
    LULAB_RETURN_IF_ERROR(
        simt::copy_to_host(rows.data(), found.d_row_idx.data(), rows.size() * sizeof(std::int32_t), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  for (std::int32_t k = 0; k < found.share.size(found.n); ++k) {
    const std::int32_t j = found.share.source(k);
    expected_rows.insert(expected_rows.end(), expected.row_idx.begin() + expected.col_ptr[j],
                         expected.row_idx.begin() + expected.col_ptr[j + 1]);
  }
  if (rows == expected_rows) return {};
  return Status::error(StatusCode::invalid_argument, "a share of the columns has another pattern than the analysis");
}

/// Times of all shares, and what they did.
struct Shares {
  CscPattern b;
  std::vector<double> ms, edges;
};

double largest_over_mean(const std::vector<double>& values) {
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return sum > 0 ? *std::ranges::max_element(values) * static_cast<double>(values.size()) / sum : 1;
}

/// The slowest of so many shares of the columns, one after the other.
Case shares_case(const FillRung& rung, const Problem& problem, std::int32_t count) {
  auto shares = std::make_shared<Shares>();
  Case c;
  const std::string id = fmt::format("{}_{}_share{}", rung.id, count, count > 1 ? "s" : "");
  c.rows = {{.name = {id, problem.name, Phase::symbolic, Scalar::f64}}};
  c.prepare = [shares, &problem]() -> Status {
    shares->b = pattern_to_fill(problem);
    return {};
  };
  c.run = [shares, &rung, &problem, count](std::uint64_t) -> Result<Times> {
    shares->ms.clear();
    shares->edges.clear();
    for (std::int32_t rank = 0; rank < count; ++rank) {
      FillWork work;
      LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
      simt::Scratch workspace;
      const auto start = Clock::now();
      LULAB_ASSIGN_OR_RETURN(const auto search, rung.make_search(shares->b.n_cols, {}));
      LULAB_ASSIGN_OR_RETURN(const auto found, fill_by_sources(shares->b, {}, *search, stream, workspace, &work,
                                                               {.first = rank, .step = count}));
      LULAB_RETURN_IF_ERROR(stream.wait());
      shares->ms.push_back(ms_since(start));
      shares->edges.push_back(static_cast<double>(work.edges));
      LULAB_RETURN_IF_ERROR(compare_share(found, problem.analysis.filled, stream));
    }
    return Times{*std::ranges::max_element(shares->ms)};
  };
  c.verify = [shares](std::span<Row> rows) -> Status {
    rows[0].label = fmt::format("the slowest share takes {:.3g} x the mean and reads up to {:.3g} x the mean",
                                largest_over_mean(shares->ms), largest_over_mean(shares->edges));
    return {};
  };
  return c;
}

/// Why no time is taken; empty: one is.
std::string reason_to_leave_out(const FillRung& rung, std::int32_t n, bool asked_for) {
  if (rung.device == Device::gpu && simt::machine() == simt::Machine::simulator)
    return "skipped: performance not measured in the simulator";
  if (&rung == &fill_rungs::fill2_threads && n > most_n_of_fill2_threads && !asked_for)
    return fmt::format("skipped: slow; ask for it with --rung {}", rung.id);
  return "";
}

/// Has no first run after that time.
void stop_at(Case& c, Clock::time_point ends) {
  c.run = [run = std::move(c.run), ends, started = std::make_shared<bool>(false)](std::uint64_t seed) -> Result<Times> {
    if (!*started && Clock::now() > ends)
      return Status::error(StatusCode::invalid_argument, "skipped: the time of the set is over");
    *started = true;
    return run(seed);
  };
}

}  // namespace

bool is_in_gsofa_set(std::string_view rung) {
  return std::ranges::any_of(set_rungs, [&](const FillRung* one) { return one->id == rung; });
}

Result<std::vector<Comparison>> gsofa_comparisons(const Problem& problem, const GsofaOptions& options) {
  Comparison comparison = {.title = fmt::format("{}|gsofa", problem.name), .cases = {}};
  comparison.cases.push_back(fill_case(fill_rungs::gilbert_peierls, problem));
  Comparison shares = {.title = fmt::format("{}|shares", problem.name), .cases = {}};
  const auto add = [&](Comparison& to, Case c, const std::string& why) {
    if (!why.empty()) c.reason_to_skip = [why] { return Result<std::string>(why); };
    if (options.ends) stop_at(c, *options.ends);
    to.cases.push_back(std::move(c));
  };
  const std::int32_t n = problem.a.n_cols;
  for (const FillRung* rung : set_rungs) {
    const bool asked_for = std::ranges::find(options.rungs, rung->id) != options.rungs.end();
    if (!options.rungs.empty() && !asked_for) continue;
    std::vector<FillVariant> variants = {{"", {.threads = options.threads}}};
    if (rung == &fill_rungs::gsofa || rung == &fill_rungs::gsofa_sources) {
      LULAB_ASSIGN_OR_RETURN(variants, gsofa_variants(*rung, n));
    }
    const std::string why = reason_to_leave_out(*rung, n, asked_for);
    for (FillVariant& variant : variants) {
      variant.bandwidth_bytes_per_s = options.bandwidth_bytes_per_s;
      add(comparison, fill_case(*rung, problem, std::move(variant)), why);
    }
    if (rung != &fill_rungs::gsofa_sources) continue;
    for (const std::int32_t count : {1, 2, 8, 32}) add(shares, shares_case(*rung, problem, count), why);
  }
  // At least three runs, as in the paper, and one where each takes long.
  comparison.sampling = {.min_samples = 3,
                         .max_samples = 20,
                         .budget_s = options.budget_s * static_cast<double>(comparison.cases.size()),
                         .slow_ms = 200,
                         .slow_samples = 1};
  shares.sampling = {.min_samples = 1, .max_samples = 1, .budget_s = 0, .slow_ms = 200, .slow_samples = 1};
  std::vector<Comparison> both;
  both.push_back(std::move(comparison));
  if (!shares.cases.empty()) both.push_back(std::move(shares));
  return both;
}

}  // namespace lulab::bench
