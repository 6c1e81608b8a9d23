#pragma once
// A circuit as a list of devices between named nodes.   Units: ohm, farad, henry, volt, ampere, second, hertz.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

namespace lulab::examples {

/// Nodes are numbered 0, 1, ... in order of first mention; ground has no number.
using Node = std::int32_t;
inline constexpr Node ground = -1;

/// Value of a source over time, like DC, SIN and PULSE in SPICE.
struct Constant {
  double value = 0;
};
struct Sine {
  double offset = 0, amplitude = 0, frequency = 0, delay = 0;  // offset before delay
};
struct Pulse {
  double low = 0, high = 0, delay = 0, rise = 0, fall = 0, width = 0, period = 0;  // period 0: one pulse
};
using Waveform = std::variant<Constant, Sine, Pulse>;

/// The value at a jump is that from the left: a pulse without rise time is still low at its delay.
double value_at(const Waveform& waveform, double time);

struct Resistor {
  std::string name;
  Node a, b;
  double resistance;
};
struct Capacitor {
  std::string name;
  Node a, b;
  double capacitance;
};
struct Inductor {
  std::string name;
  Node a, b;
  double inductance;
};
struct VoltageSource {
  std::string name;
  Node plus, minus;
  Waveform voltage;
};
struct CurrentSource {
  std::string name;
  Node from, to;  // current flows through the source from `from` to `to`
  Waveform current;
};
struct Diode {
  std::string name;
  Node anode, cathode;
  double saturation_current = 1e-14;
  double ideality = 1;
};
using Device = std::variant<Resistor, Capacitor, Inductor, VoltageSource, CurrentSource, Diode>;

class Netlist {
 public:
  /// The node of that name, created if needed. "0" and "gnd" are ground.
  Node node(std::string_view name);
  void add(Device device) { devices_.push_back(std::move(device)); }

  const std::vector<Device>& devices() const { return devices_; }
  const std::vector<std::string>& node_names() const { return node_names_; }

 private:
  std::vector<Device> devices_;
  std::vector<std::string> node_names_;
  std::unordered_map<std::string, Node> nodes_;
};

}  // namespace lulab::examples
