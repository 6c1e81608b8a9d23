#pragma once
// `lulab verify --shrink`: the smallest matrix that still fails, and the command that shows it.

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/matrix/csc.h"
#include "core/status.h"
#include "verify/shrink.h"

namespace lulab::app {

struct ShrunkFile {
  std::string file;     // in the folder where the program runs
  std::string command;  // "lulab verify file --rung ..."
  std::string failure;  // "dense/04_blocked: lu_residual"
  Shrunk found;
};
/// Shrinks the first failure of the report and writes NAME-shrunk.mtx.
/// Requires  first_failure(report).   Errors  the file cannot be written.
Result<ShrunkFile> write_shrunk(const CscView<double>& a, const MatrixReport& report, const VerifyOptions& options,
                                double seconds);

/// The words of a shell that verify this file with these options.
std::string verify_command(const std::string& file, const VerifyOptions& options);

/// Two lines.
std::string to_text(const ShrunkFile& shrunk);
/// {file, command, failure, n, nnz, tried, finished}
nlohmann::json to_json(const ShrunkFile& shrunk);

}  // namespace lulab::app
