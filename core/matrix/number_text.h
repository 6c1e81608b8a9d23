#pragma once
// Parses numbers at the front of a text.

#include <cstdint>
#include <string>
#include <string_view>

namespace lulab {

enum class NumberText { ok, missing, malformed, out_of_range, not_finite };

/// Removes blanks and one number from the front of `rest`. The number must end at a blank or at the end of the text.
/// Unless the result is ok, value is unspecified.
NumberText take_integer(std::string_view& rest, std::int64_t& value);

/// The same for a real number, correctly rounded: 1, -2.5, .5, +1e-3, and Fortran's 1.0D+00. A number too small for a
/// double becomes a zero of its sign, one too large is out_of_range; nan and inf are not_finite.
NumberText take_real(std::string_view& rest, double& value);

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
/// Whether `rest` is empty or blank.
bool only_blanks(std::string_view rest);

/// A number as a message says it: "0.5", "infinite", "-infinite", "not a number".
std::string spelled(double value);
/// A number with two digits, "3.2e-16", else as spelled().
std::string short_number(double value);

/// At most 60 bytes of `text` in quotes with unprintable bytes escaped, for messages.
std::string quoted(std::string_view text);

}  // namespace lulab
