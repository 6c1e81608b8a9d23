#include "verify/report.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

namespace lulab {

namespace {

nlohmann::json json_or_null(const std::optional<bool>& v) { return v ? nlohmann::json(*v) : nlohmann::json(); }

nlohmann::json json_or_null(const std::optional<double>& v) { return v ? json_number(*v) : nlohmann::json(); }

}  // namespace

nlohmann::json json_number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::failed: return "failed";
    case Verdict::needs_repivot: return "needs_repivot";
    case Verdict::singular: return "singular";
    case Verdict::skipped: return "skipped";
    case Verdict::race: return "race";
    case Verdict::error: return "error";
  }
  return "unknown";
}

bool MatrixReport::any(Verdict verdict) const {
  return std::ranges::any_of(rungs, [verdict](const RungReport& r) { return r.verdict == verdict; });
}

nlohmann::json to_json(const Checks& c) {
  return {
      {"finite", json_or_null(c.finite)},
      {"permutations", json_or_null(c.permutations)},
      {"scalings", json_or_null(c.scalings)},
      {"structure", json_or_null(c.structure)},
      {"pattern_contains_a", json_or_null(c.pattern_contains_a)},
      {"klu_pattern_equal", json_or_null(c.klu_pattern_equal)},
      {"lu_residual", json_or_null(c.lu_residual)},
      {"lu_residual_method", c.lu_residual_method},
      {"scaled_residual", json_or_null(c.scaled_residual)},
      {"solve_residual", json_or_null(c.solve_residual)},
      {"hpl_residual", json_or_null(c.hpl_residual)},
      {"backward_error", json_or_null(c.backward_error)},
      {"omega", json_or_null(c.omega)},
      {"omega1", json_or_null(c.omega1)},
      {"omega2", json_or_null(c.omega2)},
      {"forward_error", json_or_null(c.forward_error)},
      {"first_backward_error", json_or_null(c.first_backward_error)},
      {"refinement_steps", c.refinement_steps},
      {"growth", json_or_null(c.growth)},
      {"rcond", json_or_null(c.rcond)},
      {"rcond_scaled", json_or_null(c.rcond_scaled)},
      {"eps", json_number(c.eps)},
      {"note", c.note},
      {"failures", c.failures},
  };
}

nlohmann::json to_json(const RungReport& r) {
  nlohmann::json j = {{"id", r.id},
                      {"status", to_string(r.verdict)},
                      {"scalar", r.scalar},
                      {"device", r.device},
                      {"checks", to_json(r.checks)},
                      {"time_ms", json_number(r.time_ms)},
                      {"repivots", r.repivots},
                      {"message", r.message}};
  if (!r.chosen_rung.empty()) {
    j["chosen_rung"] = r.chosen_rung;
    j["choice_reason"] = r.choice_reason;
  }
  return j;
}

nlohmann::json to_json(const MatrixReport& m) {
  nlohmann::json rungs = nlohmann::json::array();
  for (const RungReport& r : m.rungs) rungs.push_back(to_json(r));
  return {{"matrix", m.matrix},
          {"n", m.n},
          {"nnz", m.nnz},
          {"status", std::string(to_string(m.status.code))},
          {"message", m.status.ok() ? m.message : m.status.to_string()},
          {"klu_blocks_equal", json_or_null(m.klu_blocks_equal)},
          {"rungs", rungs}};
}

}  // namespace lulab
