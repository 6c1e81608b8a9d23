#include "model/limits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/output_file.h"
#include "model/chains.h"
#include "model/panel_costs.h"
#include "symbolic/fill.h"

namespace lulab {
namespace {

using DeviceFigure = std::pair<const char*, double DeviceConstants::*>;

constexpr std::array<DeviceFigure, 8> device_figures = {{
    {"bandwidth_bytes_per_s", &DeviceConstants::bandwidth_bytes_per_s},
    {"flops_f64_per_s", &DeviceConstants::flops_f64_per_s},
    {"flops_f32_per_s", &DeviceConstants::flops_f32_per_s},
    {"flag_hop_us", &DeviceConstants::flag_hop_us},
    {"hop_us", &DeviceConstants::hop_us},
    {"launch_us", &DeviceConstants::launch_us},
    {"graph_node_us", &DeviceConstants::graph_node_us},
    {"grid_sync_us", &DeviceConstants::grid_sync_us},
}};

DeviceConstants h200() {
  DeviceConstants c;
  c.device = "NVIDIA H200";
  c.measured = true;
  c.bandwidth_bytes_per_s = 4.25e12;
  c.flops_f64_per_s = 33.2e12;
  c.flops_f32_per_s = 64.6e12;
  c.flag_hop_us = 0.52;
  c.hop_us = 0.71;
  c.launch_us = 2.7;
  c.graph_node_us = 0.72;
  c.grid_sync_us = 0.97;
  c.memory = {.sm_count = 132,
              .clock_ghz = 1.975,
              .l2_bytes = 62914560,
              .cache_cycle = 288,
              .global_cycle = 691,
              .periods = {{1, 1, 410},  {1, 2, 387},  {1, 4, 392},  {1, 8, 431},   {1, 16, 1113},  {1, 32, 1575},
                          {2, 1, 430},  {2, 2, 407},  {2, 4, 417},  {2, 8, 489},   {2, 16, 1555},  {2, 32, 2513},
                          {4, 1, 465},  {4, 2, 449},  {4, 4, 488},  {4, 8, 675},   {4, 16, 2452},  {4, 32, 4369},
                          {8, 1, 495},  {8, 2, 477},  {8, 4, 523},  {8, 8, 783},   {8, 16, 3786},  {8, 32, 7997},
                          {16, 1, 564}, {16, 2, 540}, {16, 4, 633}, {16, 8, 1074}, {16, 16, 5839}, {16, 32, 11346},
                          {32, 1, 561}, {32, 2, 536}, {32, 4, 615}, {32, 8, 1042}, {32, 16, 3835}, {32, 32, 15756}}};
  return c;
}

double level_step_us(const DeviceConstants& c) { return std::min({c.launch_us, c.graph_node_us, c.grid_sync_us}); }

Where in_file(const std::string& file) {
  Where where;
  where.file = file;
  return where;
}

Status parse_failure(const std::string& file, const std::string& what) {
  return Status::error(StatusCode::parse_error,
                       "device constants: " + what + "; write the file again with: lulab calibrate -o FILE",
                       in_file(file));
}

}  // namespace

DeviceConstants builtin_constants(std::string_view device_name) {
  DeviceConstants c = h200();
  if (device_name.find("H200") == std::string_view::npos) {
    c.device = fmt::format("{}, with the constants of {} (not measured here)", device_name, c.device);
    c.measured = false;
  }
  return c;
}

std::string to_json(const DeviceConstants& constants) {
  nlohmann::ordered_json json = {{"device", constants.device}, {"measured", constants.measured}};
  for (const auto& [name, member] : device_figures) json[name] = constants.*member;
  json["memory"] = to_json(constants.memory);
  return json.dump(2);
}

Result<DeviceConstants> constants_from_json(std::string_view text, const std::string& file) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return parse_failure(file, "expected one JSON object");
  DeviceConstants c;
  const auto device = json.find("device");
  if (device == json.end() || !device->is_string()) return parse_failure(file, "\"device\" must be a string");
  const auto measured = json.find("measured");
  if (measured == json.end() || !measured->is_boolean())
    return parse_failure(file, "\"measured\" must be true or false");
  c.device = *device;
  c.measured = *measured;
  for (const auto& [name, member] : device_figures) {
    const auto value = json.find(name);
    if (value == json.end() || !value->is_number())
      return parse_failure(file, fmt::format("\"{}\" must be a number", name));
    c.*member = *value;
    if (!(c.*member > 0) || !std::isfinite(c.*member)) {
      return parse_failure(file, fmt::format("\"{}\" is {}, but must be > 0 and finite", name, c.*member));
    }
  }
  const auto memory = json.find("memory");
  if (memory == json.end()) return parse_failure(file, "\"memory\" is missing");
  auto read = memory_constants_from_json(*memory);
  if (!read.ok()) return parse_failure(file, "in \"memory\" " + read.status().message);
  c.memory = std::move(*read);
  return c;
}

Status save_constants(const DeviceConstants& constants, const std::string& path) {
  OutputFile file(path);
  file.add(to_json(constants) + '\n');
  return file.close();
}

Result<DeviceConstants> load_constants(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || !text)  // a folder opens, but cannot be read
    return Status::error(StatusCode::invalid_argument, "device constants cannot be read: no file, or an empty one",
                         in_file(path));
  return constants_from_json(text.str(), path);
}

std::string_view to_string(Dependencies dependencies) {
  switch (dependencies) {
    case Dependencies::none: return "none";
    case Dependencies::levels: return "levels";
    case Dependencies::walking: return "walking chain";
    case Dependencies::fine: return "fine chain";
    case Dependencies::values: return "chain of columns";
    case Dependencies::panels: return "chain of panels";
  }
  return "?";
}

std::string_view to_string(Bound bound) {
  switch (bound) {
    case Bound::flops: return "flops";
    case Bound::bytes: return "bytes";
    case Bound::chain: return "chain";
  }
  return "?";
}

Limits compute_limits(const Analysis& analysis, int scalar_bytes, const DeviceConstants& constants,
                      Dependencies dependencies) {
  const FilledPattern& filled = analysis.filled;
  const Chains chains = critical_chains(filled);
  Limits l;
  l.flops = factor_flops(filled);
  l.compulsory_bytes = (scalar_bytes + 4) * (analysis.a.nnz() + filled.nnz()) + std::int64_t{scalar_bytes} * filled.n;
  l.levels = chains.levels;
  l.walking_chain = chains.walking;
  l.fine_chain = chains.fine;
  l.panel_chain = panel_costs(filled).chain;

  const double flops_per_s = scalar_bytes == 4 ? constants.flops_f32_per_s : constants.flops_f64_per_s;
  l.flop_bound_ms = l.flops / flops_per_s * 1e3;
  l.byte_bound_ms = static_cast<double>(l.compulsory_bytes) / constants.bandwidth_bytes_per_s * 1e3;
  l.levels_bound_ms = l.levels * level_step_us(constants) * 1e-3;
  l.walking_bound_ms = static_cast<double>(l.walking_chain) * constants.hop_us * 1e-3;
  l.fine_bound_ms = static_cast<double>(l.fine_chain) * constants.hop_us * 1e-3;
  l.values_bound_ms = l.levels * constants.flag_hop_us * 1e-3;
  l.panels_bound_ms = l.panel_chain * constants.flag_hop_us * 1e-3;

  return with_dependencies(l, dependencies);
}

Limits with_dependencies(Limits l, Dependencies dependencies) {
  l.dependencies = dependencies;
  switch (dependencies) {
    case Dependencies::none: l.chain_bound_ms = 0; break;
    case Dependencies::levels: l.chain_bound_ms = l.levels_bound_ms; break;
    case Dependencies::walking: l.chain_bound_ms = l.walking_bound_ms; break;
    case Dependencies::fine: l.chain_bound_ms = l.fine_bound_ms; break;
    case Dependencies::values: l.chain_bound_ms = l.values_bound_ms; break;
    case Dependencies::panels: l.chain_bound_ms = l.panels_bound_ms; break;
  }
  l.bound_ms = l.flop_bound_ms;
  l.bound_by = Bound::flops;
  if (l.byte_bound_ms > l.bound_ms) {
    l.bound_ms = l.byte_bound_ms;
    l.bound_by = Bound::bytes;
  }
  if (l.chain_bound_ms > l.bound_ms) {
    l.bound_ms = l.chain_bound_ms;
    l.bound_by = Bound::chain;
  }
  return l;
}

std::string to_json(const Limits& l) {
  const nlohmann::ordered_json json = {
      {"flops", l.flops},
      {"compulsory_bytes", l.compulsory_bytes},
      {"levels", l.levels},
      {"walking_chain", l.walking_chain},
      {"fine_chain", l.fine_chain},
      {"panel_chain", l.panel_chain},
      {"flop_bound_ms", l.flop_bound_ms},
      {"byte_bound_ms", l.byte_bound_ms},
      {"levels_bound_ms", l.levels_bound_ms},
      {"walking_bound_ms", l.walking_bound_ms},
      {"fine_bound_ms", l.fine_bound_ms},
      {"values_bound_ms", l.values_bound_ms},
      {"panels_bound_ms", l.panels_bound_ms},
      {"chain_bound_ms", l.chain_bound_ms},
      {"dependencies", to_string(l.dependencies)},
      {"bound_ms", l.bound_ms},
      {"bound_by", to_string(l.bound_by)},
  };
  return json.dump(2);
}

std::string to_text(const Limits& l, const DeviceConstants& c) {
  const auto row = [](std::string_view name, const std::string& amount, const std::string& cost, double ms) {
    return fmt::format("  {:<16} {:>22}   {:<28} {:>12.5f} ms\n", name, amount, cost, ms);
  };
  const auto hops = [](std::int64_t n) { return fmt::format("{} hops", n); };
  std::string text = fmt::format("limits of one refactorization on {}\n", c.device);
  text += row("flops", fmt::format("{:.4g} flop", l.flops),
              fmt::format("{:.3g} / {:.3g} Tflop/s f64/f32", c.flops_f64_per_s * 1e-12, c.flops_f32_per_s * 1e-12),
              l.flop_bound_ms);
  text += row("compulsory bytes", fmt::format("{} B", l.compulsory_bytes),
              fmt::format("{:.3g} TB/s", c.bandwidth_bytes_per_s * 1e-12), l.byte_bound_ms);
  text += row("levels", fmt::format("{} levels", l.levels), fmt::format("{:.3g} us each", level_step_us(c)),
              l.levels_bound_ms);
  text += row("walking chain", hops(l.walking_chain), fmt::format("{:.3g} us each", c.hop_us), l.walking_bound_ms);
  text += row("fine chain", hops(l.fine_chain), fmt::format("{:.3g} us each", c.hop_us), l.fine_bound_ms);
  text += row("chain of columns", hops(l.levels), fmt::format("{:.3g} us each", c.flag_hop_us), l.values_bound_ms);
  text += row("chain of panels", hops(l.panel_chain), fmt::format("{:.3g} us each", c.flag_hop_us), l.panels_bound_ms);
  text += fmt::format("  at least {:.5f} ms, bound by {}", l.bound_ms, to_string(l.bound_by));
  if (l.bound_by == Bound::chain) text += fmt::format(" ({})", to_string(l.dependencies));
  return text + '\n';
}

}  // namespace lulab
