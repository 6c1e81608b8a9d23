#pragma once
// Factors as another program would give them: L, U, and orders that count from 1.

#include <cstdint>

#include "core/plan.h"
#include "verify/foreign.h"

namespace lulab::testing {

inline ForeignFactors as_foreign(const Factors<double>& f) {
  ForeignFactors given;
  given.l = extract_l(f);
  given.u = extract_u(f);
  for (const std::int32_t i : f.plan.p) given.p.push_back(i + 1);
  for (const std::int32_t j : f.plan.q) given.q.push_back(j + 1);
  given.r = f.plan.r;
  given.c = f.plan.c;
  return given;
}

}  // namespace lulab::testing
