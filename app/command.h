#pragma once
// Shared by all commands: registration, output, exit codes.

#include <functional>
#include <span>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "app/distributed_lu.h"
#include "core/ranks.h"
#include "core/status.h"

namespace lulab::app {

/// The exit codes of the program; what each means: exit_codes() and app/README.md.
enum Exit : int {
  exit_ok = 0,
  exit_check_failed = 1,
  exit_bad_input = 2,
  exit_singular = 3,
  exit_device = 4,
};
struct ExitCode {
  Exit code;
  const char* meaning;
};
std::span<const ExitCode> exit_codes();
int exit_code(const Status& status);
/// The worse of two exit codes: failed check > device > bad input > singular > ok.
int worse(int a, int b);

struct Context {
  bool json = false;
  /// The ranks that run this command: several where mpirun started them. Started by the first call.
  std::function<Result<Ranks*>()> ranks;
  MakeDistributedLu distributed_lu;  // empty: this build has none
  std::function<int()> run;          // the chosen command, called after the whole command line was parsed
};

/// Reports a failure once: "lulab: error: ..." and a hint on stderr; with --json {"status": {...}} on stdout.
/// `hint` replaces the hint of the status.   Returns exit_code(status).
int fail(const Context& context, const Status& status, std::string hint = {});
/// Text to stderr; a stderr that cannot be written is ignored.
void print_error(const std::string& text);

/// The status, which now names the file or matrix it concerns.
Status concerning(const std::string& file, Status status);

/// {code, message, hint, file, line, rows, columns}; unknown fields are left out. Rows and columns count from 1.
nlohmann::json to_json(const Status& status);
/// One line. Bytes that are not UTF-8, as in a file name, become U+FFFD.
void print_json(const nlohmann::json& value);

/// A command: name, what it does, and an example for --help.
CLI::App* add_command(CLI::App& app, const char* name, const char* description, const char* example);

// add_NAME() registers the command NAME; it is defined in command_NAME.cpp.
void add_calibrate(CLI::App& app, Context& context);
void add_demo(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_draw(CLI::App& app, Context& context);
void add_explain(CLI::App& app, Context& context);
void add_factor(CLI::App& app, Context& context);
void add_gen(CLI::App& app, Context& context);
void add_info(CLI::App& app, Context& context);
void add_judge(CLI::App& app, Context& context);
void add_levels(CLI::App& app, Context& context);
void add_limits(CLI::App& app, Context& context);
void add_list(CLI::App& app, Context& context);
void add_model(CLI::App& app, Context& context);
void add_refactor(CLI::App& app, Context& context);
void add_solve(CLI::App& app, Context& context);
void add_symbolic(CLI::App& app, Context& context);
void add_timeline(CLI::App& app, Context& context);
void add_verify(CLI::App& app, Context& context);

}  // namespace lulab::app
