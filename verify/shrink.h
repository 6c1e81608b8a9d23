#pragma once
// The smallest matrix that still shows a failure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/matrix/csc.h"
#include "verify/verify.h"

namespace lulab {

/// What failed, and where: what a smaller matrix must show, too.
struct Failure {
  std::string rung;  // id; empty: klu_blocks_equal, which is asked of no rung
  std::string scalar;
  Verdict verdict = Verdict::failed;  // failed, race or error
  StatusCode code = StatusCode::ok;   // of an error
  std::string check;                  // "lu_residual"; "singular": the rung says so of a matrix that others factor
  std::string beside;                 // of check "singular": the id of one that does
};
/// The first failure of a report.
std::optional<Failure> first_failure(const MatrixReport& report);
/// Does the report show this failure?
bool shows(const MatrixReport& report, const Failure& failure);
/// The options of a run that can show it: its rung alone, or two, in its precision.
VerifyOptions options_for(const Failure& failure, VerifyOptions options);

struct ShrinkOptions {
  double seconds = 60;  // it ends with the best so far; a run that has begun is not interrupted
  std::function<void(const CscMatrix<double>& smallest, int tried)> progress = {};
};
struct Shrunk {
  CscMatrix<double> a;
  int tried = 0;          // matrices
  bool finished = false;  // no row with its column, and no entry, can go any more; false: the time was over
};
using StillFails = std::function<bool(const CscView<double>&)>;

/// Takes away rows with the columns that are matched to them, then entries, then digits of the values, as long as the
/// matrix still fails.
///
/// Requires  A square and sorted; still_fails(A).
/// Ensures   still_fails(result.a); result.a has at least one row.
/// Cost      about k log n runs where k of n rows stay; more where few can go.
/// Source    Zeller & Hildebrandt 2002 (ddmin: halves, then quarters, ... are taken away).
Shrunk shrink(const CscView<double>& a, const StillFails& still_fails, const ShrinkOptions& options = {});

/// The same for a failure of verify_matrix().   Requires options = options_for(failure, ...).
Shrunk shrink_failure(const CscView<double>& a, const Failure& failure, const VerifyOptions& options,
                      const ShrinkOptions& how = {});

}  // namespace lulab
