#include "model/machine_speed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/output_file.h"
#include "core/simt/device.h"

namespace lulab {
namespace {

namespace fs = std::filesystem;

/// To be raised when the predictions are fitted anew or a factor means something else.
constexpr int format = 5;

using SpeedFactor = std::pair<const char*, double MachineSpeed::*>;

constexpr std::array<SpeedFactor, 4> factors = {{
    {"cpu", &MachineSpeed::cpu},
    {"gpu_hops", &MachineSpeed::gpu_hops},
    {"gpu_blocks", &MachineSpeed::gpu_blocks},
    {"gpu_multiply_adds", &MachineSpeed::gpu_multiply_adds},
}};

constexpr double most = 100;             // times as slow or as fast
constexpr std::size_t max_bytes = 4096;  // of a file

std::uint64_t fnv_1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

/// An absolute path in the environment, or nothing.
fs::path folder_in(const char* variable) {
  const char* text = std::getenv(variable);
  const fs::path path = text != nullptr ? text : "";
  return path.is_absolute() ? path : fs::path();
}

/// Of a file; none where it cannot be read. A stream of the library takes 0.1 ms to start in a fresh process.
std::optional<std::string> beginning_of(const char* path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), std::fclose);
  if (!file) return std::nullopt;
  std::string text(max_bytes, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

Status of_file(StatusCode code, const std::string& message, const std::string& path) {
  return Status::error(code, "calibration: " + message, {path, 0, {}, {}});
}

}  // namespace

std::string cpu_model() {
  const std::string text = beginning_of("/proc/cpuinfo").value_or("");
  const std::size_t line = text.find("model name"), colon = text.find(": ", line);
  if (line == std::string::npos || colon == std::string::npos) return "unknown";
  return text.substr(colon + 2, text.find('\n', colon) - colon - 2);
}

std::string machine_key() {
  const auto device = simt::device_properties();
  const std::string gpu = device.ok() ? fmt::format("{}, capability {}, driver {}", device->name,
                                                    device->compute_capability, device->driver)
                                      : "none";
  return fmt::format("format {}; CPU {}; GPU {}", format, cpu_model(), gpu);
}

CalibrationPlace calibration_place(const std::string& key) {
  if (const char* given = std::getenv("LULAB_CALIBRATION"); given != nullptr && *given != '\0')
    return std::string_view(given) == "off" ? CalibrationPlace{.off = true}
                                            : CalibrationPlace{.is_named = true, .path = given};
  fs::path cache = folder_in("XDG_CACHE_HOME");
  if (cache.empty() && !folder_in("HOME").empty()) cache = folder_in("HOME") / ".cache";
  if (cache.empty()) return {};
  return {.path = (cache / "lulab" / fmt::format("calibration-{:016x}.json", fnv_1a(key))).string()};
}

Result<MachineSpeed> load_speed(const std::string& path, const std::string& key) {
  std::error_code error;
  const auto text = fs::is_regular_file(path, error) ? beginning_of(path.c_str()) : std::nullopt;
  if (!text) return of_file(StatusCode::invalid_argument, "there is no file that can be read", path);
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  const auto broken = [&] { return of_file(StatusCode::parse_error, "the file is not one that lulab wrote", path); };
  if (!json.is_object()) return broken();
  const auto machine = json.find("machine");
  if (machine == json.end() || !machine->is_string()) return broken();
  const std::string of = *machine;
  const bool is_ours = of.starts_with("format ") && std::ranges::all_of(factors, [&](const SpeedFactor& factor) {
                         const auto value = json.find(factor.first);
                         return value != json.end() && value->is_number();
                       });
  if (!is_ours) return broken();
  if (of != key) return of_file(StatusCode::not_implemented, "of another machine or format", path);
  MachineSpeed speed;
  for (const auto& [name, member] : factors) speed.*member = json[name];
  if (!is_plausible(speed)) return broken();
  return speed;
}

Status save_speed(const MachineSpeed& speed, const std::string& key, const std::string& path) {
  std::error_code error;  // the file below reports what matters
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return of_file(StatusCode::invalid_argument, "it cannot be written: it is no regular file", path);
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, error);
  nlohmann::ordered_json json = {{"machine", key}};
  for (const auto& [name, member] : factors) json[name] = speed.*member;
  OutputFile file(path);
  file.add(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  return file.close();
}

bool is_plausible(const MachineSpeed& speed) {
  return std::ranges::all_of(factors, [&](const SpeedFactor& factor) {
    const double f = speed.*factor.second;
    return f >= 1 / most && f <= most;
  });
}

std::string to_text(const MachineSpeed& speed) {
  std::string text;
  for (const auto& [name, member] : factors)
    if (speed.*member != 1) text += fmt::format("{}{} x {:.2f}", text.empty() ? "" : ", ", name, speed.*member);
  return text.empty() ? "all factors 1" : text;
}

}  // namespace lulab
