// lulab COMMAND ...: parses the command line, runs one command, answers with an exit code (app/command.h).

#include <cstdio>
#include <new>
#include <string>

#include "app/command.h"

int main(int argc, char** argv) {
  using namespace lulab::app;
  CLI::App app("lulab factors sparse matrices, L·U = P·R·A·C·Q, and proves that it did.", "lulab");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_all_flag("--help-all", "Help of every command");
  app.set_version_flag("--version", LULAB_VERSION);
  app.footer("Exit codes: 0 ok, 1 a check failed, 2 bad usage or input, 3 singular or needs re-pivoting, 4 device.");
  Context context;
  app.add_flag("--json", context.json, "Answer with JSON on stdout");
  for (auto* add : {add_doctor, add_list, add_info, add_gen, add_factor, add_solve, add_refactor, add_verify, add_judge,
                    add_demo, add_levels, add_limits, add_model, add_calibrate})
    add(app, context);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string command = chosen.empty() ? "" : chosen.front()->get_name() + " ";
    std::fprintf(stderr, "lulab: error: %s\n  hint: lulab %s--help\n", error.what(), command.c_str());
    return exit_bad_input;
  }
  try {
    return context.run();
  } catch (const std::bad_alloc&) {
    return fail(context, lulab::Status::error(lulab::StatusCode::out_of_memory, "the host has no more memory"));
  } catch (const std::exception& error) {
    return fail(context,
                lulab::Status::error(lulab::StatusCode::device_error, std::string("unexpected: ") + error.what()));
  }
}
