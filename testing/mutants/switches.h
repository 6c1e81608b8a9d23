#pragma once
// The switches of mutants: what the copies of source files ask that testing/mutants/places.py writes.
//
// A file has one switch for each mutant, all off. LULAB_MUTANT=FILE:NUMBER turns one on. With LULAB_MUTANT_RECORD=PATH
// nothing is mutated, and PATH gets a line FILE NUMBER for each mutant whose code has run.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

namespace lulab::mutants {

enum Switch : unsigned char { off, on, unseen, seen };

struct File {
  const char* name;
  Switch* switches;
  int count;
  File* next;
};
inline File* files = nullptr;

inline std::FILE* record() {
  static std::FILE* const file = [] {
    std::FILE* const f = std::fopen(std::getenv("LULAB_MUTANT_RECORD"), "a");
    if (f == nullptr) std::abort();
    std::setvbuf(f, nullptr, _IONBF, 0);
    return f;
  }();
  return file;
}

/// Turns on what the environment names.
inline int add_file(File& file) {
  file.next = files;
  files = &file;
  if (std::getenv("LULAB_MUTANT_RECORD") != nullptr) {
    record();
    std::memset(static_cast<void*>(file.switches), unseen, static_cast<std::size_t>(file.count));
  }
  const char* const mutant = std::getenv("LULAB_MUTANT");
  const std::size_t length = std::strlen(file.name);
  if (mutant != nullptr && std::strncmp(mutant, file.name, length) == 0 && mutant[length] == ':') {
    const int number = std::atoi(mutant + length + 1);
    if (number < 0 || number >= file.count) std::abort();
    file.switches[number] = on;
  }
  return 0;
}

/// Writes down a switch that is asked for the first time. applicable: the types have the other operator, too.
[[gnu::noinline, gnu::cold, gnu::no_sanitize("thread")]] inline bool see(Switch& s, bool applicable) {
  if (s == seen) return false;
  s = seen;
  for (const File* f = files; f != nullptr; f = f->next)
    if (&s >= f->switches && &s < f->switches + f->count) {
      char line[512];
      const int length = std::snprintf(line, sizeof line, "%s %d%s\n", f->name, static_cast<int>(&s - f->switches),
                                       applicable ? "" : " inapplicable");
      std::fwrite(line, 1, static_cast<std::size_t>(length), record());
    }
  return false;
}
[[gnu::no_sanitize("thread")]] inline bool ask(Switch& s) {
  const Switch value = s;
  if (value == off) [[likely]]
    return false;
  return value == on || see(s, true);
}
[[gnu::no_sanitize("thread")]] inline void pass(Switch& s) {
  if (s > on) see(s, false);
}

/// Whether the mutant applies. The compiler's own evaluation sees the code as it was written.
constexpr bool is_on(Switch& s) { return !std::is_constant_evaluated() && ask(s); }
constexpr void is_inapplicable(Switch& s) {
  if (!std::is_constant_evaluated()) pass(s);
}

template <class X>
constexpr bool flip(Switch& s, X&& x) {
  return static_cast<bool>(std::forward<X>(x)) != is_on(s);
}

// a && b that becomes a || b, and the other way round, is (flip(s, a) && flip(s, b)) != is_on(s), which evaluates b
// only where the operator in force does. Others are functions, always inlined: one compiled for the baseline would
// return vectors where code for AVX does not look for them.
#define LULAB_MUTANT_OPERATOR(name, written, mutated)                                                           \
  template <class A, class B>                                                                                   \
  [[gnu::always_inline]] constexpr decltype(std::declval<A>() written std::declval<B>()) name(Switch& s, A&& a, \
                                                                                              B&& b) {          \
    using R = decltype(std::declval<A>() written std::declval<B>());                                            \
    if constexpr (requires { static_cast<R>(std::forward<A>(a) mutated std::forward<B>(b)); }) {                \
      if (is_on(s)) return static_cast<R>(std::forward<A>(a) mutated std::forward<B>(b));                       \
    } else {                                                                                                    \
      is_inapplicable(s);                                                                                       \
    }                                                                                                           \
    return std::forward<A>(a) written std::forward<B>(b);                                                       \
  }
LULAB_MUTANT_OPERATOR(plus, +, -)
LULAB_MUTANT_OPERATOR(minus, -, +)
LULAB_MUTANT_OPERATOR(times, *, +)
LULAB_MUTANT_OPERATOR(over, /, *)
LULAB_MUTANT_OPERATOR(modulo, %, /)
LULAB_MUTANT_OPERATOR(shift_left, <<, >>)
LULAB_MUTANT_OPERATOR(shift_right, >>, <<)
LULAB_MUTANT_OPERATOR(bit_and, &, |)
LULAB_MUTANT_OPERATOR(bit_or, |, &)
LULAB_MUTANT_OPERATOR(bit_xor, ^, &)
LULAB_MUTANT_OPERATOR(equal, ==, !=)
LULAB_MUTANT_OPERATOR(unequal, !=, ==)
LULAB_MUTANT_OPERATOR(plus_assign, +=, -=)
LULAB_MUTANT_OPERATOR(minus_assign, -=, +=)
LULAB_MUTANT_OPERATOR(times_assign, *=, /=)
LULAB_MUTANT_OPERATOR(over_assign, /=, *=)
LULAB_MUTANT_OPERATOR(or_assign, |=, &=)
LULAB_MUTANT_OPERATOR(and_assign, &=, |=)
LULAB_MUTANT_OPERATOR(xor_assign, ^=, |=)
LULAB_MUTANT_OPERATOR(left_assign, <<=, >>=)
LULAB_MUTANT_OPERATOR(right_assign, >>=, <<=)
#undef LULAB_MUTANT_OPERATOR

// Two switches: equality added or taken away, and the opposite.
#define LULAB_MUTANT_COMPARISON(name, written, boundary, opposite) \
  template <class A, class B>                                      \
  constexpr bool name(Switch* s, A&& a, B&& b) {                   \
    if constexpr (requires {                                       \
                    static_cast<bool>(a boundary b);               \
                    static_cast<bool>(a opposite b);               \
                  }) {                                             \
      if (is_on(s[0])) return static_cast<bool>(a boundary b);     \
      if (is_on(s[1])) return static_cast<bool>(a opposite b);     \
    } else {                                                       \
      is_inapplicable(s[0]);                                       \
      is_inapplicable(s[1]);                                       \
    }                                                              \
    return static_cast<bool>(a written b);                         \
  }
LULAB_MUTANT_COMPARISON(less, <, <=, >=)
LULAB_MUTANT_COMPARISON(at_most, <=, <, >)
LULAB_MUTANT_COMPARISON(greater, >, >=, <=)
LULAB_MUTANT_COMPARISON(at_least, >=, >, <)
#undef LULAB_MUTANT_COMPARISON

/// minus_x, which becomes x.
template <class X>
constexpr std::remove_cvref_t<X> negated(Switch& s, X&& minus_x) {
  if constexpr (requires { static_cast<std::remove_cvref_t<X>>(-minus_x); }) {
    if (is_on(s)) return static_cast<std::remove_cvref_t<X>>(-minus_x);
  } else {
    is_inapplicable(s);
  }
  return std::forward<X>(minus_x);
}

}  // namespace lulab::mutants

#define LULAB_MUTANTS_OF(id, file, count)                             \
  namespace lulab::mutants {                                          \
  inline Switch switches_##id[count];                                 \
  inline File file_##id{file, switches_##id, count, nullptr};         \
  [[maybe_unused]] inline const int added_##id = add_file(file_##id); \
  }
