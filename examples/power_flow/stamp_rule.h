#pragma once
// The formulas of an entry of the Jacobian. One rule for the host and for kernels: the functions are constexpr, which
// nvcc compiles for the device too.

#include <cstdint>

namespace lulab::examples::power_flow {

struct Phasor {
  double re = 0, im = 0;  // |V| cos, |V| sin of the angle
};

/// Power in p.u.
struct Power {
  double p = 0, q = 0;
};

/// V_i conj(y V_j) with y = g + j b: what bus i injects because of bus j. Their sum over j is what bus i injects.
constexpr Power power_of_entry(Phasor v_i, double g, double b, Phasor v_j) {
  const double re = g * v_j.re - b * v_j.im, im = g * v_j.im + b * v_j.re;  // y V_j
  return {v_i.re * re + v_i.im * im, v_i.im * re - v_i.re * im};
}

/// The derivatives of P and Q of bus i with respect to the angle of bus j and to the logarithm of its magnitude.
struct Block {
  double p_angle, p_magnitude, q_angle, q_magnitude;
};

/// j != i.   s: power_of_entry().   Source  Tinney & Hart 1967, appendix: H = L, N = -J.
constexpr Block block_beside_diagonal(Power s) { return {s.q, s.p, -s.p, s.q}; }
/// j = i.   s: power_of_entry() of the diagonal entry; injected: the sum of the whole row.   Source  ibid.
constexpr Block block_on_diagonal(Power s, Power injected) {
  return {s.q - injected.q, s.p + injected.p, injected.p - s.p, s.q + injected.q};
}

/// Where a block goes in the values of the Jacobian; -1: that bus has no such equation or unknown.
struct Places {
  std::int64_t p_angle = -1, p_magnitude = -1, q_angle = -1, q_magnitude = -1;
};

constexpr void put(double* values, const Places& at, const Block& block) {
  if (at.p_angle >= 0) values[at.p_angle] = block.p_angle;
  if (at.p_magnitude >= 0) values[at.p_magnitude] = block.p_magnitude;
  if (at.q_angle >= 0) values[at.q_angle] = block.q_angle;
  if (at.q_magnitude >= 0) values[at.q_magnitude] = block.q_magnitude;
}

}  // namespace lulab::examples::power_flow
