#pragma once
// How many memory accesses the code of a lab makes, where it is compiled to be counted (count_accesses.cpp).

#include <cstdint>

namespace lulab::labs {

struct Accesses {
  std::uint64_t all = 0;                // loads, stores and atomics; 0 where nothing is compiled to be counted
  std::uint64_t of_longest_thread = 0;  // of the simulated thread with the most: a lower limit of the critical path
};

#ifdef __SANITIZE_THREAD__  // there the calls belong to the sanitizer
inline void start_counting() {}
inline Accesses stop_counting() { return {}; }
#else
void start_counting();
/// What was counted since start_counting().
Accesses stop_counting();
#endif

}  // namespace lulab::labs
