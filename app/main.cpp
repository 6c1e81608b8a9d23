// lulab COMMAND ...: parses the command line, runs one command, returns its exit code (app/command.h).

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "app/command.h"
#include "app/mpi/start_ranks.h"
#include "core/simt/device.h"
#ifdef LULAB_SUPERLU_DIST
#include "app/mpi/superlu_dist.h"
#endif

namespace lulab::app {
namespace {

/// Opens the standard streams that the caller closed: else the next file opened would take the place of one.
void open_standard_streams() {
  for (int stream = 0; stream <= 2; ++stream)
    if (::fcntl(stream, F_GETFD) == -1) (void)::open(stream == 0 ? "/dev/null" : "/dev/full", O_RDWR);
}

/// How many characters to insert, delete, replace, or swap with their neighbour, to turn a into b.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

/// Why the command line names no command; ok if it names one.
Status check_command(const CLI::App& app, std::span<char*> arguments) {
  const auto word = std::ranges::find_if(arguments, [](std::string_view a) { return !a.starts_with('-'); });
  if (word == arguments.end()) return Status::error(StatusCode::invalid_argument, "no command is given");
  std::string nearest;
  std::size_t least = 3;
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::size_t edits = edits_between(*word, command->get_name());
    if (edits == 0) return {};
    if (edits < std::min(least, command->get_name().size())) {
      least = edits;
      nearest = command->get_name();
    }
  }
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("unknown command '{}'{}", *word,
                                   nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest)));
}

bool asks_for_json(std::span<char*> arguments) {
  const auto end = std::ranges::find(arguments, std::string_view("--"));
  return std::find(arguments.begin(), end, std::string_view("--json")) != end;
}

int usage_error(const Context& context, const CLI::App& app, const Status& status) {
  const auto chosen = app.get_subcommands();
  return fail(context, status, fmt::format("lulab {}--help", chosen.empty() ? "" : chosen.front()->get_name() + " "));
}

/// Refuses an empty value: an empty name of a file or rung would read as none.
Status check_values(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_expected_min() > 0 && std::ranges::find(option->results(), "") != option->results().end())
      return Status::error(StatusCode::invalid_argument, option->get_name() + " is given an empty value");
  return {};
}

/// What an exception that left a command says.
Status status_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::length_error*>(&error))
    return Status::error(StatusCode::out_of_memory, "the host is out of memory");
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return Status::error(StatusCode::invalid_argument, error.what());
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error);
      refused && refused->code() == std::errc::resource_unavailable_try_again)
    return Status::error(StatusCode::out_of_memory, "the system starts no more threads");
  return Status::error(StatusCode::device_error, fmt::format("unexpected: {}", error.what()));
}

/// Says which rank it was, where there are several.
Status of_rank(const Ranks* ranks, Status status) {
  if (ranks != nullptr && ranks->count() > 1)
    status.message = fmt::format("rank {} of {}: {}", ranks->rank(), ranks->count(), status.message);
  return status;
}

int run(std::span<char*> arguments) {
  CLI::App app("LU factorization of sparse matrices, L·U = P·R·A·C·Q, with checked results.", "lulab");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.set_version_flag("--version", LULAB_VERSION);
  std::string footer = "Exit codes:\n";
  for (const auto& [code, meaning] : exit_codes()) footer += fmt::format("  {}  {}\n", static_cast<int>(code), meaning);
  app.footer(footer);
  std::unique_ptr<Ranks> ranks;
  Context context;
  context.ranks = [&ranks]() -> Result<Ranks*> {
    if (!ranks) {
      LULAB_ASSIGN_OR_RETURN(ranks, start_ranks());
    }
    return ranks.get();
  };
#ifdef LULAB_SUPERLU_DIST
  context.distributed_lu = [&context](Ranks& of_this_run, int threads) {
    // MPI's abort allocates, and so does the message.
    auto reserve = std::make_shared<std::vector<char>>(1 << 20);
    return make_superlu_dist(of_this_run, threads, [&context, &of_this_run, reserve](const Status& status) {
      *reserve = {};
      const int code = fail(
          context, of_rank(&of_this_run, status),
          status.code == StatusCode::out_of_memory ? "start more ranks, on more machines, or try another --order" : "");
      std::fflush(nullptr);
      of_this_run.abort(code);
      std::_Exit(code);
    });
  };
#endif
  context.json = asks_for_json(arguments);  // also when the command line is wrong
  app.add_flag("--json", context.json,
               "Print JSON to stdout, errors too: one line, or one line a matrix (verify, demo)");
  for (auto* add :
       {add_doctor, add_list, add_info, add_gen, add_factor, add_solve, add_refactor, add_verify, add_judge, add_demo,
        add_draw, add_explain, add_symbolic, add_levels, add_limits, add_model, add_timeline, add_calibrate})
    add(app, context);

  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    const Status command = check_command(app, arguments);
    return usage_error(context, app,
                       command.ok() ? Status::error(StatusCode::invalid_argument, error.what()) : command);
  }
  if (const Status values = check_values(*app.get_subcommands().front()); !values.ok())
    return usage_error(context, app, values);
  try {
    return context.run();
  } catch (const std::exception& error) {
    int code = exit_bad_input;
    try {
      if (std::ferror(stdout) == 0) code = fail(context, of_rank(ranks.get(), status_of(error)));
    } catch (const std::exception&) {  // an error could not be printed: finish() says so
    }
    if (ranks) ranks->abort(code);  // the others wait for this one
    return code;
  }
}

/// Closes stdout. What could not be written is an error, whatever the command did.
int finish(int code) {
  errno = 0;
  const bool written = std::ferror(stdout) == 0;
  if (std::fclose(stdout) == 0 && written) return code;
  print_error(fmt::format("lulab: error: the output cannot be written{}{}\n", errno != 0 ? ": " : "",
                          errno != 0 ? std::strerror(errno) : ""));
  return worse(code, exit_bad_input);
}

}  // namespace
}  // namespace lulab::app

int main(int argc, char** argv) {
  using namespace lulab::app;
  open_standard_streams();
  lulab::simt::tell_races_briefly();
  int code = lulab::app::exit_bad_input;
  try {
    code = run(std::span(argv, static_cast<std::size_t>(argc)).subspan(argc > 0 ? 1 : 0));
  } catch (const std::exception&) {  // an error could not be printed: finish() says so
  }
  return finish(code);
}
