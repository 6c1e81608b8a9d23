#pragma once
// The equations of a power flow on the device: mismatch, Jacobian and the step of Newton's method, without a copy.

#include <cstdint>

#include "core/simt/device.h"
#include "examples/power_flow/equations.h"

namespace lulab::examples::power_flow {

/// Everything is enqueued on the stream of create() and runs in its order. Two states are kept, so that a step that
/// failed can be taken back.
class DeviceEquations {
 public:
  struct View;  // of the equations, for kernels

  /// equations: may go once the stream was waited for; the stream must outlive this.
  /// Errors    out_of_memory, device_error.
  static Result<DeviceEquations> create(const Equations& equations, simt::Stream& stream);

  /// The current state.   Shapes state: (buses); it may go once the stream was waited for.
  Status upload(const State& state);
  /// The current state, or the one before the last update().   state is valid after stream.wait().
  Status download(State& state) const { return download(states_[current_], state); }
  Status download_previous(State& state) const { return download(states_[1 - current_], state); }
  /// values(), b() and the largest mismatch of the current state. The mismatch is copied to largest_mismatch().
  Status stamp();
  /// The next state, by one step of Newton's method with x(); it becomes the current one.
  Status update();

  const double* values() const { return d_values_.data(); }  // (nnz(J))
  const double* b() const { return d_b_.data(); }            // (unknowns)
  double* x() { return d_x_.data(); }                        // (unknowns)
  /// Of the last stamp(), in p.u.; NaN if any is. Valid after stream.wait().
  double largest_mismatch() const { return largest_.span()[0]; }

 private:
  struct DeviceState {
    simt::DeviceBuffer<double> d_angle, d_magnitude;  // (buses)
  };

  explicit DeviceEquations(simt::Stream& stream) : stream_(&stream) {}
  View view() const;
  Status make_buffers(const Equations& equations);
  Status download(const DeviceState& from, State& state) const;
  Status advance(const double* d_x, const DeviceState& from, const DeviceState& to);

  simt::Stream* stream_;
  std::int32_t buses_ = 0;
  simt::DeviceBuffer<std::int64_t> d_row_ptr_, d_diagonal_;       // (buses + 1), (buses)
  simt::DeviceBuffer<std::int32_t> d_column_;                     // (nnz(Y))
  simt::DeviceBuffer<double> d_g_, d_b_y_;                        // (nnz(Y))
  simt::DeviceBuffer<Places> d_places_;                           // (nnz(Y))
  simt::DeviceBuffer<Power> d_given_;                             // (buses)
  simt::DeviceBuffer<std::int32_t> d_angle_of_, d_magnitude_of_;  // (buses)
  DeviceState states_[2];
  int current_ = 0;
  simt::DeviceBuffer<Phasor> d_phasor_;  // (buses)   of the current state
  simt::DeviceBuffer<double> d_values_, d_b_, d_x_;
  simt::DeviceBuffer<unsigned long long> d_largest_;  // (1)   bits of a magnitude
  simt::HostBuffer<double> largest_;                  // (1)
};

}  // namespace lulab::examples::power_flow
