#include "core/factor_options.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/matrix/number_text.h"

namespace lulab {

double FactorOptions::get(const RungOption& option) const {
  const auto found = of_rung.find(option.name);
  return found == of_rung.end() ? option.default_value : found->second;
}

FactorOptions FactorOptions::only(std::span<const RungOption> known) const {
  FactorOptions options = *this;
  std::erase_if(options.of_rung,
                [&](const auto& given) { return std::ranges::count(known, given.first, &RungOption::name) == 0; });
  return options;
}

Status FactorOptions::set(std::string_view text) {
  const std::size_t equals = text.find('=');
  std::string_view number = equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  double value = 0;
  if (equals == 0 || take_real(number, value) != NumberText::ok || !only_blanks(number))
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} is not NAME=VALUE with a finite number, as in group_lanes=16", quoted(text)));
  of_rung.insert_or_assign(std::string(text.substr(0, equals)), value);
  return {};
}

Status check_options(const FactorOptions& options, std::string_view rung_id, std::span<const RungOption> known) {
  const auto bad = [](std::string message) { return Status::error(StatusCode::invalid_argument, std::move(message)); };
  if (!(options.pivot_tol >= 0 && options.pivot_tol <= 1))
    return bad(fmt::format("pivot_tol = {}; it must be in 0..1", options.pivot_tol));
  if (!(options.perturb_pivots >= 0 && options.perturb_pivots <= 1))
    return bad(fmt::format("perturb_pivots = {}; it must be in 0..1", options.perturb_pivots));
  for (const auto& [name, value] : options.of_rung) {
    const auto option = std::ranges::find(known, name, &RungOption::name);
    if (option == known.end()) {
      std::string names;
      for (const RungOption& o : known) names += fmt::format("\n  {}  {}", o.name, o.meaning);
      return bad(fmt::format("{} has no option '{}'; {}{}", rung_id, name,
                             known.empty() ? "it has none of its own" : "there are:", names));
    }
    if (!(value >= option->least && value <= option->most))
      return bad(
          fmt::format("{} = {}; it must be in {}..{} ({})", name, value, option->least, option->most, option->meaning));
  }
  return {};
}

}  // namespace lulab
