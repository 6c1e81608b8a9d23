#include "core/status.h"

#include <fmt/format.h>

namespace lulab {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::ok: return "ok";
    case StatusCode::invalid_argument: return "invalid_argument";
    case StatusCode::parse_error: return "parse_error";
    case StatusCode::structurally_singular: return "structurally_singular";
    case StatusCode::numerically_singular: return "numerically_singular";
    case StatusCode::needs_repivot: return "needs_repivot";
    case StatusCode::out_of_memory: return "out_of_memory";
    case StatusCode::device_error: return "device_error";
    case StatusCode::deadlock: return "deadlock";
    case StatusCode::data_race: return "race";
    case StatusCode::not_implemented: return "not_implemented";
  }
  return "unknown";
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  std::string place;
  if (!where.file.empty()) place = where.line > 0 ? fmt::format("{}:{}: ", where.file, where.line) : where.file + ": ";
  return fmt::format("{}: {}{}", lulab::to_string(code), place, message);
}

}  // namespace lulab
