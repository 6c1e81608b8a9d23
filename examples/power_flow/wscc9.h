#pragma once
// For tests: the system of nine buses and three machines of Anderson & Fouad (Power System Control and Stability,
// 1977, figures 2.18 and 2.19), known as WSCC 9.

namespace lulab::examples::power_flow {

inline constexpr const char* wscc9 = R"(function mpc = wscc9
% Loads at buses 5, 6 and 8.
mpc.version = '2';
mpc.baseMVA = 100;   % MVA
mpc.bus = [
  1  3    0   0  0  0  1  1  0  16.5  1  1.1  0.9;
  2  2    0   0  0  0  1  1  0  18    1  1.1  0.9;
  3  2    0   0  0  0  1  1  0  13.8  1  1.1  0.9;
  4  1    0   0  0  0  1  1  0  230   1  1.1  0.9;
  5  1  125  50  0  0  1  1  0  230   1  1.1  0.9;
  6  1   90  30  0  0  1  1  0  230   1  1.1  0.9;
  7  1    0   0  0  0  1  1  0  230   1  1.1  0.9;
  8  1  100  35  0  0  1  1  0  230   1  1.1  0.9;
  9  1    0   0  0  0  1  1  0  230   1  1.1  0.9;
];
mpc.gen = [
  1    0  0  Inf  -Inf  1.04   100  1  250  10;
  2  163  0  Inf  -Inf  1.025  100  1  300  10;
  3   85  0  Inf  -Inf  1.025  100  1  270  10;
];
mpc.branch = [
  1  4  0       0.0576  0      250  250  250  0  0  1  -360  360;
  2  7  0       0.0625  0      250  250  250  0  0  1  -360  360;
  3  9  0       0.0586  0      250  250  250  0  0  1  -360  360;
  4  5  0.01    0.085   0.176  250  250  250  0  0  1  -360  360;
  4  6  0.017   0.092   0.158  250  250  250  0  0  1  -360  360;
  5  7  0.032   0.161   0.306  250  250  250  0  0  1  -360  360;
  6  9  0.039   0.17    0.358  250  250  250  0  0  1  -360  360;
  7  8  0.0085  0.072   0.149  250  250  250  0  0  1  -360  360;
  8  9  0.0119  0.1008  0.209  250  250  250  0  0  1  -360  360;
];
mpc.gencost = [ 2 1500 0 3 0.11 5 150; 2 2000 0 3 0.085 1.2 600; 2 3000 0 3 0.1225 1 335 ];
mpc.bus_name = {'One'; 'it''s; two'};
)";

}  // namespace lulab::examples::power_flow
