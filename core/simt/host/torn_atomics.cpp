#include "core/simt/host/torn_atomics.h"

#include <fmt/format.h>

#include <utility>

#include "core/simt/host/race_report.h"

namespace lulab::simt::host {

TornAtomics::TornAtomics(std::string place) : place_(std::move(place)) { torn_atomics = this; }
TornAtomics::~TornAtomics() { torn_atomics = nullptr; }

bool TornAtomics::tears(const void* address, Site site) {
  const auto array = device_array_of(address);
  const auto [entry, is_new] =
      torn_.try_emplace({site.file, site.line, array ? array->begin : nullptr, array ? array->name : nullptr});
  if (is_new) {
    const char* const where = !array ? "shared memory" : array->name != nullptr ? array->name : "device memory";
    const std::string place = fmt::format("{} in {}", line_of_source(site.file, site.line), where);
    met_.insert(place);
    entry->second = place == place_;
  }
  return entry->second;
}

}  // namespace lulab::simt::host
