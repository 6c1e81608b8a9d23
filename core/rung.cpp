#include "core/rung.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lulab {

Result<const Rung*> find_rung(std::span<const Rung* const> rungs, std::string_view id) {
  std::vector<const Rung*> matches;
  std::string known;
  for (const Rung* rung : rungs) {
    if (rung->facts.id == id) return rung;
    if (rung->facts.id.find(id) != std::string_view::npos) matches.push_back(rung);
    known += fmt::format("\n  {}", rung->facts.id);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty())
    return Status::error(StatusCode::invalid_argument, fmt::format("no rung is called '{}'; there are{}", id, known));
  std::string which;
  for (const Rung* rung : matches) which += fmt::format("\n  {}", rung->facts.id);
  return Status::error(StatusCode::invalid_argument, fmt::format("'{}' names several rungs; say which:{}", id, which));
}

}  // namespace lulab
