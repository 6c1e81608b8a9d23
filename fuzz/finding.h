#pragma once
// How a target says that what it runs is wrong.

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace lulab::fuzz {

/// Prints what is wrong and ends the program; libFuzzer then keeps the input.
template <class... Args>
void require(bool holds, fmt::format_string<Args...> wrong, Args&&... args) {
  if (holds) return;
  fmt::print(stderr, "finding: {}\n", fmt::format(wrong, std::forward<Args>(args)...));
  std::abort();
}

}  // namespace lulab::fuzz
