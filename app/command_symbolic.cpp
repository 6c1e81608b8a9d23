// lulab symbolic A.mtx: the pattern of L + U by the rungs of symbolic/, compared with each other.

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "bench/schedules.h"
#include "core/timing.h"
#include "driver/analyze.h"
#include "model/fill_costs.h"
#include "symbolic/fill_over_ranks.h"
#include "symbolic/rungs.h"

namespace lulab::app {
namespace {

struct SymbolicArguments {
  std::string matrix, rung;
  FillLimits limits;
  int model_ranks = 0;
  SolverArguments solver;
};

/// Rungs that are not fast search matrices up to this size, where they are not asked for by name.
constexpr std::int32_t most_unasked = 40000;
/// The same where the device is simulated.
constexpr std::int32_t most_unasked_simulated = 2000;

constexpr std::string_view automatic = "auto";  // the rung that is predicted to be the fastest

/// All, where none is named, or "auto", which waits for the matrix; a part of an id names its rung, if no other id has
/// it.
/// Errors    invalid_argument listing the rungs there are; not_implemented: several ranks cannot share its work.
Result<std::vector<const FillRung*>> rungs_asked_for(const std::string& name, int ranks) {
  std::vector<const FillRung*> rungs;
  std::string known, shared;
  for (const FillRung* rung : every_fill_rung()) {
    known += fmt::format("\n  {}: {}", rung->id, rung->idea);
    if (rung->make_search != nullptr) shared += fmt::format("\n  {}", rung->id);
    if (name == automatic || rung->id.find(name) != std::string_view::npos) rungs.push_back(rung);
  }
  if (name.empty() || name == automatic) return rungs;
  if (rungs.size() != 1)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} rung of symbolic factorization is named {}; there are{}",
                                     rungs.empty() ? "no" : "more than one", lulab::quoted(name), known));
  if (ranks > 1 && rungs.front()->make_search == nullptr)
    return Status::error(StatusCode::not_implemented,
                         fmt::format("{} runs on one rank; several share the work of{}", rungs.front()->id, shared));
  return rungs;
}

/// Why a rung that was not asked for is left out; empty: it is not.
std::string left_out(const FillRung& rung, std::int32_t n, int ranks) {
  if (ranks > 1 && rung.make_search == nullptr) return "runs on one rank";
  const bool simulated = rung.device == Device::gpu && simt::machine() == simt::Machine::simulator;
  if (simulated && n > most_unasked_simulated) return fmt::format("simulated; ask for it with --rung {}", rung.id);
  if (!rung.is_fast && n > most_unasked) return fmt::format("slow; ask for it with --rung {}", rung.id);
  return "";
}

/// What rank 0 read and ordered; of the pattern the others have `b` and a hash of `filled`.
struct Ordered {
  std::string name, order;
  std::int64_t nnz = 0;
  CscPattern b;
  FilledPattern filled;
  std::int64_t hash = 0;
};

std::int64_t hash_of(const FilledPattern& f) {
  const auto bytes_of = [](const auto& array) {
    return std::string_view(reinterpret_cast<const char*>(array.data()), array.size() * sizeof(array[0]));
  };
  const std::hash<std::string_view> hash;
  return static_cast<std::int64_t>(hash(bytes_of(f.col_ptr)) ^ 3 * hash(bytes_of(f.row_idx)) ^
                                   5 * hash(bytes_of(f.diag)));
}

Result<Ordered> read_and_order(const SymbolicArguments& arguments, Progress& progress) {
  LULAB_ASSIGN_OR_RETURN(const auto preprocess, preprocess_options(arguments.solver));
  LULAB_ASSIGN_OR_RETURN(const auto input, load_matrix(arguments.matrix, Needs::square_pattern));
  progress.show("ordering " + input.name);
  auto analysis = analyze(input.a(), preprocess);
  if (!analysis.ok()) return concerning(input.path, analysis.status());
  return Ordered{.name = input.name,
                 .order = analysis->plan.order,
                 .nnz = input.a().nnz(),
                 .b = permute(CscPatternView(input.a()), analysis->plan.p, analysis->plan.q),
                 .filled = std::move(analysis->filled)};
}

/// Collective.   Errors out_of_memory, of any rank.
Status broadcast_pattern(Ranks& ranks, CscPattern& b) {
  std::int64_t sizes[] = {b.n_cols, b.nnz()};
  broadcast_values(ranks, sizes, 0);
  Status room;
  try {
    b.n_rows = b.n_cols = static_cast<std::int32_t>(sizes[0]);
    b.col_ptr.resize(b.n_cols + std::size_t(1));
    b.row_idx.resize(sizes[1]);
  } catch (const std::bad_alloc&) {
    room = Status::error(StatusCode::out_of_memory, fmt::format("no host memory for the {} entries of A", sizes[1]));
  }
  LULAB_RETURN_IF_ERROR(agree(ranks, room));
  broadcast_values(ranks, b.col_ptr, 0);
  broadcast_values(ranks, b.row_idx, 0);
  return {};
}

/// Collective. The rung for "auto", which each rank runs for itself: to share the work of another takes longer. Orders
/// by nested dissection come postordered.
const FillRung* choose(Ranks& ranks, const Ordered& matrix) {
  char renumbers = static_cast<char>(matrix.order != "nd" && matrix.order != "metis");
  broadcast_values(ranks, std::span(&renumbers, 1), 0);
  return &choose_fill_rung(matrix.b.nnz(), renumbers != 0, simt::machine() == simt::Machine::gpu);
}

/// Where the matrix is refused by the one chosen.
const FillRung* fallback(int ranks) { return ranks > 1 ? &fill_rungs::gsofa_sources : &fill_rungs::gilbert_peierls; }

/// Collective. So that the first rung is not charged with starting the devices, and what connects them. What goes wrong
/// here, the rung meets again.
void touch_devices(Ranks& ranks) {
  auto stream = simt::Stream::create();
  auto mine = simt::DeviceBuffer<std::int64_t>::create(1),
       all = simt::DeviceBuffer<std::int64_t>::create(ranks.count());
  const bool ready = stream.ok() && mine.ok() && all.ok() && mine->fill_bytes(0, *stream).ok();
  if (!agree(ranks, ready ? Status() : Status::error(StatusCode::device_error, "no device")).ok()) return;
  const std::vector<std::int64_t> bytes(ranks.count(), sizeof(std::int64_t));
  (void)ranks.all_gather_on_device(mine->data(), bytes, all->data(), *stream).ok();
}

/// A rung's answer.
struct Found {
  FilledPattern filled;
  std::vector<FillWork> work;  // of each rank, or of one where each did all of it
  double time_ms = 0;          // median of the runs
  int runs = 0;
};

/// Collective. Runs the rung once, or more often where that is short: until 50 ms have passed, at most 5 times.
Result<Found> find_pattern(CscPatternView b, const FillRung& rung, const FillLimits& limits, Ranks& ranks) {
  constexpr double enough_ms = 50;
  constexpr std::size_t most_runs = 5;
  const bool measured = rung.device == Device::cpu || simt::machine() == simt::Machine::gpu;
  Found found;
  std::vector<double> times_ms;
  double sum_ms = 0;
  for (char again = 1; again != 0;) {
    LULAB_RETURN_IF_ERROR(agree(ranks, {}));  // all begin together
    const auto start = Clock::now();
    if (ranks.count() > 1 && rung.make_search != nullptr) {
      LULAB_ASSIGN_OR_RETURN(found.filled, fill_over_ranks(b, rung, limits, ranks, &found.work));
    } else {
      found.work.resize(1);
      auto filled = rung.fill(b, limits, found.work.data());
      LULAB_RETURN_IF_ERROR(agree(ranks, filled.status()));
      found.filled = std::move(*filled);
    }
    times_ms.push_back(ms_since(start));
    sum_ms += times_ms.back();
    again = static_cast<char>(measured && sum_ms < enough_ms && times_ms.size() < most_runs);
    broadcast_values(ranks, std::span(&again, 1), 0);
  }
  std::ranges::sort(times_ms);
  found.time_ms = times_ms[times_ms.size() / 2];
  found.runs = static_cast<int>(times_ms.size());
  return found;
}

/// What all ranks did together, the busiest rank's entries over the mean.
struct Together {
  FillWork work;
  double imbalance = 1;
};
Together together(const std::vector<FillWork>& works) {
  Together all = {works.front()};
  std::int64_t most = all.work.edges;
  for (std::size_t r = 1; r < works.size(); ++r) {
    all.work.edges += works[r].edges;
    all.work.batches = std::max(all.work.batches, works[r].batches);
    all.work.most_sources = std::max(all.work.most_sources, works[r].most_sources);
    all.work.fewest_sources = std::min(all.work.fewest_sources, works[r].fewest_sources);
    all.work.workspace_bytes = std::max(all.work.workspace_bytes, works[r].workspace_bytes);
    most = std::max(most, works[r].edges);
  }
  if (all.work.edges > 0)
    all.imbalance = static_cast<double>(most) * static_cast<double>(works.size()) / static_cast<double>(all.work.edges);
  return all;
}

/// How much faster so many ranks would search, if entries read were all that counts, and how long they would take with
/// the pattern gathered. Counted and not run: without what searches from fewer columns gain.
struct ModelledRanks {
  int ranks = 0;
  double imbalance = 1, speedup = 1;  // of the busiest rank's entries over the mean; over one rank
  std::optional<double> time_ms = {};
};
/// one_rank_ms: of a rung that ranks share, on a GPU, if one was timed
ModelledRanks model_ranks(const Ordered& matrix, int ranks, std::optional<double> one_rank_ms) {
  const auto read = bench::entries_read_by_columns(matrix.b);
  const double imbalance = bench::busiest_over_mean(
      read, {.name = "in turn", .kind = bench::Schedule::Kind::in_turn, .nodes = 1, .devices = ranks});
  ModelledRanks modelled = {ranks, imbalance, ranks / imbalance};
  if (one_rank_ms) modelled.time_ms = 1e-3 * ranks_us(1e3 * *one_rank_ms, matrix.filled.nnz(), ranks, imbalance);
  return modelled;
}

/// The rows of the output.
class Report {
 public:
  explicit Report(int ranks) : ranks_(ranks), table_(columns(ranks)) {}

  void leave_out(const FillRung& rung, const std::string& why) {
    std::vector<std::string> cells = {std::string(rung.id), device_of({.device = rung.device})};
    cells.resize(columns(ranks_).size() - 1, "-");
    cells.push_back(why);
    table_.add(std::move(cells));
  }

  void refuse(const FillRung& rung, const Status& status) {
    leave_out(rung, "refused: " + status.message);
    rows_.push_back({{"rung", rung.id}, {"device", device_of({.device = rung.device})}, {"status", to_json(status)}});
  }

  void add(const FillRung& rung, const Found& found, bool equal) {
    const std::string device = device_of({.device = rung.device});
    const auto [work, imbalance] = together(found.work);
    const bool counts = work.batches > 0, shared = found.work.size() > 1;
    std::vector<std::string> cells = {
        std::string(rung.id),
        device,
        time_on(device, found.time_ms),
        counts ? fmt::to_string(work.most_sources) : "-",
        counts ? fmt::to_string(work.batches) : "-",
        counts ? short_count(static_cast<double>(work.edges)) : "-",
        work.workspace_bytes > 0 ? short_count(static_cast<double>(work.workspace_bytes)) + "B" : "-"};
    if (ranks_ > 1) {
      cells.push_back(shared ? fmt::to_string(ranks_) : "each alone");
      cells.push_back(shared ? fmt::format("{:.2f} x mean", imbalance) : "-");
    }
    cells.emplace_back(equal ? "the same pattern" : "ANOTHER PATTERN");
    table_.add(std::move(cells));
    nlohmann::json row = {
        {"rung", rung.id}, {"device", device}, {"time_ms", found.time_ms}, {"runs", found.runs}, {"equal", equal}};
    if (counts) {
      row["most_sources"] = work.most_sources;
      row["fewest_sources"] = work.fewest_sources;
      row["groups"] = work.batches;
      row["entries_read"] = work.edges;
    }
    if (work.workspace_bytes > 0) row["workspace_bytes"] = work.workspace_bytes;
    if (shared) row["imbalance"] = imbalance;
    rows_.push_back(std::move(row));
  }

  void print(const Context& context, const Ordered& matrix, const std::optional<ModelledRanks>& modelled) && {
    if (context.json) {
      nlohmann::json answer = {{"matrix", matrix.name},    {"n", matrix.b.n_cols},          {"nnz", matrix.nnz},
                               {"order", matrix.order},    {"nnz_lu", matrix.filled.nnz()}, {"ranks", ranks_},
                               {"rungs", std::move(rows_)}};
      if (modelled) {
        answer["modelled"] = {
            {"ranks", modelled->ranks}, {"imbalance", modelled->imbalance}, {"speedup", modelled->speedup}};
        if (modelled->time_ms) answer["modelled"]["time_ms"] = *modelled->time_ms;
      }
      print_json(answer);
      return;
    }
    fmt::print("{}  n = {}, nnz = {}, ordering {}, nnz(L+U) = {}\n{}", matrix.name, matrix.b.n_cols, matrix.nnz,
               matrix.order, matrix.filled.nnz(), table_.to_string());
    if (modelled)
      fmt::print(
          "modelled, not measured: of {} ranks the busiest would read {:.2f} x mean, {:.3g} times less than one "
          "rank{}\n",
          modelled->ranks, modelled->imbalance, modelled->speedup,
          modelled->time_ms
              ? fmt::format("; with the pattern gathered on one host they would take {:.3g} ms", *modelled->time_ms)
              : "");
  }

 private:
  static std::vector<Table::Column> columns(int ranks) {
    std::vector<Table::Column> columns = {{"rung", Table::Align::left},
                                          {"runs on", Table::Align::left},
                                          {"time"},
                                          {"sources at once"},
                                          {"groups"},
                                          {"entries of A read"},
                                          {"workspace"}};
    if (ranks > 1) columns.insert(columns.end(), {{"ranks"}, {"busiest rank"}});
    columns.push_back({"result", Table::Align::left});
    return columns;
  }

  int ranks_;
  Table table_;
  nlohmann::json rows_ = nlohmann::json::array();
};

/// Refused because of the matrix or the limits: other rungs may find the pattern.
bool is_refusal(const Status& status) {
  return status.code == StatusCode::out_of_memory || status.code == StatusCode::not_implemented;
}

/// Rank 0 reads, orders, compares and prints; an error of one rank is that of all.
int run_symbolic(const Context& context, const SymbolicArguments& arguments) {
  const auto started = context.ranks();
  if (!started.ok()) return fail(context, started.status());
  Ranks& ranks = **started;
  const bool speaks = ranks.rank() == 0;
  const auto fail_together = [&](const Status& status) { return speaks ? fail(context, status) : exit_code(status); };

  Progress progress;
  auto rungs = rungs_asked_for(arguments.rung, ranks.count());
  Result<Ordered> matrix = Ordered();
  if (rungs.ok() && speaks) matrix = read_and_order(arguments, progress);
  if (const Status status = agree(ranks, rungs.ok() ? matrix.status() : rungs.status()); !status.ok())
    return fail_together(status);
  if (const Status status = broadcast_pattern(ranks, matrix->b); !status.ok())
    return fail_together(concerning(arguments.matrix, status));
  if (ranks.count() > 1) {
    if (speaks) matrix->hash = hash_of(matrix->filled);
    broadcast_values(ranks, std::span(&matrix->hash, 1), 0);
  }
  if (arguments.rung == automatic) *rungs = {choose(ranks, *matrix)};
  touch_devices(ranks);

  Report report(ranks.count());
  bool all_equal = true;
  bool any_found = false;
  std::optional<double> shareable_ms;  // the shortest of one rank on a GPU
  Status refusal = {};
  for (std::size_t k = 0; k < rungs->size(); ++k) {
    const FillRung* const rung = (*rungs)[k];
    const std::string why = arguments.rung.empty() ? left_out(*rung, matrix->b.n_cols, ranks.count()) : "";
    if (!why.empty()) {
      report.leave_out(*rung, why);
      continue;
    }
    if (speaks) progress.show(fmt::format("{} on {}", rung->id, matrix->name));
    const auto found = find_pattern(matrix->b, *rung, arguments.limits, ranks);
    if (!found.ok()) {
      const bool falls_back = arguments.rung == automatic && rung != fallback(ranks.count());
      if (!is_refusal(found.status()) || !(arguments.rung.empty() || falls_back))
        return fail_together(concerning(arguments.matrix, found.status()));
      if (speaks) report.refuse(*rung, found.status());
      if (falls_back) rungs->push_back(fallback(ranks.count()));
      refusal = found.status();
      continue;
    }
    any_found = true;
    const bool same = speaks ? found->filled == matrix->filled : hash_of(found->filled) == matrix->hash;
    const bool equal = agree(ranks, same ? Status() : Status::error(StatusCode::device_error, "another pattern")).ok();
    all_equal = all_equal && equal;
    if (!speaks) continue;
    if (ranks.count() == 1 && rung->make_search != nullptr && simt::machine() == simt::Machine::gpu)
      shareable_ms = std::min(shareable_ms.value_or(found->time_ms), found->time_ms);
    report.add(*rung, *found, equal);
  }
  progress.wipe();
  if (!any_found && !refusal.ok()) return fail_together(concerning(arguments.matrix, refusal));
  if (speaks) {
    std::optional<ModelledRanks> modelled;
    if (arguments.model_ranks > 0) modelled = model_ranks(*matrix, arguments.model_ranks, shareable_ms);
    std::move(report).print(context, *matrix, modelled);
  }
  return all_equal ? exit_ok : exit_check_failed;
}

}  // namespace

void add_symbolic(CLI::App& app, Context& context) {
  auto* command = add_command(app, "symbolic",
                              "Find the pattern of L + U by each rung of symbolic/, and compare; under mpirun several "
                              "ranks share the work, a GPU each",
                              "lulab symbolic A.mtx --rung 06_gsofa_sources --workspace-bytes 1000000\n"
                              "         mpirun -np 4 lulab symbolic A.mtx --rung 06_gsofa_sources");
  auto arguments = std::make_shared<SymbolicArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command->add_option(
      "--rung", arguments->rung,
      "One rung of symbolic/, with or without that word, or auto: the one predicted to be the fastest, or "
      "01 where that refuses, 06 on several ranks; default: all");
  FillLimits& limits = arguments->limits;
  add_integer<std::int64_t>(*command, "--workspace-bytes", limits.workspace_bytes,
                            "Device memory of a rank for searches from many columns; 0: an eighth of it", 0);
  add_integer<std::int32_t>(*command, "--sources", limits.sources,
                            "Columns searched from at once, at most; 0: what keeps the device busy", 0);
  add_integer<std::int64_t>(*command, "--queue-entries", limits.queue_entries,
                            "Length of the queue of 06_gsofa_sources, at most; 0: 256 a source, if there is room", 0);
  command->add_flag("--pass-found-rows", limits.passes_found_rows, "GSOFA with line 9.5 of Gaihre et al. 2021, Fig. 6");
  add_integer<int>(*command, "--threads", limits.threads, "Threads of 03_fill2; 0: all cores", 0);
  add_integer<int>(*command, "--model-ranks", arguments->model_ranks,
                   "Also model how evenly so many ranks would share the searches; counted on the host", 1);
  add_order_options(*command, arguments->solver);
  add_column_order_option(*command, arguments->solver);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_symbolic(context, *arguments); }; });
}

}  // namespace lulab::app
