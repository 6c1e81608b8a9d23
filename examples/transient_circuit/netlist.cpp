#include "examples/transient_circuit/netlist.h"

#include <cmath>
#include <numbers>

namespace lulab::examples {

static double sample(const Constant& constant, double) { return constant.value; }

static double sample(const Sine& s, double time) {
  if (time <= s.delay) return s.offset;
  return s.offset + s.amplitude * std::sin(2 * std::numbers::pi * s.frequency * (time - s.delay));
}

static double sample(const Pulse& p, double time) {
  double t = time - p.delay;
  if (t <= 0) return p.low;
  if (p.period > 0) t = std::fmod(t, p.period);
  if (t < p.rise) return p.low + (p.high - p.low) * t / p.rise;
  t -= p.rise;
  if (t <= p.width) return p.high;
  t -= p.width;
  return t < p.fall ? p.high + (p.low - p.high) * t / p.fall : p.low;
}

double value_at(const Waveform& waveform, double time) {
  return std::visit([time](const auto& w) { return sample(w, time); }, waveform);
}

Node Netlist::node(std::string_view name) {
  if (name == "0" || name == "gnd") return ground;
  const auto [known, is_new] = nodes_.try_emplace(std::string(name), static_cast<Node>(node_names_.size()));
  if (is_new) node_names_.emplace_back(name);
  return known->second;
}

}  // namespace lulab::examples
