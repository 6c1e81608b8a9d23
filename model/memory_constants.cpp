#include "model/memory_constants.h"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lulab {
namespace {

using MemoryFigure = std::pair<const char*, double MemoryConstants::*>;

constexpr std::array<MemoryFigure, 5> memory_figures = {{
    {"sm_count", &MemoryConstants::sm_count},
    {"clock_ghz", &MemoryConstants::clock_ghz},
    {"l2_bytes", &MemoryConstants::l2_bytes},
    {"cache_cycle", &MemoryConstants::cache_cycle},
    {"global_cycle", &MemoryConstants::global_cycle},
}};

/// The member `name` of `json`, a number > 0.
Result<double> positive(const nlohmann::json& json, const char* name) {
  const auto value = json.is_object() ? json.find(name) : json.end();
  if (value == json.end() || !value->is_number() || !(value->get<double>() > 0) ||
      !std::isfinite(value->get<double>())) {
    return Status::error(StatusCode::parse_error, fmt::format("\"{}\" must be a number > 0 and finite", name));
  }
  return value->get<double>();
}

}  // namespace

nlohmann::ordered_json to_json(const MemoryConstants& constants) {
  nlohmann::ordered_json json;
  for (const auto& [name, member] : memory_figures) json[name] = constants.*member;
  json["periods"] = nlohmann::ordered_json::array();
  for (const MemoryPeriod& p : constants.periods)
    json["periods"].push_back({{"stride", p.stride}, {"warps_per_sm", p.warps_per_sm}, {"cycles", p.cycles}});
  return json;
}

Result<MemoryConstants> memory_constants_from_json(const nlohmann::json& json) {
  MemoryConstants m;
  for (const auto& [name, member] : memory_figures) {
    LULAB_ASSIGN_OR_RETURN(const auto value, positive(json, name));
    m.*member = value;
  }
  const auto periods = json.find("periods");
  if (periods == json.end() || !periods->is_array())
    return Status::error(StatusCode::parse_error, "\"periods\" must be an array");
  for (const nlohmann::json& p : *periods) {
    const auto stride = positive(p, "stride"), warps = positive(p, "warps_per_sm"), cycles = positive(p, "cycles");
    for (const auto* value : {&stride, &warps, &cycles})
      if (!value->ok()) return value->status();
    if (*stride < 1 || *warps < 1)
      return Status::error(StatusCode::parse_error, "\"stride\" and \"warps_per_sm\" must be >= 1");
    m.periods.push_back({static_cast<int>(*stride), static_cast<int>(*warps), *cycles});
  }
  return m;
}

}  // namespace lulab
