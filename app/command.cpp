#include "app/command.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lulab::app {

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
    case StatusCode::deadlock: return exit_device;
  }
  return exit_bad_input;
}

static const char* hint_for(StatusCode code) {
  switch (code) {
    case StatusCode::structurally_singular: return "lulab info A.mtx shows its structure";
    case StatusCode::numerically_singular:
      return "no pivot is left in that column: look for dependent rows or an ungrounded part of the circuit";
    case StatusCode::needs_repivot: return "choose a rung that pivots (lulab list), or leave re-pivoting on";
    case StatusCode::out_of_memory: return "try another ordering (--order) or a smaller matrix";
    case StatusCode::device_error: return "lulab doctor says what device answers";
    case StatusCode::deadlock: return "the kernel waits for itself: the place above says which thread waits on what";
    default: return nullptr;
  }
}

int fail(const Context& context, const Status& status) {
  fmt::print(stderr, "lulab: error: {}\n", status.to_string());
  if (const char* hint = hint_for(status.code)) fmt::print(stderr, "  hint: {}\n", hint);
  if (context.json) print_json({{"status", to_json(status)}});
  return exit_code(status);
}

nlohmann::json to_json(const Status& status) {
  nlohmann::json j = {{"code", to_string(status.code)}};
  if (!status.message.empty()) j["message"] = status.message;
  if (!status.where.file.empty()) j["file"] = status.where.file;
  if (status.where.line > 0) j["line"] = status.where.line;
  if (!status.where.rows.empty()) j["rows"] = status.where.rows;
  if (!status.where.columns.empty()) j["columns"] = status.where.columns;
  return j;
}

void print_json(const nlohmann::json& value) {
  fmt::print("{}\n", value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

CLI::App* add_command(CLI::App& app, const char* name, const char* description, const char* example) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer(fmt::format("Example: {}", example));
  return command;
}

}  // namespace lulab::app
