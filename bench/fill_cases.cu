#include "bench/fill_cases.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "bench/host_threads.h"
#include "bench/stopwatch.h"
#include "core/simt/device.h"
#include "sparse_syncfree/12_front_plan.h"
#include "symbolic/08_depth_bitmaps.h"
#include "symbolic/fill.h"
#include "symbolic/fill_on_device.h"
#include "symbolic/fill_sflu.h"
#include "symbolic/fronts.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab::bench {
namespace {

// The search of a column looks at all entries of the columns it meets, or at all of B for each threshold. On a GPU many
// do so at once.
constexpr std::int32_t most_unasked_n = 40'000, most_unasked_n_on_gpu = 400'000;
constexpr double most_unasked_flops = 1e10;

bool starts_threads(const FillRung& rung) { return &rung == &fill_rungs::fill2; }

Status compare(const FilledPattern& found, const FilledPattern& expected) {
  if (found == expected) return {};
  return Status::error(StatusCode::invalid_argument, "symbolic factorization gave another pattern than the analysis");
}

/// Why no time is taken; empty: one is.
std::string left_out(const FillRung& rung, const Problem& problem, bool asked_for) {
  const bool on_gpu = rung.device == Device::gpu;
  if (on_gpu && simt::machine() == simt::Machine::simulator)
    return "skipped: performance not measured in the simulator";
  const std::int32_t n = problem.a.n_cols;
  const bool slow =
      on_gpu ? n > most_unasked_n_on_gpu : n > most_unasked_n || problem.limits_f64.flops > most_unasked_flops;
  return slow && !rung.is_fast && !asked_for ? fmt::format("skipped: slow; ask for it with --rung {}", rung.id) : "";
}

struct FillCall {
  CscPattern b;
  FillWork work;
};

FillFigures figures_of(const FillCall& call, const Problem& problem, double bandwidth_bytes_per_s) {
  const std::int64_t n = call.b.n_cols, sets = 4 * n * set_words(call.b.n_cols);
  return {.edges = call.work.edges,
          .groups = call.work.batches,
          .most_at_once = call.work.most_sources,
          .workspace_bytes = call.work.workspace_bytes,
          .six_arrays_bytes = 6 * 4 * n * call.work.most_sources,
          .pattern_bytes = 8 * (n + 1) + 4 * call.b.nnz(),
          .moved_bytes = 12 * call.work.edges + call.work.cleared_bytes + 2 * sets + 4 * problem.analysis.filled.nnz(),
          .bandwidth_bytes_per_s = bandwidth_bytes_per_s};
}

/// DepthBitmaps as SfluFill is used.
class BitmapFill {
 public:
  static Result<BitmapFill> create(CscPatternView b, simt::Stream& stream) { return create(b, 0, stream); }
  /// limit: of the bitmaps' bytes; 0: none.
  static Result<BitmapFill> create(CscPatternView b, std::int64_t limit, simt::Stream& stream) {
    BitmapFill f;
    LULAB_ASSIGN_OR_RETURN(f.b_, PatternOnDevice::create(b, stream));
    LULAB_ASSIGN_OR_RETURN(f.search_, DepthBitmaps::create(b.n_cols, b.nnz(), {.bytes = limit}, {}));
    return f;
  }
  Status enqueue(simt::Stream& stream) { return search_->fill(b_.view(), filled_, stream); }
  Result<FilledPattern> download(simt::Stream& stream) { return filled_.download(stream); }
  std::int64_t bytes() const { return search_->bytes(); }

 private:
  PatternOnDevice b_;
  std::optional<DepthBitmaps> search_;
  DeviceFilledPattern filled_;
};

/// BitmapFill within an eighth of the memory that it takes without a limit.
struct BitmapFillInAnEighth {
  static Result<BitmapFill> create(CscPatternView b, simt::Stream& stream) {
    std::int64_t bytes = 0;
    {
      LULAB_ASSIGN_OR_RETURN(auto free, BitmapFill::create(b, stream));
      LULAB_RETURN_IF_ERROR(free.enqueue(stream));
      bytes = free.bytes();
    }
    simt::reset_peak_bytes();
    return BitmapFill::create(b, std::max<std::int64_t>(bytes / 8, 1), stream);
  }
};

/// With the pattern of P·R·A·C·Q on the device before and that of L + U left there.
/// Fill: create(b, stream), enqueue(stream), download(stream), as SfluFill
template <class Fill>
Case device_fill_case(Name name, const Problem& problem) {
  struct Search {
    explicit Search(simt::Stream s) : stream(std::move(s)) {}
    Status verify(const FilledPattern& expected) {
      LULAB_ASSIGN_OR_RETURN(const auto filled, fill->download(stream));
      return compare(filled, expected);
    }

    simt::Stream stream;
    std::optional<Stopwatch> watch;
    std::optional<std::remove_cvref_t<decltype(*Fill::create({}, std::declval<simt::Stream&>()))>> fill;
    std::int64_t peak_bytes = 0;  // of create() and a first search; later other cases take memory between the runs
  };
  auto work = std::make_shared<std::unique_ptr<Search>>();
  Case c;
  c.rows = {{.name = std::move(name)}};
  c.prepare = [work, &problem]() -> Status {
    const std::int64_t before = simt::allocated_bytes();
    LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
    simt::reset_peak_bytes();
    *work = std::make_unique<Search>(std::move(stream));
    Search& search = **work;
    LULAB_ASSIGN_OR_RETURN(search.watch, Stopwatch::create(&search.stream));
    const CscPattern b = pattern_to_fill(problem);
    LULAB_ASSIGN_OR_RETURN(search.fill, Fill::create(b, search.stream));
    LULAB_RETURN_IF_ERROR(search.fill->enqueue(search.stream));
    search.peak_bytes = simt::peak_bytes() - before;
    return search.verify(problem.analysis.filled);
  };
  c.run = [work](std::uint64_t) {
    Search& search = **work;
    return one_time(search.watch->time([&] { return search.fill->enqueue(search.stream); }));
  };
  c.verify = [work, &problem](std::span<Row> rows) {
    rows[0].label = "on the device";
    rows[0].peak_bytes = (*work)->peak_bytes;
    return (*work)->verify(problem.analysis.filled);
  };
  return c;
}

/// B read and the pattern of L + U with its diagonal written, once.
double bytes_of_patterns(const Problem& problem) {
  const FilledPattern& filled = problem.analysis.filled;
  return 8.0 * (3.0 * filled.n + 2) + 4.0 * static_cast<double>(problem.a.nnz() + filled.nnz());
}

struct DeviceFill {
  std::string_view rung, variant;  // id, and what follows it in the name of the line
  Case (*make)(Name name, const Problem& problem);
};
/// Rungs that can leave the pattern on the device.
constexpr DeviceFill device_fills[] = {
    {"symbolic/07_sflu", "", device_fill_case<SfluFill>},
    {"symbolic/08_depth_bitmaps", "", device_fill_case<BitmapFill>},
    {"symbolic/08_depth_bitmaps", "_eighth", device_fill_case<BitmapFillInAnEighth>}};

/// A and its order in device memory.
struct OrderedOnDevice {
  PatternOnDevice a;
  simt::DeviceBuffer<std::int32_t> d_p, d_q;

  static Result<OrderedOnDevice> create(const Problem& problem) {
    LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
    OrderedOnDevice o;
    LULAB_ASSIGN_OR_RETURN(o.a, PatternOnDevice::create(problem.a.pattern(), stream));
    LULAB_RETURN_IF_ERROR(simt::make(o.d_p, problem.analysis.plan.p, stream));
    LULAB_RETURN_IF_ERROR(simt::make(o.d_q, problem.analysis.plan.q, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    return o;
  }
};

/// What 12_multifrontal runs, from A and its order on the device.
struct FrontSchedule {
  FillOnDevice fill;
  Fronts fronts;
  sparse_syncfree::FrontPlan plan;
  double ms = 0, after_fill_ms = 0;

  static Result<FrontSchedule> create(const OrderedOnDevice& from, ColumnOrder order) {
    const auto start = Clock::now();
    LULAB_ASSIGN_OR_RETURN(auto fill, FillOnDevice::create(from.a.view(), from.d_p.data(), from.d_q.data(), order));
    const auto filled = Clock::now();
    LULAB_RETURN_IF_ERROR(fill.find_panels());
    LULAB_ASSIGN_OR_RETURN(auto fronts, fill.fronts());
    LULAB_ASSIGN_OR_RETURN(auto plan, sparse_syncfree::make_front_plan(fronts, fill.nnz(), {}));
    const double ms = ms_since(start), after_fill_ms = ms_since(filled);
    return FrontSchedule{std::move(fill), std::move(fronts), std::move(plan), ms, after_fill_ms};
  }
  /// The pattern is that of the analysis, where columns keep their order, and the fronts are those that the host finds.
  Status verify(const FilledPattern& expected) const {
    LULAB_ASSIGN_OR_RETURN(const auto filled, fill.download());
    if (fill.postorder().empty()) LULAB_RETURN_IF_ERROR(compare(filled, expected));
    if (fronts.tree == find_fronts(filled, find_relaxed_supernodes(filled, {})).tree) return {};
    return Status::error(StatusCode::invalid_argument, "the device found other fronts than the host");
  }
};

Case schedule_case(const FillRung& rung, const Problem& problem) {
  struct Work {
    std::optional<OrderedOnDevice> from;
    std::optional<FrontSchedule> schedule;
  };
  auto work = std::make_shared<Work>();
  const auto order = problem.analysis.plan.order == "amd" ? ColumnOrder::in_postorder : ColumnOrder::as_given;
  Case c;
  for (const char* from : {"_a_to_fronts", "_to_fronts"})
    c.rows.push_back({.name = {std::string(rung.id) + from, problem.name, Phase::symbolic_device, Scalar::f64}});
  c.reason_to_skip = [&problem, order]() -> Result<std::string> {
    LULAB_ASSIGN_OR_RETURN(const auto from, OrderedOnDevice::create(problem));
    const Status status = FrontSchedule::create(from, order).status();
    return status.code == StatusCode::not_implemented ? "skipped: " + status.message : "";
  };
  c.prepare = [work, &problem]() -> Status {
    LULAB_ASSIGN_OR_RETURN(work->from, OrderedOnDevice::create(problem));
    return {};
  };
  c.run = [work, order](std::uint64_t) -> Result<Times> {
    work->schedule.reset();
    LULAB_ASSIGN_OR_RETURN(work->schedule, FrontSchedule::create(*work->from, order));
    return Times{work->schedule->ms, work->schedule->after_fill_ms};
  };
  c.verify = [work, &problem](std::span<Row> rows) -> Status {
    rows[0].label = "from A and its order on the device to the schedule of 12_multifrontal";
    rows[1].label = "from the pattern of L + U on the device to the schedule of 12_multifrontal";
    Status verified = work->schedule->verify(problem.analysis.filled);
    *work = {};  // it takes device memory
    return verified;
  };
  return c;
}

}  // namespace

CscPattern pattern_to_fill(const Problem& problem) {
  return permute(problem.a.pattern().view(), problem.analysis.plan.p, problem.analysis.plan.q);
}

Result<const FillRung*> find_fill_rung(std::string_view name) {
  std::vector<std::string_view> ids;
  for (const FillRung* rung : every_fill_rung()) ids.push_back(rung->id);
  LULAB_ASSIGN_OR_RETURN(const std::size_t found, find_id(ids, name));
  return every_fill_rung()[found];
}

bool is_fill_rung(std::string_view id) {
  return std::ranges::any_of(every_fill_rung(), [&](const FillRung* rung) { return rung->id == id; });
}

Case fill_case(const FillRung& rung, const Problem& problem, FillVariant variant) {
  auto call = std::make_shared<FillCall>();
  Case c;
  c.rows = {{.name = {std::string(rung.id) + variant.name, problem.name, Phase::symbolic, Scalar::f64}}};
  c.prepare = [call, &problem]() -> Status {
    call->b = pattern_to_fill(problem);
    return {};
  };
  c.run = [call, &rung, &problem, limits = variant.limits](std::uint64_t) -> Result<Times> {
    call->work = {};
    simt::reset_peak_bytes();
    const StayOnCore stay(rung.device == Device::cpu && !starts_threads(rung));
    const auto start = Clock::now();
    const auto filled = rung.fill(call->b, limits, &call->work);
    const double ms = ms_since(start);
    if (!filled.ok()) return filled.status();
    LULAB_RETURN_IF_ERROR(compare(*filled, problem.analysis.filled));
    return Times{ms};
  };
  c.verify = [call, &rung, &problem, variant](std::span<Row> rows) -> Status {
    const int threads = variant.limits.threads;
    if (starts_threads(rung))
      rows[0].threads = threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    if (rung.device == Device::gpu) rows[0].peak_bytes = simt::peak_bytes();
    if (call->work.batches > 0) rows[0].fill = figures_of(*call, problem, variant.bandwidth_bytes_per_s);
    return {};
  };
  return c;
}

Case sflu_fill_case(Name name, const Problem& problem) { return device_fill_case<SfluFill>(std::move(name), problem); }

Comparison fill_comparison(const Problem& problem, const FillOptions& options) {
  Comparison comparison = {.title = fmt::format("{}|symbolic/", problem.name), .cases = {}};
  const auto named = [&](std::string_view id) { return std::ranges::find(options.rungs, id) != options.rungs.end(); };
  const auto add = [&](const FillRung& rung, Case c) {
    if (std::string why = left_out(rung, problem, named(rung.id)); !why.empty())
      c.reason_to_skip = [why] { return Result<std::string>(why); };
    comparison.cases.push_back(std::move(c));
  };
  const FillRung& yardstick = fill_rungs::gilbert_peierls;
  add(yardstick, fill_case(yardstick, problem));
  for (const FillRung* rung : every_fill_rung()) {
    if (!options.rungs.empty() && !named(rung->id)) continue;
    if (options.host_to_host && rung != &yardstick)
      add(*rung, fill_case(*rung, problem, {.limits = {.threads = options.threads}}));
    if (!options.on_device) continue;
    for (const DeviceFill& fill : device_fills) {
      if (fill.rung != rung->id) continue;
      Case c = fill.make(
          {std::string(rung->id) + std::string(fill.variant), problem.name, Phase::symbolic_device, Scalar::f64},
          problem);
      if (options.bandwidth_bytes_per_s > 0) {
        c.rows[0].bound_ms = 1e3 * bytes_of_patterns(problem) / options.bandwidth_bytes_per_s;
        c.rows[0].bound_by = "bytes";
      }
      add(*rung, std::move(c));
    }
    if (options.on_device && rung == &fill_rungs::depth_bitmaps) add(*rung, schedule_case(*rung, problem));
  }
  comparison.sampling = {.min_samples = 3,
                         .max_samples = 500,
                         .budget_s = options.budget_s * static_cast<double>(comparison.cases.size()),
                         .slow_ms = 2000,
                         .slow_samples = 1};
  return comparison;
}

}  // namespace lulab::bench
