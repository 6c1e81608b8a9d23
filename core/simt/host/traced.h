#pragma once
// A scalar that tells of its loads and stores: what a kernel template is instantiated with when it is to be explained.
//
// The kernel runs as written. A copy of a Traced that lies in a named device array is a load, an assignment to one a
// store; the line is that of the expression, because default arguments name it. A local Traced carries the loads that
// made its value, so a store knows what it was computed from: As[jk] -= As[ji] * u is a store made from three loads.

#include <array>
#include <bit>
#include <cstdint>

#include "core/simt/host/atomics.h"
#include "core/simt/host/trace.h"

namespace lulab::simt::host {

class Operand;

/// double, with the numbers of the events that it was computed from. Poison is a NaN from nowhere.
/// In a class template its copy assignment can be ruled out, so that each assignment goes by an Operand with a line.
template <class Value>
class TracedScalar {
 public:
  TracedScalar() = default;
  TracedScalar(Value value) : value_(value) {}  // NOLINT(google-explicit-constructor): T(0), and 0 for T
  TracedScalar(const TracedScalar& other, Site site = Site::here()) : value_(other.value_), from_(other.load(site)) {}
  TracedScalar& operator=(const TracedScalar&) requires(sizeof(Value) == 0);
  TracedScalar& operator=(const Operand& right);
  TracedScalar& operator+=(const Operand& right);
  TracedScalar& operator-=(const Operand& right);
  TracedScalar& operator*=(const Operand& right);
  TracedScalar& operator/=(const Operand& right);

  /// For the host: nothing is recorded.
  Value value() const { return value_; }

  friend TracedScalar atomicAdd(TracedScalar* p, TracedScalar value, Site site = Site::here()) {
    return p->add_atomically(value, site);
  }

 private:
  friend class Operand;
  using From = std::array<std::int32_t, 3>;
  static constexpr From nowhere = {-1, -1, -1};

  TracedScalar(Value value, const From& from) : value_(value), from_(from) {}
  From load(Site site) const;
  void store(Value value, const From& from, Site site);
  TracedScalar add_atomically(const TracedScalar& value, Site site);

  Value value_;
  From from_ = nowhere;
};
using Traced = TracedScalar<double>;

/// One side of an operator, and the line that it stands on.
class Operand {
 public:
  Operand(const Traced& of, Site at = Site::here())  // NOLINT(google-explicit-constructor): each use is an operand
      : value(of.value_), from(of.load(at)), site(at) {}

  double value;
  std::array<std::int32_t, 3> from;
  Site site;

  Traced result(double of_both, const Operand& other) const { return {of_both, joined(other)}; }
  /// What both were computed from, as far as there is room.
  std::array<std::int32_t, 3> joined(const Operand& other) const {
    auto both = from;
    for (const std::int32_t event : other.from)
      for (std::int32_t& free : both) {
        if (free == event) break;
        if (free >= 0) continue;
        free = event;
        break;
      }
    return both;
  }
};

inline Traced operator+(const Operand& a, const Operand& b) { return a.result(a.value + b.value, b); }
inline Traced operator-(const Operand& a, const Operand& b) { return a.result(a.value - b.value, b); }
inline Traced operator*(const Operand& a, const Operand& b) { return a.result(a.value * b.value, b); }
inline Traced operator/(const Operand& a, const Operand& b) { return a.result(a.value / b.value, b); }
inline Traced operator-(const Operand& a) { return a.result(-a.value, a); }
inline bool operator==(const Operand& a, const Operand& b) { return a.value == b.value; }
inline bool operator<(const Operand& a, const Operand& b) { return a.value < b.value; }
inline bool operator>(const Operand& a, const Operand& b) { return a.value > b.value; }

template <class Value>
auto TracedScalar<Value>::load(Site site) const -> From {
  const std::int32_t event = trace_read(this, sizeof *this, value_, site);
  return event < 0 ? from_ : From{event, -1, -1};
}

template <class Value>
void TracedScalar<Value>::store(Value value, const From& from, Site site) {
  trace_write(TraceEvent::Kind::write, this, sizeof *this, value_, value, from, site);
  value_ = value;
  from_ = from;
}

template <class Value>
TracedScalar<Value>& TracedScalar<Value>::operator=(const Operand& right) {
  store(right.value, right.from, right.site);
  return *this;
}
template <class Value>
TracedScalar<Value>& TracedScalar<Value>::operator+=(const Operand& right) {
  const Operand left(*this, right.site);
  store(left.value + right.value, left.joined(right), right.site);
  return *this;
}
template <class Value>
TracedScalar<Value>& TracedScalar<Value>::operator-=(const Operand& right) {
  const Operand left(*this, right.site);
  store(left.value - right.value, left.joined(right), right.site);
  return *this;
}
template <class Value>
TracedScalar<Value>& TracedScalar<Value>::operator*=(const Operand& right) {
  const Operand left(*this, right.site);
  store(left.value * right.value, left.joined(right), right.site);
  return *this;
}
template <class Value>
TracedScalar<Value>& TracedScalar<Value>::operator/=(const Operand& right) {
  const Operand left(*this, right.site);
  store(left.value / right.value, left.joined(right), right.site);
  return *this;
}

template <class Value>
TracedScalar<Value> TracedScalar<Value>::add_atomically(const TracedScalar& value, Site site) {
  // Told before it happens: afterwards other threads may run. No other thread can change it meanwhile.
  // RACE: others add to it in no order, as in the kernel; a plain load here would race with them
  const auto before =
      std::bit_cast<Value>(load_bits(reinterpret_cast<const BitsOf<Value>*>(&value_), __ATOMIC_RELAXED));
  trace_write(TraceEvent::Kind::atomic_add, this, sizeof *this, before, before + value.value_, value.from_, site);
  // RACE: as the kernel's atomicAdd, which this is
  return atomic_update(&value_, __ATOMIC_RELAXED, Scope::device, site, [&](Value old) { return old + value.value_; });
}

}  // namespace lulab::simt::host
