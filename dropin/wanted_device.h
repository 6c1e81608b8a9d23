#pragma once
// Where a library of dropin/ works, if the user says so.

#include <cstdlib>
#include <string_view>

namespace lulab {

enum class WantedDevice { automatic, cpu, gpu };

/// variable: of the environment: cpu, gpu; anything else, or none, is automatic.
inline WantedDevice wanted_device(const char* variable) {
  const char* const text = std::getenv(variable);
  const std::string_view named = text == nullptr ? "" : text;
  return named == "cpu" ? WantedDevice::cpu : named == "gpu" ? WantedDevice::gpu : WantedDevice::automatic;
}

}  // namespace lulab
