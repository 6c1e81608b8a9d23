#include "verify/verify.h"

#include <optional>

#include <fmt/format.h>

#include "core/factorizer.h"
#include "core/simt/device.h"
#include "verify/checks.h"
#include "verify/klu_oracle.h"
#include "verify/stable_pivots.h"

namespace lulab {

namespace {

const char* device_name(const RungFacts& facts) {
  if (facts.device == Device::cpu) return "cpu";
  return simt::machine() == simt::Machine::gpu ? "gpu" : "simulator";
}

const char* where_it_runs(const RungFacts& facts) {
  if (facts.device == Device::cpu) return "on the CPU";
  return simt::machine() == simt::Machine::gpu ? "on the GPU" : "in the simulator";
}

template <class T>
std::string reason_to_skip(const Rung& rung, std::int32_t n, const VerifyOptions& options) {
  const RungFacts& facts = rung.facts;
  if (!rung.supports<T>()) return fmt::format("does not factor {}", sizeof(T) == 4 ? "f32" : "f64");
  if (facts.device == Device::gpu && simt::machine() == simt::Machine::simulator && n > options.max_simulator_n)
    return fmt::format("n = {} is more than the {} that the simulator is asked to run", n, options.max_simulator_n);
  if (facts.max_n > 0 && n > facts.max_n)
    return fmt::format("n = {} is more than the {} that this rung takes", n, facts.max_n);
  if (!(facts.max_dense_bytes > 0)) return {};
  if (n > options.max_dense_n)
    return fmt::format(
        "n = {} is more than the {} up to which dense rungs are judged, whose n^2 factors come to the host", n,
        options.max_dense_n);
  const double dense_bytes = static_cast<double>(n) * n * sizeof(T);
  if (dense_bytes > facts.max_dense_bytes)
    return fmt::format("a dense copy of n = {} takes {:.3g} MB, more than the {:.3g} MB that this rung takes {}", n,
                       dense_bytes / 1e6, facts.max_dense_bytes / 1e6, where_it_runs(facts));
  return {};
}

Verdict verdict_of(const Status& status) {
  switch (status.code) {
    case StatusCode::ok: return Verdict::ok;
    case StatusCode::needs_repivot: return Verdict::needs_repivot;
    case StatusCode::structurally_singular:
    case StatusCode::numerically_singular: return Verdict::singular;
    case StatusCode::not_implemented: return Verdict::skipped;  // this device cannot; the message says what it lacks
    case StatusCode::data_race: return Verdict::race;
    default: return Verdict::error;
  }
}

template <class T>
void add_klu_check(CscPatternView a, const Factors<T>& f, Checks& checks) {
  if (checks.permutations != true || checks.structure != true) return;
  const auto compared = compare_with_klu(a, f.plan, f.filled);
  if (!compared.ok()) {
    checks.failures.push_back("klu_pattern_equal: " + compared.status().to_string());
    return;
  }
  checks.klu_pattern_equal = compared->equal;
  if (!compared->equal) checks.failures.push_back("klu_pattern_equal: " + compared->first_difference);
}

template <class T>
RungReport run_rung(const Rung& rung, SharedAnalyses& analyses, const VerifyOptions& options) {
  const CscView<double>& a = analyses.a();
  RungReport report;
  report.id = rung.facts.id;
  report.scalar = sizeof(T) == 4 ? "f32" : "f64";
  report.device = device_name(rung.facts);
  report.message = reason_to_skip<T>(rung, a.n_cols, options);
  if (!report.message.empty()) return report;

  const StableFactors<T> factored = factor_with_stable_pivots<T>(rung, analyses, options.pivots);
  report.status = factored.status;
  report.time_ms = factored.time_ms;
  report.verdict = verdict_of(report.status);
  if (!report.status.ok()) {
    report.message = report.status.to_string();
    return report;
  }
  const Factors<T>& f = factored.factors;
  report.repivots = !factored.repivot_cause.ok();
  report.checks = judge(a, f, options.seed);
  report.message = report.checks.note;
  if (report.repivots > 0) report.message = "re-pivoted, because " + factored.repivot_cause.message;
  if (options.klu_oracle && rung.facts.exact_pattern) add_klu_check(a, f, report.checks);
  if (!report.checks.failures.empty()) {
    report.verdict = Verdict::failed;
    report.message = report.checks.failures.front();
  }
  return report;
}

// A rung that calls a matrix singular which another one factors with a safe condition number is wrong.
void find_contradictions(std::vector<RungReport>& reports) {
  for (RungReport& singular : reports) {
    if (singular.verdict != Verdict::singular) continue;
    for (const RungReport& other : reports) {
      if (other.verdict != Verdict::ok || other.scalar != singular.scalar) continue;
      if (!(other.checks.rcond_scaled.value_or(0) > 1000 * other.checks.eps)) continue;
      singular.verdict = Verdict::failed;
      singular.message = fmt::format("says singular ({}), but {} factors it with rcond {:.3g} after scaling",
                                     singular.message, other.id, *other.checks.rcond_scaled);
      singular.checks.failures.push_back(singular.message);
      break;
    }
  }
}

}  // namespace

MatrixReport verify_matrix(const std::string& name, const CscView<double>& a, const VerifyOptions& options,
                           const VerifyProgress& progress) {
  MatrixReport report;
  report.matrix = name;
  report.n = a.n_cols;
  report.nnz = a.nnz();
  auto analyses = SharedAnalyses::create(a, options.preprocess);
  if (!analyses.ok()) {
    report.status = analyses.status();
    return report;
  }
  if (options.klu_oracle) {
    const auto blocks = compare_blocks_with_klu(a);
    if (blocks.ok()) report.klu_blocks_equal = blocks->equal;
    report.message = blocks.ok() ? blocks->first_difference : blocks.status().to_string();
  }
  const std::span<const Rung* const> rungs = options.rungs.empty() ? all_rungs() : std::span(options.rungs);
  const int passes = options.precision == Precision::both ? 2 : 1;
  const int count = passes * static_cast<int>(rungs.size());
  for (const Rung* rung : rungs) {
    for (const Precision precision : {Precision::f64, Precision::f32}) {
      if (options.precision != Precision::both && options.precision != precision) continue;
      if (progress) progress(rung->facts.id, static_cast<int>(report.rungs.size()), count);
      report.rungs.push_back(precision == Precision::f64 ? run_rung<double>(*rung, *analyses, options)
                                                         : run_rung<float>(*rung, *analyses, options));
    }
  }
  find_contradictions(report.rungs);
  return report;
}

}  // namespace lulab
