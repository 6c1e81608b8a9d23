#include "app/command.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lulab::app {

std::span<const ExitCode> exit_codes() {
  static constexpr std::array<ExitCode, 5> codes = {{
      {exit_ok, "ok"},
      {exit_check_failed, "a check failed: do not trust the answer"},
      {exit_bad_input, "bad usage, or a file that cannot be read, used or written"},
      {exit_singular, "the matrix is singular, or fixed pivots are not stable for it"},
      {exit_device, "GPU error, deadlock, race, out of memory or threads"},
  }};
  return codes;
}

int worse(int a, int b) {
  static constexpr std::array order = {exit_ok, exit_singular, exit_bad_input, exit_device, exit_check_failed};
  const auto rank = [](int code) { return std::find(order.begin(), order.end(), code) - order.begin(); };
  return rank(a) >= rank(b) ? a : b;
}

int exit_code(const Status& status) {
  switch (status.code) {
    case StatusCode::ok: return exit_ok;
    case StatusCode::invalid_argument:
    case StatusCode::parse_error:
    case StatusCode::not_implemented: return exit_bad_input;
    case StatusCode::structurally_singular:
    case StatusCode::numerically_singular:
    case StatusCode::needs_repivot: return exit_singular;
    case StatusCode::out_of_memory:
    case StatusCode::device_error:
    case StatusCode::deadlock:
    case StatusCode::data_race: return exit_device;
  }
  return exit_bad_input;
}

static const char* hint_for(StatusCode code) {
  switch (code) {
    case StatusCode::structurally_singular: return "run 'lulab info A.mtx' to see the structure of the matrix";
    case StatusCode::numerically_singular:
      return "look for dependent rows or columns, or an ungrounded part of the circuit";
    case StatusCode::needs_repivot:
      return "choose a rung that pivots by value (see 'lulab list'), without --no-repivot";
    case StatusCode::out_of_memory: return "try another --order, fewer --threads or a smaller matrix";
    case StatusCode::device_error: return "run 'lulab doctor' to see which device was found";
    case StatusCode::deadlock:
      return "threads of the kernel wait for each other; the message names a waiting thread and what it waits for";
    case StatusCode::data_race:
      return "the five lines on stderr name both accesses, what would order them, and how to run this schedule again";
    default: return nullptr;
  }
}

/// The status as text; its code only where the message does not say as much.
static std::string in_words(const Status& status) {
  std::string code(to_string(status.code));
  const std::string text = status.to_string().substr(code.size() + 2);
  if (status.code == StatusCode::invalid_argument || status.code == StatusCode::parse_error) return text;
  std::ranges::replace(code, '_', ' ');
  return fmt::format("{}: {}", code, text);
}

int fail(const Context& context, const Status& status, std::string hint) {
  if (const char* usual = hint_for(status.code); hint.empty() && usual != nullptr) hint = usual;
  if (context.json) {
    nlohmann::json j = to_json(status);
    if (!hint.empty()) j["hint"] = hint;
    print_json({{"status", std::move(j)}});
  } else {
    print_error(fmt::format("lulab: error: {}\n", in_words(status)));
    if (!hint.empty()) print_error(fmt::format("  hint: {}\n", hint));
  }
  return exit_code(status);
}

void print_error(const std::string& text) { (void)std::fputs(text.c_str(), stderr); }

Status concerning(const std::string& file, Status status) {
  if (status.where.file.empty()) status.where.file = file;
  return status;
}

nlohmann::json to_json(const Status& status) {
  const auto from_one = [](std::vector<std::int32_t> indices) {
    for (std::int32_t& index : indices) ++index;
    return indices;
  };
  nlohmann::json j = {{"code", to_string(status.code)}};
  if (!status.message.empty()) j["message"] = status.message;
  if (!status.where.file.empty()) j["file"] = status.where.file;
  if (status.where.line > 0) j["line"] = status.where.line;
  if (!status.where.rows.empty()) j["rows"] = from_one(status.where.rows);
  if (!status.where.columns.empty()) j["columns"] = from_one(status.where.columns);
  return j;
}

void print_json(const nlohmann::json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

CLI::App* add_command(CLI::App& app, const char* name, const char* description, const char* example) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer(fmt::format("Example: {}", example));
  return command;
}

}  // namespace lulab::app
