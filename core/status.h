#pragma once
// How every fallible function of lulab answers: a Status, or a Result<T> that holds a value or a Status.

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lulab {

enum class StatusCode {
  ok,
  invalid_argument,
  parse_error,
  structurally_singular,
  numerically_singular,
  needs_repivot,
  out_of_memory,
  device_error,
  deadlock,
  data_race,  // of a simulated kernel, in builds with ThreadSanitizer
  not_implemented,
};

std::string_view to_string(StatusCode code);

/// An error of the machine or of a kernel, not of the matrix: what is on the device may be of no use.
constexpr bool is_of_machine(StatusCode code) {
  return code == StatusCode::device_error || code == StatusCode::deadlock || code == StatusCode::data_race ||
         code == StatusCode::out_of_memory;
}

/// Where an error is; only what is known is set. Rows and columns: of A, 0-based here, counted from 1 in messages.
struct Where {
  std::string file;
  std::int64_t line = 0;           // 1-based; 0: unknown
  std::vector<std::int32_t> rows;  // deficient rows (structurally_singular)
  std::vector<std::int32_t>
      columns;  // deficient columns, or the column that failed (numerically_singular, needs_repivot)

  bool operator==(const Where&) const = default;
};

struct [[nodiscard]] Status {
  StatusCode code = StatusCode::ok;
  std::string message;  // what happened and what to do about it; empty when ok
  Where where;

  bool ok() const { return code == StatusCode::ok; }
  explicit operator bool() const { return ok(); }
  /// One line for people: "parse_error: a.mtx:12: expected ...".
  std::string to_string() const;

  static Status error(StatusCode code, std::string message, Where where = {}) {
    return {code, std::move(message), std::move(where)};
  }
};

/// A value of type T, or the Status that says why there is none.
/// Precondition of value() and operator*: ok(). status() is Status{} (ok) when a value is held.
template <class T>
class [[nodiscard]] Result {
 public:
  // Two constructors, not one by value: nvcc moves a returned local only into an rvalue reference.
  Result(T&& value) : value_(std::move(value)) {}
  Result(const T& value) requires std::copy_constructible<T> : value_(value) {}
  Result(Status error) : status_(std::move(error)) {
    if (status_.ok())
      status_ = Status::error(StatusCode::invalid_argument, "a Result was made of neither a value nor an error");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace lulab

/// Leaves the enclosing function with the error when the expression (a Status) is not ok.
#define LULAB_RETURN_IF_ERROR(expr)                                                        \
  do {                                                                                     \
    if (::lulab::Status lulab_status_ = (expr); !lulab_status_.ok()) return lulab_status_; \
  } while (0)

/// Gives `target` (a declaration or an assignable place) the value of the expression, a Result, or leaves the enclosing
/// function with its error.   LULAB_ASSIGN_OR_RETURN(auto stream, Stream::create());
#define LULAB_ASSIGN_OR_RETURN(target, ...) \
  LULAB_ASSIGN_OR_RETURN_BY(LULAB_UNIQUE_NAME(lulab_result_, __LINE__), target, __VA_ARGS__)
#define LULAB_ASSIGN_OR_RETURN_BY(result, target, ...) \
  auto result = (__VA_ARGS__);                         \
  if (!result.ok()) return result.status();            \
  target = *std::move(result)
#define LULAB_UNIQUE_NAME(name, line) LULAB_JOIN(name, line)
#define LULAB_JOIN(a, b) a##b
