#pragma once
// What verification found, as values: every check on its own, a verdict, and the same as JSON.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/status.h"

namespace lulab {

/// What a check may measure at most; omega in units of eps.
struct Tolerances {
  static constexpr double lu_residual = 30;
  static constexpr double scaled_residual = 30;
  static constexpr double solve_residual = 30;
  static constexpr double hpl_residual = 16;
  static constexpr double omega = 30;
  static constexpr double forward_error = 30;
};

/// One entry a check; nullopt: not measured (the check does not apply, or an earlier one failed). A measured NaN fails.
/// backward_error equals omega but where a row of |A||x| + |b| all but vanishes, which only omega can judge.
/// eps is the unit roundoff of the factors' scalar type: 2^-53 (double), 2^-24 (float). From solve_residual to omega x
/// is refined, and they are judged only where rcond_scaled >= 100 eps: refinement is promised to converge only where
/// the condition of what was factored times eps is well below 1. Else `note` says so.
struct Checks {
  std::optional<bool> finite;              // every value of L and U
  std::optional<bool> permutations;        // p and q hold each of 0..n-1 once
  std::optional<bool> scalings;            // r and c positive and finite
  std::optional<bool> structure;           // sorted columns, diagonal present: L unit lower, U upper
  std::optional<bool> pattern_contains_a;  // pattern(P·A·Q) is a subset of As; foreign factors may leave out zeros
  std::optional<bool> klu_pattern_equal;   // L and U have exactly the entries KLU has under the same P, Q
  std::optional<double> lu_residual;       // ||PRACQ - LU||_1 / (n ||RAC||_1 eps)             limit 30
  std::optional<double>
      scaled_residual;  // ||R (b - A x)||_1 / (|| |L||U| ||_1 ||C^-1 x||_1 eps), x unrefined   limit 30
  std::optional<double> solve_residual;        // ||b - A x||_1 / (||A||_1 ||x||_1 eps)             limit 30
  std::optional<double> hpl_residual;          // ||b - A x||_inf / (eps (||A||_inf ||x||_inf + ||b||_inf) n)   limit 16
  std::optional<double> backward_error;        // max_i |r|_i / (|A||x| + |b|)_i; judged as omega
  std::optional<double> omega;                 // omega1 + omega2 of Arioli, Demmel & Duff         limit 30 eps
  std::optional<double> omega1, omega2;        // its two parts; reported only
  std::optional<double> forward_error;         // ||x - x*||_1 rcond / (||x*||_1 eps) for b = A x*    limit 30
  std::optional<double> first_backward_error;  // backward_error before refinement; reported only
  std::optional<double> growth;                // max|U| / max|PRACQ|; reported only
  std::optional<double> rcond;                 // 1 / (||A||_1 est ||A^-1||_1); reported only
  std::optional<double> rcond_scaled;          // the same of R·A·C; reported only
  double eps = 0;
  std::string lu_residual_method;  // "exact product" or "10 probing vectors"
  int refinement_steps = 0;
  std::string note;  // what was measured but not judged, and why; else empty

  std::vector<std::string> failures;  // one sentence a failed check; empty: everything measured passed
};

enum class Verdict {
  ok,             // every check that applies passed (after re-pivoting when repivots > 0)
  failed,         // a check failed, or the rung's answer contradicts the other rungs
  needs_repivot,  // fixed pivots are not stable here, the rung said so, and recovery was off
  singular,       // the rung or, of its good factors, `lulab verify` found A singular
  skipped,        // not run; message says why
  race,           // threads of the rung's kernel raced; found in simulator builds with ThreadSanitizer
  error,          // the rung could not run: out of memory, device error, deadlock, invalid input
};
std::string_view to_string(Verdict verdict);

struct RungReport {
  std::string id;
  Verdict verdict = Verdict::skipped;  // JSON key "status"
  std::string scalar;                  // "f64" or "f32"
  std::string device;                  // "cpu", "gpu" or "simulator"
  std::string chosen_rung;             // where the caller let choose_rung() choose; else empty
  std::string choice_reason;           // likewise
  Checks checks;
  double time_ms = 0;         // the factorization, re-pivoting included, without analysis and checks
  std::int64_t repivots = 0;  // > 0: fixed pivots failed and those KLU picks were taken
  std::string message;        // why skipped, singular, re-pivoted or failed; else empty
  Status status;              // the error behind singular, needs_repivot, race and error
};

struct MatrixReport {
  std::string matrix;
  std::int32_t n = 0;
  std::int64_t nnz = 0;
  std::vector<RungReport> rungs;
  std::optional<bool> klu_blocks_equal;  // the block triangular form and the fill in each block are KLU's
  std::string message;                   // what klu_blocks_equal found, or why it was not asked
  Status status;                         // not ok: nothing ran (structurally singular, not square, ...)

  bool any(Verdict verdict) const;
  /// Did a check fail: of a rung, or klu_blocks_equal?
  bool failed() const { return any(Verdict::failed) || klu_blocks_equal == false; }
};

/// A number, or the string "nan", "inf" or "-inf".
nlohmann::json json_number(double v);

/// {matrix, n, nnz, status, message, rungs: [{id, status, scalar, device, checks: {finite, pattern_contains_a,
/// klu_pattern_equal, lu_residual, solve_residual, backward_error, growth, ...}, time_ms, repivots, message}]}. Not
/// measured is null; a NaN or infinity is the string "nan", "inf" or "-inf", so that the text is always valid JSON.
nlohmann::json to_json(const Checks& checks);
nlohmann::json to_json(const RungReport& report);
nlohmann::json to_json(const MatrixReport& report);

}  // namespace lulab
