#include "core/matrix/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace lulab {

namespace {

void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_blank) - text.begin()));
}

/// Whether a decimal number outside the range of double is too small, rather than too large; looks only at its
/// magnitude.
bool is_tiny(std::string_view word) {
  std::int64_t magnitude = 0;  // decimal exponent of the first nonzero digit
  bool after_point = false, found = false;
  std::size_t at = 0;
  for (; at < word.size() && word[at] != 'e' && word[at] != 'E'; ++at) {
    if (word[at] == '.') {
      after_point = true;
    } else if (word[at] >= '0' && word[at] <= '9') {
      if (after_point && !found) --magnitude;
      if (!after_point && found) ++magnitude;
      found = found || word[at] != '0';
    }
  }
  if (at == word.size()) return magnitude < 0;
  std::string_view exponent = word.substr(at + 1);
  const bool negative = exponent.starts_with('-');
  if (negative || exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  if (std::from_chars(exponent.data(), exponent.data() + exponent.size(), power).ec != std::errc()) return negative;
  return negative ? magnitude < power : magnitude < -power;
}

/// Converts forms that std::from_chars does not accept.
NumberText take_unusual_real(std::string_view& rest, double& value) {
  const std::string_view word = first_word(rest);
  std::string text(word);
  if (text.starts_with('+') && !text.starts_with("+-")) text.erase(0, 1);
  for (char& c : text)
    if (c == 'd' || c == 'D') c = 'e';
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) return NumberText::malformed;
  if (error == std::errc::result_out_of_range) {
    if (!is_tiny(text)) return NumberText::out_of_range;
    value = text.starts_with('-') ? -0.0 : 0.0;
  }
  if (!std::isfinite(value)) return NumberText::not_finite;
  rest.remove_prefix(word.size());
  return NumberText::ok;
}

}  // namespace

bool only_blanks(std::string_view rest) { return std::all_of(rest.begin(), rest.end(), is_blank); }

NumberText take_integer(std::string_view& rest, std::int64_t& value) {
  skip_blanks(rest);
  if (rest.empty()) return NumberText::missing;
  const char* const end_of_text = rest.data() + rest.size();
  const auto [end, error] = std::from_chars(rest.data(), end_of_text, value);
  if (error == std::errc::invalid_argument || (end != end_of_text && !is_blank(*end))) return NumberText::malformed;
  if (error != std::errc()) return NumberText::out_of_range;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return NumberText::ok;
}

NumberText take_real(std::string_view& rest, double& value) {
  skip_blanks(rest);
  if (rest.empty()) return NumberText::missing;
  const char* const end_of_text = rest.data() + rest.size();
  const auto [end, error] = std::from_chars(rest.data(), end_of_text, value);
  if (error != std::errc() || (end != end_of_text && !is_blank(*end))) return take_unusual_real(rest, value);
  if (!std::isfinite(value)) return NumberText::not_finite;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return NumberText::ok;
}

std::string spelled(double value) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  return fmt::format("{}", value);
}

std::string short_number(double value) { return std::isfinite(value) ? fmt::format("{:.1e}", value) : spelled(value); }

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out = "'";
  for (char c : text.substr(0, longest)) {
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return out + (text.size() > longest ? "...'" : "'");
}

}  // namespace lulab
