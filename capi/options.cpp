#include "capi/options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/matrix/number_text.h"

namespace lulab::c_api {

namespace {

Status bad_option(std::string message) { return Status::error(StatusCode::invalid_argument, std::move(message)); }

Status set_number(double& number, std::string_view text) {
  std::string_view rest = text;
  double value = 0;
  if (take_real(rest, value) != NumberText::ok || !only_blanks(rest))
    return bad_option(fmt::format("{} is not a finite number", quoted(text)));
  number = value;
  return {};
}

Status set_flag(bool& flag, std::string_view text) {
  const bool on = text == "1" || text == "on" || text == "true";
  if (!on && text != "0" && text != "off" && text != "false")
    return bad_option(fmt::format("{} is neither on nor off", quoted(text)));
  flag = on;
  return {};
}

Status set_threads(int& threads, std::string_view text) {
  double number = 0;
  LULAB_RETURN_IF_ERROR(set_number(number, text));
  if (!(number >= 0 && number <= 64 && number == std::floor(number)))
    return bad_option(fmt::format("threads = {}; it must be a whole number in 0..64", number));
  threads = static_cast<int>(number);
  return {};
}

constexpr std::array<std::pair<std::string_view, Refine>, 4> refine_names = {
    {{"automatic", Refine::automatic}, {"always", Refine::always}, {"never", Refine::never}, {"first", Refine::first}}};

Status set_refine(Refine& refine, std::string_view text) {
  for (const auto& [name, value] : refine_names) {
    if (name != text) continue;
    refine = value;
    return {};
  }
  return bad_option(fmt::format("{} is not one of automatic, always, never, first", quoted(text)));
}

std::string name_of(Refine refine) {
  for (const auto& [name, value] : refine_names)
    if (value == refine) return std::string(name);
  return {};
}

std::string on_or_off(bool flag) { return flag ? "on" : "off"; }
std::string text_of(double number) { return fmt::format("{}", number); }

struct Option {
  const char* key;
  Status (*set)(Options& options, std::string_view text);
  std::string (*get)(const Options& options);
};

constexpr std::array all_options = {
    Option{"rung",
           [](Options& o, std::string_view text) {
             auto found = find_rung_or_auto(all_rungs(), text);
             if (found.ok()) o.rung = *found;
             return found.status();
           },
           [](const Options& o) { return o.rung == nullptr ? "auto" : std::string(o.rung->facts.id); }},
    Option{"order",
           [](Options& o, std::string_view text) {
             auto named = with_order(o.solver.preprocess, text);
             if (!named.ok()) return named.status();
             if (named->order != Order::given) {
               named->given.clear();
             } else if (named->given.empty()) {
               return Status::error(StatusCode::invalid_argument,
                                    "the order given takes columns: lulab_set_column_order(), in Python column_order");
             }
             o.solver.preprocess = *std::move(named);
             return Status();
           },
           [](const Options& o) {
             return fmt::format("{}{}", o.solver.preprocess.blocks ? "btf+" : "", to_string(o.solver.preprocess.order));
           }},
    Option{"matching", [](Options& o, std::string_view text) { return set_flag(o.solver.preprocess.matching, text); },
           [](const Options& o) { return on_or_off(o.solver.preprocess.matching); }},
    Option{"scaling", [](Options& o, std::string_view text) { return set_flag(o.solver.preprocess.scaling, text); },
           [](const Options& o) { return on_or_off(o.solver.preprocess.scaling); }},
    Option{"power_of_two",
           [](Options& o, std::string_view text) { return set_flag(o.solver.preprocess.power_of_two, text); },
           [](const Options& o) { return on_or_off(o.solver.preprocess.power_of_two); }},
    Option{"pivot_tol", [](Options& o, std::string_view text) { return set_number(o.solver.factor.pivot_tol, text); },
           [](const Options& o) { return text_of(o.solver.factor.pivot_tol); }},
    Option{"perturb_pivots",
           [](Options& o, std::string_view text) { return set_number(o.solver.factor.perturb_pivots, text); },
           [](const Options& o) { return text_of(o.solver.factor.perturb_pivots); }},
    Option{"threads", [](Options& o, std::string_view text) { return set_threads(o.solver.factor.threads, text); },
           [](const Options& o) { return std::to_string(o.solver.factor.threads); }},
    Option{"repivot", [](Options& o, std::string_view text) { return set_flag(o.solver.repivot, text); },
           [](const Options& o) { return on_or_off(o.solver.repivot); }},
    Option{"max_growth",
           [](Options& o, std::string_view text) {
             if (text != "inf") return set_number(o.solver.max_growth, text);
             o.solver.max_growth = std::numeric_limits<double>::infinity();
             return Status{};
           },
           [](const Options& o) { return text_of(o.solver.max_growth); }},
    Option{"first",
           [](Options& o, std::string_view text) {
             auto parsed = parse_first_factorization(text);
             if (parsed.ok()) o.solver.first = *parsed;
             return parsed.status();
           },
           [](const Options& o) { return std::string(to_string(o.solver.first)); }},
    Option{"probe", [](Options& o, std::string_view text) { return set_flag(o.solver.probe, text); },
           [](const Options& o) { return on_or_off(o.solver.probe); }},
    Option{"backward_error",
           [](Options& o, std::string_view text) { return set_number(o.solver.backward_error, text); },
           [](const Options& o) { return text_of(o.solver.backward_error); }},
    Option{"refine", [](Options& o, std::string_view text) { return set_refine(o.solver.refine, text); },
           [](const Options& o) { return name_of(o.solver.refine); }},
    Option{"expected_steps",
           [](Options& o, std::string_view text) { return set_number(o.solver.expected_steps, text); },
           [](const Options& o) { return text_of(o.solver.expected_steps); }},
    Option{"prepare_at_once",
           [](Options& o, std::string_view text) { return set_flag(o.solver.prepare_at_once, text); },
           [](const Options& o) { return on_or_off(o.solver.prepare_at_once); }},
    Option{"solve",
           [](Options& o, std::string_view text) {
             o.solver.solve = nullptr;
             if (text == "auto") return Status{};
             auto found = find_solve_rung(text);
             if (found.ok()) o.solver.solve = *found;
             return found.status();
           },
           [](const Options& o) { return o.solver.solve == nullptr ? "auto" : std::string(o.solver.solve->id); }},
};

constexpr std::string_view of_rung = "rung.";

const Option* find(std::string_view key) {
  const auto* const found = std::ranges::find_if(all_options, [&](const Option& o) { return key == o.key; });
  return found == all_options.end() ? nullptr : found;
}

/// The first rung's that has it: what another rung has under the same name has its own range, checked by analyze().
const RungOption* find_of_rung(std::string_view key) {
  if (!key.starts_with(of_rung)) return nullptr;
  for (const Rung* rung : all_rungs())
    for (const RungOption& option : rung->facts.options)
      if (option.name == key.substr(of_rung.size())) return &option;
  return nullptr;
}

Status set_of_rung(Options& options, std::string_view name, std::string_view text) {
  auto& known = options.solver.factor.of_rung;
  if (text.empty()) {
    if (const auto found = known.find(name); found != known.end()) known.erase(found);
    return {};
  }
  double value = 0;
  LULAB_RETURN_IF_ERROR(set_number(value, text));
  known.insert_or_assign(std::string(name), value);
  return {};
}

}  // namespace

const char* option_key(std::int32_t index) {
  const bool there = index >= 0 && static_cast<std::size_t>(index) < all_options.size();
  return there ? all_options[static_cast<std::size_t>(index)].key : nullptr;
}

bool is_option(std::string_view key) { return find(key) != nullptr || find_of_rung(key) != nullptr; }

std::string list_of_options() {
  std::string list;
  for (const Option& option : all_options) list += fmt::format("{}, ", option.key);
  return list + "rung.NAME for an option of a rung";
}

Status set_option(Options& options, std::string_view key, std::string_view value) {
  Options next = options;
  const Option* const option = find(key);
  const Status set =
      option != nullptr ? option->set(next, value) : set_of_rung(next, key.substr(of_rung.size()), value);
  if (!set.ok()) return bad_option(fmt::format("option {}: {}", key, set.message));
  LULAB_RETURN_IF_ERROR(check_options(next.solver));
  LULAB_RETURN_IF_ERROR(check_options(next.solver.factor.only({}), "", {}));
  options = std::move(next);
  return {};
}

std::string get_option(const Options& options, std::string_view key) {
  const Option* const option = find(key);
  return option != nullptr ? option->get(options) : text_of(options.solver.factor.get(*find_of_rung(key)));
}

}  // namespace lulab::c_api
