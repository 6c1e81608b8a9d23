// lulab-bench: every rung of the registry on a set of matrices, phase by phase, through Google Benchmark.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/alternatives_bench.h"
#include "bench/batch_subject.h"
#include "bench/context.h"
#include "bench/dense_bench.h"
#include "bench/dense_ladder.h"
#include "bench/report.h"
#include "bench/session.h"
#include "bench/subject.h"
#include "bench/symbolic_subject.h"

namespace lulab::bench {
namespace {

constexpr std::string_view reference_id = "sparse_leftlooking/00_reference";
constexpr std::string_view klu_id = "sparse_leftlooking/90_klu";
// Dense rungs on sparse matrices: a CPU rung on a larger one teaches nothing but patience; a GPU rung shows up to here
// what the zeros cost, but judging its n^2 factors on the host takes seconds.
constexpr std::int32_t max_dense_n_cpu = 1200;
constexpr std::int32_t max_dense_n_quick = 5000;
constexpr std::int32_t max_dense_n = 20000;

/// What the benchmarks of one matrix share: the matrix, and the rung that was last prepared on it.
class Bench {
 public:
  explicit Bench(Session& session) : session_(session), options_(session.options), constants_(session.constants) {}

  void set_problem(Problem problem) {
    subject_.emplace<std::monostate>();
    prepared_ = nullptr;
    problem_ = std::move(problem);
  }
  const Problem& problem() const { return *problem_; }

  /// Registers what applies to the current matrix.   Returns how many.
  int register_benchmarks();

 private:
  bool wanted(const Rung& rung, Phase phase, Scalar scalar) const;
  bool takes_problem(const Rung& rung) const;
  template <class T>
  void register_rung(const Rung& rung, int& count);
  void register_one(const Rung& rung, Phase phase, Scalar scalar, int& count);
  void run(benchmark::State& state, const Rung& rung, const Name& name);
  template <class T>
  Status run_phase(benchmark::State& state, const Rung& rung, Row& row);
  template <class T>
  Result<Subject<T>*> prepare(const Rung& rung);
  template <class Sample>
  Status sample_loop(benchmark::State& state, Row& row, Sample sample);

  Session& session_;
  const Options& options_;
  const DeviceConstants& constants_;
  std::optional<Problem> problem_;
  std::variant<std::monostate, Subject<float>, Subject<double>> subject_;
  const Rung* prepared_ = nullptr;
  Status prepare_status_;
  Scalar prepared_scalar_ = Scalar::f64;
  std::vector<std::string> registered_;
};

bool contains_or_empty(const std::vector<std::string>& list, std::string_view text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

bool Bench::wanted(const Rung& rung, Phase phase, Scalar scalar) const {
  return contains_or_empty(options_.rungs, rung.facts.id) && contains_or_empty(options_.phases, to_string(phase)) &&
         contains_or_empty(options_.precisions, to_string(scalar));
}

/// A dense rung needs a dense copy, and nothing else factors a dense problem.
bool Bench::takes_problem(const Rung& rung) const {
  const double max_bytes = rung.facts.max_dense_bytes;
  if (!(max_bytes > 0)) return !problem_->dense;
  const std::int32_t n = problem_->a.n_rows;
  const bool quick = options_.matrices.empty() && options_.set == "quick";
  const std::int32_t max_n = rung.facts.device == Device::cpu ? max_dense_n_cpu
                             : quick                          ? max_dense_n_quick
                                                              : max_dense_n;
  if (rung.facts.max_n > 0 && n > rung.facts.max_n) return false;
  return double(n) * n * sizeof(double) <= max_bytes && (problem_->dense || n <= max_n);
}

/// Their ladder has a set of its own; here they are measured for what the zeros cost.
bool is_dense_gpu_rung(const Rung& rung) { return rung.facts.max_dense_bytes > 0 && rung.facts.device == Device::gpu; }

/// Host phases are the reference's, once a matrix; beside it stands what a rung's paper does about them on the device.
bool is_timed_under(const Rung& rung, Phase host_phase) {
  return rung.facts.id == reference_id || (host_phase == Phase::symbolic && has_symbolic_phase(rung));
}

void Bench::register_one(const Rung& rung, Phase phase, Scalar scalar, int& count) {
  const Name name{std::string(rung.facts.id), problem_->name, phase, scalar};
  const std::string text = to_string(name);
  if (std::find(registered_.begin(), registered_.end(), text) != registered_.end()) return;
  registered_.push_back(text);
  benchmark::RegisterBenchmark(text.c_str(), [this, &rung, name](benchmark::State& state) { run(state, rung, name); })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->MinTime(options_.min_time_s);
  ++count;
}

template <class T>
void Bench::register_rung(const Rung& rung, int& count) {
  constexpr Scalar scalar = scalar_of<T>();
  if (!rung.supports<T>()) return;
  if (rung.facts.device == Device::gpu && simt::machine() == simt::Machine::simulator) {
    if (wanted(rung, Phase::refactor, scalar))
      register_one(rung, Phase::refactor, scalar, count);  // says that it is skipped
    return;
  }
  for (const Phase phase : phases) {
    if (!wanted(rung, phase, scalar)) continue;
    if (is_host_phase(phase) && (!is_timed_under(rung, phase) || scalar != Scalar::f64)) continue;
    if (phase == Phase::refactor && !rung.facts.refactors) continue;  // it would be factor() again
    if (phase == Phase::batch && (options_.phases.empty() || !has_batch_phase<T>(rung))) continue;
    if (is_dense_gpu_rung(rung) && phase != Phase::factor && options_.phases.empty()) continue;
    register_one(rung, phase, scalar, count);
  }
}

int Bench::register_benchmarks() {
  int count = 0;
  registered_.clear();
  if (!problem_->dense) {  // the yardstick comes first: every later line is compared with it
    if (const auto klu = find_rung(all_rungs(), klu_id); klu.ok())
      register_one(**klu, Phase::refactor, Scalar::f64, count);
  }
  for (const Rung* rung : options_.rungs.empty() ? all_rungs() : every_rung()) {
    if (!takes_problem(*rung)) continue;
    register_rung<double>(*rung, count);
    if (!is_dense_gpu_rung(*rung) || problem_->dense || !options_.precisions.empty())
      register_rung<float>(*rung, count);
  }
  return count;
}

template <class T>
Result<Subject<T>*> Bench::prepare(const Rung& rung) {
  if (prepared_ != &rung || prepared_scalar_ != scalar_of<T>()) {
    subject_.emplace<std::monostate>();
    prepared_ = &rung;
    prepared_scalar_ = scalar_of<T>();
    auto subject = Subject<T>::create(rung, *problem_, {.cold = options_.cold, .factor = options_.factor});
    prepare_status_ = subject.status();
    if (subject.ok()) subject_ = std::move(*subject);
  }
  if (!prepare_status_.ok()) return prepare_status_;
  return &std::get<Subject<T>>(subject_);
}

template <class Sample>
Status Bench::sample_loop(benchmark::State& state, Row& row, Sample sample) {
  std::vector<double> times;
  for ([[maybe_unused]] auto _ : state) {
    const Result<double> ms = sample();
    if (!ms.ok()) return ms.status();
    times.push_back(*ms);
    state.SetIterationTime(std::max(*ms * 1e-3, 1e-6));  // a clock that reads 0 must not make the loop endless
  }
  set_times(row, std::move(times));
  return {};
}

template <class T>
Status Bench::run_phase(benchmark::State& state, const Rung& rung, Row& row) {
  const Phase phase = row.name.phase;
  if (phase == Phase::symbolic && has_symbolic_phase(rung)) {
    auto subject = SymbolicSubject::create(*problem_);
    if (!subject.ok()) return subject.status();
    row.label = "on the device";
    LULAB_RETURN_IF_ERROR(sample_loop(state, row, [&] { return subject->sample(); }));
    row.peak_bytes = simt::peak_bytes();
    return subject->verify();
  }
  if (is_host_phase(phase)) {
    return sample_loop(state, row, [&] { return sample_host_phase(*problem_, phase); });
  }
  if (phase == Phase::batch) {
    auto subject = BatchSubject<T>::create(rung, *problem_, options_.batch, options_.factor);
    if (!subject.ok()) return subject.status();
    row.label = fmt::format("{} systems, time of one", options_.batch);
    LULAB_RETURN_IF_ERROR(sample_loop(state, row, [&] { return subject->sample(); }));
    const auto error = subject->verify();
    if (!error.ok()) return error.status();
    row.backward_error = *error;
    row.peak_bytes = subject->peak_bytes();
    return {};
  }
  if (is_dense_gpu_rung(rung)) {
    const std::int32_t n = problem_->a.n_rows;
    const auto ms = estimate_dense_ms(rung, row.name.scalar, n, max_dense_ms, session_.history);
    if (!ms.ok()) return ms.status();
    row.error = reason_to_skip(*ms, max_dense_ms);
    if (!row.error.empty()) return {};
  }
  const auto subject = prepare<T>(rung);
  if (!subject.ok()) return subject.status();
  row.label = (*subject)->label();
  const Rung& working = (*subject)->working_rung();
  if (&working != &rung) row.chosen_rung = working.facts.id;
  row.choice_reason = (*subject)->choice_reason();
  LULAB_RETURN_IF_ERROR(sample_loop(state, row, [&] { return (*subject)->sample(phase); }));
  const auto error = (*subject)->verify(phase);
  if (!error.ok()) return error.status();
  row.backward_error = *error;
  row.peak_bytes = (*subject)->peak_bytes();
  if (working.facts.device == Device::gpu && (phase == Phase::factor || phase == Phase::refactor)) {
    const Limits limits = (*subject)->limits(constants_, working.facts.dependencies);
    row.bound_ms = limits.bound_ms;
    row.bound_by = to_string(limits.bound_by);
  }
  return {};
}

void Bench::run(benchmark::State& state, const Rung& rung, const Name& name) {
  const std::string text = to_string(name);
  session_.progress.show(text);
  Row row;
  row.name = name;
  Status status;
  if (rung.facts.device == Device::gpu && simt::machine() == simt::Machine::simulator) {
    row.error = "skipped: performance not measured in the simulator";
  } else {
    status = name.scalar == Scalar::f64 ? run_phase<double>(state, rung, row) : run_phase<float>(state, rung, row);
    if (!status.ok()) row.error = status.to_string();
  }
  hand_over(state, session_, std::move(row));
}

int fail(const Status& status) {
  std::cerr << "lulab-bench: " << status.to_string() << '\n';
  return status.code == StatusCode::device_error || status.code == StatusCode::deadlock ? 4 : 2;
}

/// Rung names may be unique parts of an id; afterwards the options hold full ids, phases and scalars that exist.
Status check_options(Options& options) {
  for (std::string& rung : options.rungs) {
    const auto found = find_rung(every_rung(), rung);
    if (!found.ok()) return found.status();
    rung = (*found)->facts.id;
  }
  for (const std::string& phase : options.phases) LULAB_RETURN_IF_ERROR(parse_phase(phase).status());
  for (const std::string& scalar : options.precisions) LULAB_RETURN_IF_ERROR(parse_scalar(scalar).status());
  const auto set = parse_set(options.set);
  if (!set.ok()) return set.status();
  if (*set == Set::alternatives) LULAB_RETURN_IF_ERROR(check_alternatives(options));
  const bool dense = *set == Set::dense;
  if (dense && !options.matrices.empty())
    return Status::error(StatusCode::invalid_argument, "--set dense makes its own matrices: leave out --matrix");
  if (dense && !contains_or_empty(options.phases, to_string(Phase::factor)))
    return Status::error(StatusCode::invalid_argument, "--set dense times the phase factor only");
  if (dense && options.cold)
    return Status::error(StatusCode::invalid_argument,
                         "--cold has no meaning with --set dense: every run has a new matrix");
  if (!dense && !options.sizes.empty())
    return Status::error(StatusCode::invalid_argument, "--n chooses the sizes of --set dense");
  return with_order({}, options.order).status();
}

Status write_json(const std::string& path, const nlohmann::ordered_json& json) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // the stream below reports what matters
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  std::ofstream out(path);
  out << json.dump(1) << '\n';
  out.close();
  if (out) return {};
  Where where;
  where.file = path;
  return Status::error(StatusCode::invalid_argument, "cannot write the results", where);
}

/// Returns how many matrices could not be used.
int run_matrices(Session& session, Reporter& reporter, nlohmann::ordered_json& context) {
  const Options& options = session.options;
  std::vector<ProblemSource> sources;
  for (const std::string& path : options.matrices) sources.push_back(problem_from_file(path));
  const Set set = *parse_set(options.set);
  if (sources.empty()) sources = problems_of(set);
  std::cout << table_header(set == Set::alternatives ? Yardstick::host_solve : Yardstick::klu) << '\n';
  Bench bench(session);
  int unusable_matrices = 0;
  for (const ProblemSource& source : sources) {
    session.progress.show("analyzing " + source.name);
    auto problem = load_problem(source, *with_order({}, options.order), session.constants);
    session.progress.clear();
    if (!problem.ok()) {
      std::cout << source.name << ": " << problem.status().to_string() << std::endl;
      context["matrices"][source.name] = {{"error", problem.status().to_string()}};
      ++unusable_matrices;
      continue;
    }
    context["matrices"][source.name] = problem_context(*problem);
    bench.set_problem(std::move(*problem));
    if (set == Set::alternatives)
      run_alternatives(session, reporter, bench.problem());
    else if (bench.register_benchmarks() > 0)
      benchmark::RunSpecifiedBenchmarks(&reporter);
    benchmark::ClearRegisteredBenchmarks();
  }
  return unusable_matrices;
}

int run_all(Options options) {
  if (Status status = check_options(options); !status.ok()) return fail(status);
  const auto device = simt::device_properties();
  if (!device.ok()) return fail(device.status());
  DeviceConstants constants = builtin_constants(device->name);
  if (!options.constants.empty()) {
    const auto loaded = load_constants(options.constants);
    if (!loaded.ok()) return fail(loaded.status());
    constants = *loaded;
  }
  nlohmann::ordered_json context = run_context(constants);
  Session session(options, constants);
  Reporter reporter(session);
  std::cout << fmt::format("device: {}\nbounds: {}\n\n", device->name, constants.device);
  int unusable_matrices = 0;
  if (*parse_set(options.set) == Set::dense) {
    if (Status status = run_dense(session, reporter, context); !status.ok()) return fail(status);
  } else {
    unusable_matrices = run_matrices(session, reporter, context);
  }

  if (options.save && options.json.empty()) {
    const std::string name = simt::machine() == simt::Machine::gpu ? device->name : context["cpu"].get<std::string>();
    options.json = fmt::format("bench/results/{}/{}.json", slug(name), options.set);
  }
  if (!options.json.empty()) {
    if (Status status = write_json(options.json, to_json(session.report, context)); !status.ok()) return fail(status);
    std::cout << "\nwritten: " << options.json << '\n';
  }
  return unusable_matrices > 0 ? 2 : 0;
}

}  // namespace
}  // namespace lulab::bench

int main(int argc, char** argv) {
  // Flags of Google Benchmark go to Google Benchmark; everything else, --help too, is ours.
  const auto ours_end = std::stable_partition(argv + 1, argv + argc, [](const char* argument) {
    return !std::string_view(argument).starts_with("--benchmark_");
  });
  const int n_ours = static_cast<int>(ours_end - argv);
  std::vector<char*> theirs = {argv[0]};
  theirs.insert(theirs.end(), ours_end, argv + argc);
  int n_theirs = static_cast<int>(theirs.size());
  benchmark::Initialize(&n_theirs, theirs.data());
  if (benchmark::ReportUnrecognizedArguments(n_theirs, theirs.data())) return 2;

  lulab::bench::Options options;
  CLI::App app(
      "Times every rung, phase by phase, after checking its result.\n"
      "Example: lulab-bench --matrix circuit_1.mtx.gz --rung klu --rung 01_warp_per_column --phase refactor");
  app.add_option("--set", options.set,
                 "matrices: quick (2-3 minutes on a GPU), all, dense (the dense rungs on matrices made on the GPU), or "
                 "alternatives (GMRES and triangular solves on the matrices of quick)")
      ->capture_default_str();
  app.add_option("--matrix", options.matrices, "Matrix Market files instead of a set");
  app.add_option("--n", options.sizes, "sizes for --set dense instead of 1024, 2048, ..., 32768 and the batches");
  app.add_option("--rung", options.rungs, "only these rungs (id or unique part of one)");
  app.add_option("--phase", options.phases, "only these phases");
  app.add_option("--precision", options.precisions, "only f32 or f64");
  app.add_option("--order", options.order,
                 "auto, amd, colamd, metis or natural, or btf+ and one of these: inside the blocks of the block "
                 "triangular form")
      ->capture_default_str();
  app.add_option("--batch", options.batch, "systems of the phase batch, which is timed where --phase batch asks for it")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--json", options.json, "write the results to this file");
  app.add_flag("--save", options.save, "write the results to bench/results/<gpu>/<set>.json");
  app.add_option("--constants", options.constants, "device constants from this file (lulab calibrate) for the bounds");
  app.add_option("--min-time", options.min_time_s, "seconds to sample each benchmark for")->capture_default_str();
  app.add_option("--threads", options.factor.threads,
                 "threads of the CPU rungs that use several; 0: what the matrix keeps busy")
      ->check(CLI::NonNegativeNumber);
  app.add_option(
         "--warps-per-sm", options.factor.warps_per_sm,
         "at most so many resident warps an SM, sparse_leftlooking/01 to 03 and our solves of --set alternatives; "
         "0: as many as pay")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--unsorted", options.factor.shuffle_nonzeros,
               "rows of L in no order in each column, sparse_leftlooking/01 to 03");
  app.add_option("--group-lanes", options.factor.group_lanes,
                 "lanes that share a column in cluster mode, sparse_leftlooking/04")
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32}))
      ->capture_default_str();
  app.add_option("--group-warps", options.factor.group_warps,
                 "warps that share a column in pipeline mode, sparse_leftlooking/04")
      ->check(CLI::IsMember({1, 2, 4, 8, 16}))
      ->capture_default_str();
  app.add_option(
         "--total-warps", options.factor.total_warps,
         "warps shared out among the columns of a level, sparse_hybrid/03 and 04; 0: as many as the device holds "
         "(the paper's GPU: 1536), -1: no small-block mode")
      ->check(CLI::Range(-1, 1 << 20));
  app.add_option(
         "--stream-columns", options.factor.stream_columns,
         "most columns of a level in stream mode, sparse_hybrid/03 and 04; 0: by the device (the paper: 16), -1: no "
         "stream mode")
      ->check(CLI::Range(-1, 1 << 20));
  app.add_option("--dense-columns", options.factor.dense_columns,
                 "at most so many dense columns in memory, sparse_hybrid/01 to 04; 0: a quarter of the memory")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--cold", options.cold, "flush the device's L2 before each timed run");
  try {
    app.parse(n_ours, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return lulab::bench::run_all(std::move(options));
}
