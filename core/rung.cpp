#include "core/rung.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace lulab {

Result<std::size_t> find_id(std::span<const std::string_view> ids, std::string_view name) {
  std::vector<std::size_t> matches;
  std::string known, which;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    if (ids[k] == name) return k;
    known += fmt::format("\n  {}", ids[k]);
    if (ids[k].find(name) == std::string_view::npos) continue;
    matches.push_back(k);
    which += fmt::format("\n  {}", ids[k]);
  }
  if (matches.size() == 1) return matches.front();
  if (matches.empty())
    return Status::error(StatusCode::invalid_argument, fmt::format("no rung is called '{}'; there are{}", name, known));
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("'{}' names several rungs; say which:{}", name, which));
}

Result<const Rung*> find_rung(std::span<const Rung* const> rungs, std::string_view id) {
  std::vector<std::string_view> ids;
  for (const Rung* rung : rungs) ids.push_back(rung->facts.id);
  LULAB_ASSIGN_OR_RETURN(const std::size_t found, find_id(ids, id));
  return rungs[found];
}

}  // namespace lulab
