// A team of threads stamps what belongs to one bus: its row of Y gives the power that it injects, its two equations and
// all entries of the Jacobian in them. Each value has one writer, so nothing is cleared and nothing is added up in
// memory.                                                                                            stamp_rule.h

#include "examples/power_flow/device_equations.h"

#include <algorithm>

#include "core/magnitude.h"
#include "core/simt/device_tools.h"
#include "core/simt/kernel.h"

namespace lulab::examples::power_flow {

struct DeviceEquations::View {
  std::int32_t buses;
  const std::int64_t *row_ptr, *diagonal;
  const std::int32_t* column;
  const double *g, *b;
  const Places* places;
  const Power* given;
  const std::int32_t *angle_of, *magnitude_of;
};

namespace {

using View = DeviceEquations::View;

constexpr int threads = 128;
constexpr int team = 4;  // threads of a bus; most buses have 3 to 5 entries in their row of Y

/// values: of J, b: given - injected, *largest = max(*largest, |b|), as bits.           Tinney & Hart 1967
/// grid: ceil(team * buses / block)   block: threads   v: (buses)
__global__ void __launch_bounds__(threads)
    stamp_kernel(View e, const Phasor* v, double* values, double* b, unsigned long long* largest) {
  const std::int64_t i = simt::thread_of_grid() / team;  // the bus
  const int member = threadIdx.x % team;
  const bool exists = i < e.buses;
  const Phasor v_i = exists ? v[i] : Phasor{};
  Power part;  // of what the bus injects
  for (std::int64_t k = exists ? e.row_ptr[i] + member : 0; k < (exists ? e.row_ptr[i + 1] : 0); k += team) {
    const std::int32_t j = e.column[k];
    const Power s = power_of_entry(v_i, e.g[k], e.b[k], v[j]);
    part = {part.p + s.p, part.q + s.q};
    if (j != i) put(values, e.places[k], block_beside_diagonal(s));
  }
  const Power injected = {simt::warp_sum<team>(part.p), simt::warp_sum<team>(part.q)};
  unsigned long long bits = 0;
  if (exists && member == 0) {
    const std::int64_t d = e.diagonal[i];
    put(values, e.places[d], block_on_diagonal(power_of_entry(v_i, e.g[d], e.b[d], v_i), injected));
    if (const std::int32_t p = e.angle_of[i]; p >= 0) {
      b[p] = e.given[i].p - injected.p;
      bits = bits_of(b[p]);
    }
    if (const std::int32_t q = e.magnitude_of[i]; q >= 0) {
      b[q] = e.given[i].q - injected.q;
      bits = larger(bits, bits_of(b[q]));
    }
  }
  raise_by_block({largest}, {bits});
}

/// to = from + x and its phasors; x null: to = from. *largest = 0 for stamp_kernel().
/// grid: ceil(buses / block)   block: threads   angles and magnitudes, v: (buses)   x: (unknowns)
__global__ void __launch_bounds__(threads)
    update_kernel(View e, const double* x, const double* angle, const double* magnitude, double* next_angle,
                  double* next_magnitude, Phasor* v, unsigned long long* largest) {
  const std::int64_t i = simt::thread_of_grid();
  if (i == 0) *largest = 0;
  if (i >= e.buses) return;
  double a = angle[i], m = magnitude[i];
  if (x && e.angle_of[i] >= 0) a += x[e.angle_of[i]];
  if (x && e.magnitude_of[i] >= 0) m *= 1 + x[e.magnitude_of[i]];
  next_angle[i] = a;
  next_magnitude[i] = m;
  v[i] = {m * cos(a), m * sin(a)};
}

}  // namespace

Result<DeviceEquations> DeviceEquations::create(const Equations& equations, simt::Stream& stream) {
  DeviceEquations d(stream);
  LULAB_RETURN_IF_ERROR(d.make_buffers(equations));
  return d;
}

Status DeviceEquations::make_buffers(const Equations& e) {
  buses_ = e.buses();
  LULAB_RETURN_IF_ERROR(simt::make(d_row_ptr_, e.y.row_ptr, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_diagonal_, e.y.diagonal, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_column_, e.y.column, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_g_, e.y.g, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_b_y_, e.y.b, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_places_, e.places, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_given_, e.given, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_angle_of_, e.angle_of, *stream_));
  LULAB_RETURN_IF_ERROR(simt::make(d_magnitude_of_, e.magnitude_of, *stream_));
  for (DeviceState& state : states_) {
    LULAB_RETURN_IF_ERROR(simt::make(state.d_angle, buses_));
    LULAB_RETURN_IF_ERROR(simt::make(state.d_magnitude, buses_));
  }
  LULAB_RETURN_IF_ERROR(simt::make(d_phasor_, buses_));
  LULAB_RETURN_IF_ERROR(simt::make(d_values_, e.jacobian.nnz()));
  LULAB_RETURN_IF_ERROR(simt::make(d_b_, e.unknowns()));
  LULAB_RETURN_IF_ERROR(simt::make(d_x_, e.unknowns()));
  LULAB_RETURN_IF_ERROR(simt::make(d_largest_, 1));
  LULAB_ASSIGN_OR_RETURN(largest_, simt::HostBuffer<double>::create(1));
  return {};
}

Status DeviceEquations::upload(const State& state) {
  DeviceState& to = states_[current_];
  LULAB_RETURN_IF_ERROR(to.d_angle.upload(state.angle, *stream_));
  LULAB_RETURN_IF_ERROR(to.d_magnitude.upload(state.magnitude, *stream_));
  return advance(nullptr, to, to);
}

Status DeviceEquations::download(const DeviceState& from, State& state) const {
  state.angle.resize(buses_);
  state.magnitude.resize(buses_);
  LULAB_RETURN_IF_ERROR(from.d_angle.download(state.angle, *stream_));
  return from.d_magnitude.download(state.magnitude, *stream_);
}

Status DeviceEquations::update() {
  LULAB_RETURN_IF_ERROR(advance(d_x_.data(), states_[current_], states_[1 - current_]));
  current_ = 1 - current_;
  return {};
}

DeviceEquations::View DeviceEquations::view() const {
  return {buses_,        d_row_ptr_.data(), d_diagonal_.data(), d_column_.data(),   d_g_.data(),
          d_b_y_.data(), d_places_.data(),  d_given_.data(),    d_angle_of_.data(), d_magnitude_of_.data()};
}

Status DeviceEquations::advance(const double* d_x, const DeviceState& from, const DeviceState& to) {
  return simt::launch(update_kernel, {.grid = simt::blocks_for(buses_, threads), .block = threads}, *stream_, view(),
                      d_x, from.d_angle.data(), from.d_magnitude.data(), to.d_angle.data(), to.d_magnitude.data(),
                      d_phasor_.data(), d_largest_.data());
}

Status DeviceEquations::stamp() {
  LULAB_RETURN_IF_ERROR(simt::launch(stamp_kernel, {.grid = simt::blocks_for(buses_, threads / team), .block = threads},
                                     *stream_, view(), d_phasor_.data(), d_values_.data(), d_b_.data(),
                                     d_largest_.data()));
  return simt::copy_to_host(largest_.span().data(), d_largest_.data(), sizeof(double), *stream_);
}

}  // namespace lulab::examples::power_flow
