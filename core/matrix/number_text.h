#pragma once
// Numbers at the front of a piece of text.

#include <cstdint>
#include <string>
#include <string_view>

namespace lulab {

enum class NumberText { ok, missing, malformed, out_of_range, not_finite };

/// Takes blanks and one number off the front of `rest`. The number must end at a blank or at the end of the text.
/// On anything but ok, value is unspecified.
NumberText take_integer(std::string_view& rest, std::int64_t& value);

/// The same for a real number, correctly rounded: 1, -2.5, .5, +1e-3, and Fortran's 1.0D+00. One too small for a double
/// becomes a zero of its sign; one too large is out_of_range; nan and inf are not_finite.
NumberText take_real(std::string_view& rest, double& value);

inline bool is_blank(char c) { return c == ' ' || c == '\t'; }
/// Only blanks (or nothing) in `rest`?
bool only_blanks(std::string_view rest);

/// At most 60 bytes of `text` between quotes, with unprintable bytes escaped: for messages.
std::string quoted(std::string_view text);

}  // namespace lulab
