#include "examples/transient_circuit/devices.h"

#include <cmath>
#include <numbers>
#include <type_traits>

namespace lulab::examples {
namespace {

constexpr double thermal_voltage = 0.025865;  // kT/q at 300.15 K

double slope_voltage(const Diode& diode) { return diode.ideality * thermal_voltage; }

double voltage_between(std::span<const double> x, Node a, Node b) {
  return (a < 0 ? 0.0 : x[a]) - (b < 0 ? 0.0 : x[b]);
}

/// Factor of a time derivative: 2 / step or 1 / step by the method; 0 at the operating point.
double derivative(const Moment& at) { return at.step > 0 ? (at.method == Method::trapezoidal ? 2 : 1) / at.step : 0.0; }

/// `last` for the trapezoidal rule, which averages with the last time point; else 0.
double half(const Moment& at, double last) { return at.step > 0 && at.method == Method::trapezoidal ? last : 0.0; }

double capacitor_current(const Moment& at, double capacitance, double voltage, double last_voltage,
                         double last_current) {
  return derivative(at) * capacitance * (voltage - last_voltage) - half(at, last_current);
}

/// Limits the new junction voltage: above the critical voltage it may grow only logarithmically with the requested
/// step, so that the exponential of the diode cannot overflow.
double limited_voltage(const Diode& diode, double next, double last) {
  const double vt = slope_voltage(diode);
  const double critical = vt * std::log(vt / (std::numbers::sqrt2 * diode.saturation_current));
  if (!(next > critical && std::abs(next - last) > 2 * vt)) return next;
  if (last <= 0) return vt * std::log(next / vt);
  const double growth = 1 + (next - last) / vt;
  return growth > 0 ? last + vt * std::log(growth) : critical;
}

}  // namespace

double junction_current(const Diode& diode, double voltage) {
  return diode.saturation_current * std::expm1(voltage / slope_voltage(diode));
}

void Devices::start_from(std::span<const double> x) {
  for (std::size_t k = 0; k < memory_.size(); ++k)
    if (const auto* d = std::get_if<Diode>(&netlist_.devices()[k]))
      memory_[k].voltage = voltage_between(x, d->anode, d->cathode);
}

void Devices::stamp(Mna& mna, const Moment& at, std::span<const double> x) {
  limited_ = false;
  for (std::size_t k = 0; k < memory_.size(); ++k) {
    Memory& last = memory_[k];
    const std::int32_t branch = mna.current_of(k);
    const auto branch_current =
        [&](Node a, Node b) {  // current from a to b through the device; its equation starts with v_a - v_b
          mna.entry(a, branch, 1), mna.entry(b, branch, -1);
          mna.entry(branch, a, 1), mna.entry(branch, b, -1);
        };
    const auto given_current = [&](Node from, Node to, double current) {
      mna.right(from, -current), mna.right(to, current);
    };
    std::visit(
        [&](const auto& d) {
          using D = std::decay_t<decltype(d)>;
          if constexpr (std::is_same_v<D, Resistor>) {
            mna.conductance(d.a, d.b, 1 / d.resistance);
          } else if constexpr (std::is_same_v<D, Capacitor>) {
            mna.conductance(d.a, d.b, derivative(at) * d.capacitance);
            given_current(d.a, d.b, capacitor_current(at, d.capacitance, 0, last.voltage, last.current));
          } else if constexpr (std::is_same_v<D, Inductor>) {
            branch_current(d.a, d.b);
            const double impedance = derivative(at) * d.inductance;
            mna.entry(branch, branch, -impedance);
            mna.right(branch, -impedance * last.current - half(at, last.voltage));
          } else if constexpr (std::is_same_v<D, VoltageSource>) {
            branch_current(d.plus, d.minus);
            mna.right(branch, value_at(d.voltage, at.time));
          } else if constexpr (std::is_same_v<D, CurrentSource>) {
            given_current(d.from, d.to, value_at(d.current, at.time));
          } else {
            const double wanted = voltage_between(x, d.anode, d.cathode);
            const double v = limited_voltage(d, wanted, last.voltage);
            limited_ = limited_ || v != wanted;
            last.voltage = v;
            const double g = d.saturation_current / slope_voltage(d) * std::exp(v / slope_voltage(d)) + at.gmin;
            mna.conductance(d.anode, d.cathode, g);
            given_current(d.anode, d.cathode, junction_current(d, v) + at.gmin * v - g * v);
          }
        },
        netlist_.devices()[k]);
  }
}

void Devices::accept(const Mna& mna, const Moment& at, std::span<const double> x) {
  for (std::size_t k = 0; k < memory_.size(); ++k) {
    Memory& last = memory_[k];
    if (const auto* c = std::get_if<Capacitor>(&netlist_.devices()[k])) {
      const double v = voltage_between(x, c->a, c->b);
      last = {v, capacitor_current(at, c->capacitance, v, last.voltage, last.current)};
    } else if (const auto* l = std::get_if<Inductor>(&netlist_.devices()[k])) {
      last = {voltage_between(x, l->a, l->b), x[mna.current_of(k)]};
    }
  }
}

}  // namespace lulab::examples
