#pragma once
// What every command of the program shares: where it registers, how it prints, what it returns.

#include <functional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "core/status.h"

namespace lulab::app {

/// The exit codes of the program.
enum Exit : int {
  exit_ok = 0,
  exit_check_failed = 1,  // a check failed: the answer is not to be trusted
  exit_bad_input = 2,     // bad usage or a file that cannot be used
  exit_singular = 3,      // the matrix is singular, or fixed pivots are not stable for it
  exit_device = 4,        // GPU error, deadlock, out of memory
};
int exit_code(const Status& status);

/// Where: a file as a whole.
inline Where in_file(std::string path) { return {std::move(path), 0, {}, {}}; }

struct Context {
  bool json = false;
  std::function<int()> run;  // the chosen command, called after the whole command line was parsed
};

/// "lulab: error: ..." and a hint on stderr; with --json {"status": {...}} on stdout.   Returns exit_code(status).
int fail(const Context& context, const Status& status);

/// {code, message, file, line, rows, columns}, only what is known.
nlohmann::json to_json(const Status& status);
void print_json(const nlohmann::json& value);

/// A command: name, what it does, and an example for --help.
CLI::App* add_command(CLI::App& app, const char* name, const char* description, const char* example);

// Each registers one command; one file a command: command_NAME.cpp.
void add_calibrate(CLI::App& app, Context& context);
void add_demo(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
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
void add_verify(CLI::App& app, Context& context);

}  // namespace lulab::app
