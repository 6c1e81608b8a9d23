#include "examples/power_flow/equations.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace lulab::examples::power_flow {
namespace {

/// Sets what is given, the start and the unknowns.
void classify(const Network& network, Equations& e) {
  const std::size_t n = network.buses.size();
  std::vector<bool> holds(n);
  e.given.resize(n);
  for (const Bus& bus : network.buses) {
    e.start.angle.push_back(bus.angle_deg * std::numbers::pi / 180);
    e.start.magnitude.push_back(bus.magnitude_pu);
  }
  for (const Generator& g : network.generators) {
    const BusType type = network.buses[g.bus].type;
    e.given[g.bus].p += g.mw / network.base_mva;
    e.given[g.bus].q += g.mvar / network.base_mva;
    if (type != BusType::pv && type != BusType::slack) continue;
    holds[g.bus] = true;
    e.start.magnitude[g.bus] = g.magnitude_pu;
  }
  std::int32_t next = 0;
  e.angle_of.assign(n, -1);
  e.magnitude_of.assign(n, -1);
  for (std::size_t i = 0; i < n; ++i) {
    const Bus& bus = network.buses[i];
    e.given[i].p -= bus.load_mw / network.base_mva;
    e.given[i].q -= bus.load_mvar / network.base_mva;
    if (bus.type == BusType::pq || bus.type == BusType::pv) e.angle_of[i] = next++;
  }
  for (std::size_t i = 0; i < n; ++i)
    if (network.buses[i].type == BusType::pq || (network.buses[i].type == BusType::pv && !holds[i]))
      e.magnitude_of[i] = next++;
  e.jacobian.n_rows = e.jacobian.n_cols = next;
}

/// The four (equation, unknown) of an entry (i, j) of Y, with the place where their position goes.
template <class Do>
void for_each_place(const Equations& e, std::int32_t i, std::int32_t j, const Do& todo) {
  const std::int32_t p = e.angle_of[i], q = e.magnitude_of[i], angle = e.angle_of[j], magnitude = e.magnitude_of[j];
  if (p >= 0 && angle >= 0) todo(p, angle, &Places::p_angle);
  if (p >= 0 && magnitude >= 0) todo(p, magnitude, &Places::p_magnitude);
  if (q >= 0 && angle >= 0) todo(q, angle, &Places::q_angle);
  if (q >= 0 && magnitude >= 0) todo(q, magnitude, &Places::q_magnitude);
}

/// Calls todo(k, row, column, place) for all entries of J, rows ascending within each column: the angles' equations
/// come before those of the magnitudes, and each kind in the order of the buses.
template <class Do>
void for_each_entry(const Equations& e, const Do& todo) {
  for (const bool reactive : {false, true})
    for (std::int32_t i = 0; i < e.buses(); ++i)
      for (std::int64_t k = e.y.row_ptr[i]; k < e.y.row_ptr[i + 1]; ++k)
        for_each_place(e, i, e.y.column[k], [&](std::int32_t row, std::int32_t column, std::int64_t Places::*place) {
          const bool of_q = place == &Places::q_angle || place == &Places::q_magnitude;
          if (of_q == reactive) todo(k, row, column, place);
        });
}

void make_pattern(Equations& e) {
  CscPattern& a = e.jacobian;
  a.col_ptr.assign(a.n_cols + 1, 0);
  for_each_entry(e, [&](std::int64_t, std::int32_t, std::int32_t column, auto) { ++a.col_ptr[column + 1]; });
  for (std::int32_t j = 0; j < a.n_cols; ++j) a.col_ptr[j + 1] += a.col_ptr[j];
  a.row_idx.resize(a.col_ptr[a.n_cols]);
  e.places.resize(e.y.nnz());
  std::vector<std::int64_t> next(a.col_ptr.begin(), a.col_ptr.end() - 1);
  for_each_entry(e, [&](std::int64_t k, std::int32_t row, std::int32_t column, auto place) {
    a.row_idx[next[column]] = row;
    e.places[k].*place = next[column]++;
  });
}

std::vector<Phasor> phasors(const State& state) {
  std::vector<Phasor> v(state.angle.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = {state.magnitude[i] * std::cos(state.angle[i]), state.magnitude[i] * std::sin(state.angle[i])};
  return v;
}

/// The magnitude that is larger; a NaN is the largest.
double larger(double most, double value) {
  return std::isnan(most) || std::abs(value) <= most ? most : std::abs(value);
}

}  // namespace

Equations make_equations(const Network& network) {
  Equations e;
  e.y = make_admittance(network);
  classify(network, e);
  make_pattern(e);
  return e;
}

double stamp(const Equations& e, const State& state, std::span<double> values, std::span<double> b) {
  const std::vector<Phasor> v = phasors(state);
  double most = 0;
  for (std::int32_t i = 0; i < e.buses(); ++i) {
    Power injected;
    for (std::int64_t k = e.y.row_ptr[i]; k < e.y.row_ptr[i + 1]; ++k) {
      const Power s = power_of_entry(v[i], e.y.g[k], e.y.b[k], v[e.y.column[k]]);
      injected = {injected.p + s.p, injected.q + s.q};
      if (e.y.column[k] != i) put(values.data(), e.places[k], block_beside_diagonal(s));
    }
    const std::int64_t d = e.y.diagonal[i];
    const Power own = power_of_entry(v[i], e.y.g[d], e.y.b[d], v[i]);
    put(values.data(), e.places[d], block_on_diagonal(own, injected));
    if (const std::int32_t p = e.angle_of[i]; p >= 0) most = larger(most, b[p] = e.given[i].p - injected.p);
    if (const std::int32_t q = e.magnitude_of[i]; q >= 0) most = larger(most, b[q] = e.given[i].q - injected.q);
  }
  return most;
}

void update(const Equations& e, std::span<const double> x, State& state) {
  for (std::int32_t i = 0; i < e.buses(); ++i) {
    if (e.angle_of[i] >= 0) state.angle[i] += x[e.angle_of[i]];
    if (e.magnitude_of[i] >= 0) state.magnitude[i] *= 1 + x[e.magnitude_of[i]];
  }
}

std::vector<Power> injections(const Equations& e, const State& state) {
  const std::vector<Phasor> v = phasors(state);
  std::vector<Power> injected(v.size());
  for (std::int32_t i = 0; i < e.buses(); ++i)
    for (std::int64_t k = e.y.row_ptr[i]; k < e.y.row_ptr[i + 1]; ++k) {
      const Power s = power_of_entry(v[i], e.y.g[k], e.y.b[k], v[e.y.column[k]]);
      injected[i] = {injected[i].p + s.p, injected[i].q + s.q};
    }
  return injected;
}

std::int32_t bus_of(const Equations& e, std::int32_t unknown) {
  const auto found = std::ranges::find(e.angle_of, unknown);
  if (found != e.angle_of.end()) return static_cast<std::int32_t>(found - e.angle_of.begin());
  return static_cast<std::int32_t>(std::ranges::find(e.magnitude_of, unknown) - e.magnitude_of.begin());
}

Worst worst_mismatch(const Equations& e, const State& state) {
  const std::vector<Power> injected = injections(e, state);
  Worst worst{0, false, -1};
  const auto consider = [&](std::int32_t bus, bool is_reactive, double mismatch) {
    if (!(std::abs(mismatch) <= worst.mismatch_pu) && !std::isnan(worst.mismatch_pu))
      worst = {bus, is_reactive, std::abs(mismatch)};
  };
  for (std::int32_t i = 0; i < e.buses(); ++i) {
    if (e.angle_of[i] >= 0) consider(i, false, e.given[i].p - injected[i].p);
    if (e.magnitude_of[i] >= 0) consider(i, true, e.given[i].q - injected[i].q);
  }
  return worst;
}

}  // namespace lulab::examples::power_flow
