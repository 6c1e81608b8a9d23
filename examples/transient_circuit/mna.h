#pragma once
// The linear system of modified nodal analysis: its unknowns, its pattern, and where each stamp goes.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/matrix/csc.h"
#include "examples/transient_circuit/netlist.h"

namespace lulab::examples {

/// A x = b. x holds the voltages of the nodes in their order, then the currents of voltage sources and inductors.
///
/// The devices stamp A in the same order every time, so the k-th stamp always goes to the same position. The first
/// round (record) stores rows and columns and builds the pattern; later rounds need no search.
/// Source: Ho, Ruehli & Brennan 1975.
class Mna {
 public:
  explicit Mna(const Netlist& netlist);

  std::int32_t size() const { return n_; }
  /// The unknown that is the current of device k; -1 if there is none.
  std::int32_t current_of(std::size_t device) const { return currents_[device]; }
  /// "v(out)", "i(v1)".
  const std::string& name_of(std::int32_t unknown) const { return names_[unknown]; }

  /// A(i,j) += value, b(i) += value. Does nothing for the row or column of ground.
  void entry(std::int32_t i, std::int32_t j, double value) {
    if (i < 0 || j < 0) return;
    if (recording_)
      rows_.push_back(i), cols_.push_back(j);
    else
      a_.values[places_[next_++]] += value;
  }
  void right(std::int32_t i, double value) {
    if (i >= 0) b_[i] += value;
  }
  /// A current g (v_a - v_b) from node a to node b.
  void conductance(Node a, Node b, double g) {
    entry(a, a, g), entry(a, b, -g);
    entry(b, a, -g), entry(b, b, g);
  }

  /// One round of stamps that only records the pattern.
  template <class StampAll>
  void record(StampAll&& stamp_all) {
    recording_ = true;
    stamp_all(*this);
    make_pattern();
    recording_ = false;
  }
  /// Begins a round: A = 0, b = 0.
  void clear();

  const CscMatrix<double>& a() const { return a_; }
  std::span<const double> b() const { return b_; }

 private:
  void make_pattern();

  std::int32_t n_ = 0;
  std::vector<std::int32_t> currents_;  // (devices)
  std::vector<std::string> names_;      // (n)
  bool recording_ = false;
  std::vector<std::int32_t> rows_, cols_;  // (stamps) recorded rows and columns
  std::vector<std::int64_t> places_;       // (stamps) position of the k-th stamp in a_.values
  std::size_t next_ = 0;
  CscMatrix<double> a_;
  std::vector<double> b_;
};

}  // namespace lulab::examples
