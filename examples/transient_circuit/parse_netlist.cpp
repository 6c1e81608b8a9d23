#include "examples/transient_circuit/parse_netlist.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <vector>

#include <fmt/format.h>

namespace lulab::examples {
namespace {

Status wrong(std::string what) { return Status::error(StatusCode::parse_error, std::move(what)); }

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return std::tolower(c); });
  return result;
}

/// Splits a line into lower-case words; brackets and commas count as blanks.
std::vector<std::string> words_of(std::string line) {
  line = lower(line.substr(0, line.find(';')));
  for (char& c : line)
    if (c == '(' || c == ')' || c == ',') c = ' ';
  std::istringstream text(line);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

using Words = std::span<const std::string>;

Result<std::vector<double>> numbers(Words words, std::size_t least, std::size_t most, std::string_view of) {
  if (words.size() < least || words.size() > most)
    return wrong(fmt::format("{} takes {} to {} numbers, found {}", of, least, most, words.size()));
  std::vector<double> values(most, 0.0);
  for (std::size_t k = 0; k < words.size(); ++k) {
    LULAB_ASSIGN_OR_RETURN(const auto value, parse_number(words[k]));
    values[k] = value;
  }
  return values;
}

Result<Waveform> waveform(Words words) {
  if (!words.empty() && words[0] == "dc") words = words.subspan(1);
  if (words.empty()) return wrong("a source needs a value, SIN(...) or PULSE(...)");
  if (words[0] == "sin") {
    LULAB_ASSIGN_OR_RETURN(const auto v, numbers(words.subspan(1), 3, 4, "SIN(offset amplitude frequency [delay])"));
    return Waveform(Sine{v[0], v[1], v[2], v[3]});
  }
  if (words[0] == "pulse") {
    LULAB_ASSIGN_OR_RETURN(const auto v,
                           numbers(words.subspan(1), 2, 7, "PULSE(low high [delay rise fall width period])"));
    Pulse p{v[0], v[1], v[2], v[3], v[4], v[5], v[6]};
    if (std::min({p.rise, p.fall, p.width, p.period}) < 0) return wrong("the times of PULSE must not be negative");
    if (words.size() < 7) p.width = HUGE_VAL;  // a step
    return Waveform(p);
  }
  LULAB_ASSIGN_OR_RETURN(const auto v, numbers(words, 1, 1, "a source of constant value"));
  return Waveform(Constant{v[0]});
}

Result<double> positive(Words words, std::string_view of) {
  LULAB_ASSIGN_OR_RETURN(const auto v, numbers(words, 1, 1, of));
  if (!(v[0] > 0)) return wrong(fmt::format("{} must be positive, not {}", of, v[0]));
  return v[0];
}

Result<Diode> diode(Diode d, Words words) {
  for (const std::string& word : words) {
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    if (equals == std::string::npos || (key != "is" && key != "n"))
      return wrong(fmt::format("'{}' is neither IS=... nor N=...", word));
    const std::string number = word.substr(equals + 1);
    LULAB_ASSIGN_OR_RETURN(const auto value, positive(Words(&number, 1), key == "is" ? "IS" : "N"));
    (key == "is" ? d.saturation_current : d.ideality) = value;
  }
  return d;
}

template <class T>
Status add(Netlist& netlist, Result<T> device) {
  if (device.ok()) netlist.add(std::move(*device));
  return device.status();
}

template <class T>
Status add_two_pole(Netlist& netlist, const std::string& name, Node a, Node b, const Result<double>& value) {
  if (value.ok()) netlist.add(T{name, a, b, *value});
  return value.status();
}

template <class T>
Status add_source(Netlist& netlist, const std::string& name, Node a, Node b, const Result<Waveform>& wave) {
  if (wave.ok()) netlist.add(T{name, a, b, *wave});
  return wave.status();
}

Status add_device(Netlist& netlist, Words words) {
  const std::string& name = words[0];
  if (std::string_view("rclvid").find(name[0]) == std::string_view::npos)
    return wrong(fmt::format("'{}': the name of a device must start with R, C, L, V, I or D", name));
  if (words.size() < 3) return wrong(fmt::format("{} needs two nodes", name));
  const Node a = netlist.node(words[1]), b = netlist.node(words[2]);
  const Words rest = words.subspan(3);
  switch (name[0]) {
    case 'r': return add_two_pole<Resistor>(netlist, name, a, b, positive(rest, "a resistance"));
    case 'c': return add_two_pole<Capacitor>(netlist, name, a, b, positive(rest, "a capacitance"));
    case 'l': return add_two_pole<Inductor>(netlist, name, a, b, positive(rest, "an inductance"));
    case 'v': return add_source<VoltageSource>(netlist, name, a, b, waveform(rest));
    case 'i': return add_source<CurrentSource>(netlist, name, a, b, waveform(rest));
    default: return add(netlist, diode(Diode{name, a, b}, rest));
  }
}

}  // namespace

Result<double> parse_number(std::string_view text) {
  const std::string t = lower(text);
  double value = 0;
  const char* begin = t.data() + (t.starts_with('+') && !t.starts_with("+-") ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, t.data() + t.size(), value);
  const std::string_view unit(end, t.data() + t.size() - end);
  if (error != std::errc() || !std::isfinite(value) ||
      !std::ranges::all_of(unit, [](unsigned char c) { return std::isalpha(c); }))
    return wrong(fmt::format("'{}' is not a number", text));
  constexpr std::string_view factors = "fpnumkgt";
  constexpr double powers[] = {1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1e3, 1e9, 1e12};
  const auto k = unit.empty() ? std::string_view::npos : factors.find(unit[0]);
  value *= unit.starts_with("meg") ? 1e6 : k == std::string_view::npos ? 1 : powers[k];
  if (!std::isfinite(value)) return wrong(fmt::format("'{}' is too large for a double", text));
  return value;
}

Result<Netlist> parse_netlist(std::string_view text, std::string name) {
  Netlist netlist;
  std::set<std::string> names;
  std::istringstream lines{std::string(text)};
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const auto words = words_of(line);
    if (words.empty() || words[0][0] == '*') continue;
    if (words[0] == ".end") break;
    Status s = names.insert(words[0]).second ? add_device(netlist, words)
                                             : wrong(fmt::format("there is already a device {}", words[0]));
    if (!s.ok()) {
      s.where.file = name;
      s.where.line = number;
      return s;
    }
  }
  return netlist;
}

Result<Netlist> read_netlist(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || text.fail())
    return Status::error(StatusCode::invalid_argument, "cannot be read; is the path right?", Where{path, 0, {}, {}});
  return parse_netlist(text.str(), path);
}

}  // namespace lulab::examples
