#pragma once
// Where the systems of a batch have their arrays.

#include <cstdint>

#include "core/device_factors.h"

namespace lulab::sparse_syncfree {

/// As of the system that comes `system` after that of f.   nnz: of As
template <class T>
constexpr DeviceFactorsView<T> factors_of(DeviceFactorsView<T> f, std::int64_t nnz, std::int64_t system) {
  f.values += system * nnz;
  f.failed_column += system;
  f.perturbed += system;
  f.a_max += system;
  return f;
}

}  // namespace lulab::sparse_syncfree
