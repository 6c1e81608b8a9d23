#include "bench/result_file.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "core/output_file.h"

namespace lulab::bench {

namespace {

/// The command without --resume.
std::string measured_by(const nlohmann::ordered_json& context) {
  constexpr std::string_view resume = " --resume";
  const auto found = context.find("command");
  std::string command = found != context.end() && found->is_string() ? found->get<std::string>() : "";
  if (const std::size_t at = command.find(resume); at != std::string::npos) command.erase(at, resume.size());
  return command;
}

}  // namespace

Status ResultFile::resume() {
  context_["command"] = measured_by(context_);
  std::error_code ignored;
  if (!std::filesystem::exists(path_, ignored)) return {};
  const auto wrong = [this](std::string_view why) {
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{}: {}; measure without --resume, or into another file", path_, why));
  };
  std::ifstream file(path_);
  const auto old = nlohmann::ordered_json::parse(file, nullptr, false);
  if (!old.is_object() || !old.contains("context") || !old["context"].is_object() || !old.contains("benchmarks") ||
      !old["benchmarks"].is_array())
    return wrong("no results of lulab-bench");
  const nlohmann::ordered_json& before = old["context"];
  if (measured_by(before) != measured_by(context_)) return wrong(fmt::format("written by '{}'", measured_by(before)));
  for (const char* key : {"git_hash", "gpu", "driver", "cpu", "compiler", "kernel_compiler"})
    if (before.value(key, nlohmann::ordered_json()) != context_.value(key, nlohmann::ordered_json()))
      return wrong(fmt::format("{} was {}", key, before.value(key, nlohmann::ordered_json()).dump()));
  if (before.contains("matrices")) {
    context_["matrices"] = before["matrices"];
    for (const auto& [matrix, facts] : before["matrices"].items())
      if (!facts.contains("error")) measured_.insert(matrix);
  }
  benchmarks_ = old["benchmarks"];
  if (old.contains("schedules")) schedules_ = old["schedules"];
  return {};
}

Status ResultFile::write(const Report& report, bool is_last) const {
  const std::filesystem::path path = path_;
  std::error_code ignored;  // the file below reports what matters
  if (path_.empty() ||
      (!is_last && std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)))
    return {};
  auto json = to_json(report, context_);
  json["benchmarks"].insert(json["benchmarks"].begin(), benchmarks_.begin(), benchmarks_.end());
  if (!schedules_.empty()) json["schedules"] = schedules_;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  OutputFile file(path_);
  file.add(json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  return file.close();
}

}  // namespace lulab::bench
