#include "app/shrunk.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/progress.h"
#include "core/matrix/matrix_market.h"
#include "core/rung.h"

namespace lulab::app {

std::string verify_command(const std::string& file, const VerifyOptions& options) {
  std::string command = fmt::format("lulab verify '{}'", file);
  for (const Rung* rung : options.rungs) command += fmt::format(" --rung {}", rung->facts.id);
  if (options.precision != Precision::f64)
    command += options.precision == Precision::f32 ? " --precision f32" : " --precision both";
  const PreprocessOptions& p = options.preprocess;
  if (p.order != Order::automatic) command += fmt::format(" --order {}", to_string(p.order));
  if (p.blocks) command += " --btf";
  if (!p.matching) command += " --no-matching";
  if (!p.scaling) command += " --no-scaling";
  if (!options.pivots.repivot) command += " --no-repivot";
  const VerifyOptions usual;
  if (options.max_simulator_n != usual.max_simulator_n)
    command += fmt::format(" --max-simulator-n {}", options.max_simulator_n);
  if (options.max_dense_n != usual.max_dense_n) command += fmt::format(" --max-dense-n {}", options.max_dense_n);
  return command;
}

Result<ShrunkFile> write_shrunk(const CscView<double>& a, const MatrixReport& report, const VerifyOptions& options,
                                double seconds) {
  const Failure failure = first_failure(report).value();
  const VerifyOptions alone = options_for(failure, options);
  ShrunkFile shrunk;
  shrunk.file = report.matrix + "-shrunk.mtx";
  shrunk.command = verify_command(shrunk.file, alone);
  shrunk.failure =
      failure.rung.empty()
          ? "klu_blocks_equal"
          : fmt::format("{}: {}", failure.rung, failure.check.empty() ? to_string(failure.verdict) : failure.check);
  {
    Progress progress;
    const auto show = [&](const CscMatrix<double>& smallest, int tried) {
      progress.show(fmt::format("{}: shrunk to n = {}, nnz = {} in {} runs", report.matrix, smallest.n_cols,
                                smallest.nnz(), tried));
    };
    shrunk.found = shrink_failure(a, failure, alone, {seconds, show});
  }
  LULAB_RETURN_IF_ERROR(
      write_matrix_market(shrunk.file, shrunk.found.a,
                          fmt::format("{} fails; from {}\n{}", shrunk.failure, report.matrix, shrunk.command)));
  return shrunk;
}

std::string to_text(const ShrunkFile& shrunk) {
  return fmt::format("shrunk to n = {}, nnz = {} in {} runs{}: {} still fails\nreproduce: {}\n", shrunk.found.a.n_cols,
                     shrunk.found.a.nnz(), shrunk.found.tried,
                     shrunk.found.finished ? "" : "; the time is over, more --shrink-seconds may shrink it further",
                     shrunk.failure, shrunk.command);
}

nlohmann::json to_json(const ShrunkFile& shrunk) {
  return {{"file", shrunk.file},
          {"command", shrunk.command},
          {"failure", shrunk.failure},
          {"n", shrunk.found.a.n_cols},
          {"nnz", shrunk.found.a.nnz()},
          {"tried", shrunk.found.tried},
          {"finished", shrunk.found.finished}};
}

}  // namespace lulab::app
