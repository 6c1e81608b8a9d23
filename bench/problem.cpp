#include "bench/problem.h"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <random>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/sequence_files.h"
#include "core/matrix/shared_matrices.h"
#include "driver/analyze.h"

namespace lulab::bench {
namespace {

Result<CscMatrix<double>> read(const std::string& path) {
  LULAB_ASSIGN_OR_RETURN(auto file, read_matrix_market(path));
  if (file.pattern_only) {
    return Status::error(StatusCode::invalid_argument, fmt::format("{} holds positions only; nothing to factor", path));
  }
  return std::move(file.matrix);
}

/// Every entry uniform in [-1, 1], which needs row pivoting.
CscMatrix<double> random_dense(std::int32_t n) {
  std::mt19937_64 random(static_cast<std::uint64_t>(n));
  std::uniform_real_distribution<double> uniform(-1, 1);
  CscMatrix<double> a;
  a.n_rows = a.n_cols = n;
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = 0; i < n; ++i) {
      a.row_idx.push_back(i);
      a.values.push_back(uniform(random));
    }
    a.col_ptr.push_back(a.nnz());
  }
  return a;
}

ProblemSource dense_problem(std::int32_t n) {
  return {fmt::format("n={}", n), [n]() -> Result<CscMatrix<double>> { return random_dense(n); }, true};
}

ProblemSource generated_problem(std::string_view family, std::int32_t n) {
  const auto load = [family, n] {
    GenerateOptions options;
    options.n = n;
    return generate(family, options);
  };
  return {fmt::format("{}_{}", family, n), load};
}

/// All steps of a folder.
Result<std::vector<System>> read_sequence(const std::string& folder, const CscMatrix<double>& a) {
  LULAB_ASSIGN_OR_RETURN(const auto paths, matrices_in(folder));
  const CscPattern& pattern = a.pattern();
  std::vector<System> systems;
  for (const std::string& path : paths) {
    LULAB_ASSIGN_OR_RETURN(auto step, read(path));
    LULAB_RETURN_IF_ERROR(check_same_pattern(pattern, folder, step, path));
    LULAB_ASSIGN_OR_RETURN(auto side, right_side_of(step, path));
    systems.push_back({std::move(step.values), std::move(side.b)});
  }
  return systems;
}

constexpr std::array<const char*, 7> quick_files = {
    "circuit_1", "add20", "add32", "memplus", "rajat19", "seq_nr_case_ACTIVSg10k/A_00", "seq_nr_case13659pegase/A_00"};
constexpr std::array<const char*, 5> more_files = {"seq_resolve_ScaleMicrogrid_N1000/A_01", "mna5_A",
                                                   "seq_hykkt_ACTIVSg2000/A_09", "af23560", "cage10"};

// Sizes of Gaihre et al. 2021, Table 1: 12,000 to 70,000, and larger ones.
constexpr std::array<const char*, 2> gsofa_files = {"cage10", "af23560"};
constexpr std::array<std::pair<const char*, std::int32_t>, 5> gsofa_generated = {
    {{"logic_rent", 20000}, {"grid3d", 27000}, {"convection2d", 40000}, {"power_grid", 100000}, {"grid2d", 360000}}};

void add_files(std::span<const char* const> names, std::vector<ProblemSource>& sources) {
  for (const char* name : names) {
    if (const auto path = shared_matrix(name)) sources.push_back(problem_from_file(*path));
  }
}

std::uint64_t fnv1a(std::uint64_t hash, std::uint64_t word) {
  for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((word >> (8 * byte)) & 0xff)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

Result<Set> parse_set(std::string_view text) {
  if (text == "quick") return Set::quick;
  if (text == "all") return Set::all;
  if (text == "dense") return Set::dense;
  if (text == "gsofa") return Set::gsofa;
  if (text == "alternatives") return Set::alternatives;
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("no set '{}'; there are: quick all dense gsofa alternatives", text));
}

std::vector<ProblemSource> problems_of(Set set) {
  std::vector<ProblemSource> sources;
  if (set == Set::dense) return sources;
  if (set == Set::gsofa) {
    add_files(gsofa_files, sources);
    for (const auto& [family, n] : gsofa_generated) sources.push_back(generated_problem(family, n));
    return sources;
  }
  add_files(quick_files, sources);
  if (sources.empty()) {
    for (const auto& [family, n] : {std::pair{"power_grid", 2500}, {"sram_array", 5000}, {"logic_rent", 10000}}) {
      sources.push_back(generated_problem(family, n));
    }
  }
  if (set == Set::all) {
    add_files(more_files, sources);
    for (const std::int32_t n : {10000, 90000, 360000}) sources.push_back(generated_problem("grid2d", n));
  }
  if (set == Set::alternatives) return sources;
  for (const std::int32_t n : {256, 512}) sources.push_back(dense_problem(n));
  if (set == Set::all) {
    for (const std::int32_t n : {1024, 2048}) sources.push_back(dense_problem(n));
  }
  return sources;
}

ProblemSource problem_from_file(const std::string& path) {
  const std::filesystem::path file(path);
  std::string name = file.filename().string();
  for (const std::string_view extension : {".gz", ".mtx"}) {
    if (name.ends_with(extension)) name.erase(name.size() - extension.size());
  }
  const std::string folder = file.parent_path().filename().string();
  const bool is_step = name.starts_with("A_") && folder.starts_with("seq_");
  if (is_step) name = folder;
  std::replace(name.begin(), name.end(), '|', '_');
  return {name, [path] { return read(path); }, false, is_step ? file.parent_path().string() : ""};
}

std::uint64_t matrix_hash(const CscView<double>& a) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  hash = fnv1a(hash, static_cast<std::uint64_t>(a.n_rows));
  hash = fnv1a(hash, static_cast<std::uint64_t>(a.n_cols));
  for (const std::int64_t p : a.col_ptr) hash = fnv1a(hash, static_cast<std::uint64_t>(p));
  for (const std::int32_t i : a.row_idx) hash = fnv1a(hash, static_cast<std::uint64_t>(i));
  for (const double v : a.values) hash = fnv1a(hash, std::bit_cast<std::uint64_t>(v));
  return hash;
}

std::uint64_t sequence_hash(std::span<const System> systems) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const System& system : systems)
    for (const auto* numbers : {&system.values, &system.b})
      for (const double v : *numbers) hash = fnv1a(hash, std::bit_cast<std::uint64_t>(v));
  return hash;
}

std::vector<double> perturbed(std::span<const double> values, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> factor(0.9, 1.1);
  std::vector<double> changed(values.begin(), values.end());
  for (double& v : changed) v *= factor(random);
  return changed;
}

Result<Problem> load_problem(const ProblemSource& source, const PreprocessOptions& preprocess,
                             const DeviceConstants& constants) {
  LULAB_ASSIGN_OR_RETURN(auto a, source.load());
  Problem problem;
  problem.name = source.name;
  problem.a = std::move(a);
  problem.dense = source.dense;
  if (!source.folder.empty()) {
    LULAB_ASSIGN_OR_RETURN(auto systems, read_sequence(source.folder, problem.a));
    if (systems.size() > 1) problem.sequence = std::move(systems);
  }
  problem.preprocess = preprocess;
  if (source.dense) {
    problem.preprocess.order = Order::natural;
    problem.preprocess.blocks = false;
    problem.preprocess.matching = problem.preprocess.scaling = false;
  }
  problem.requested = problem.preprocess;
  LULAB_ASSIGN_OR_RETURN(problem.analysis, analyze(problem.a, problem.preprocess));
  LULAB_ASSIGN_OR_RETURN(problem.preprocess, with_order(problem.preprocess, problem.analysis.plan.order));
  problem.limits_f64 = compute_limits(problem.analysis, 8, constants);
  problem.limits_f32 = compute_limits(problem.analysis, 4, constants);
  problem.hash = matrix_hash(problem.a);
  return problem;
}

}  // namespace lulab::bench
