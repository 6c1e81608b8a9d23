#pragma once
// What both machines' Blas check before they compute.

#include <cstdint>
#include <string_view>

#include "core/status.h"

namespace lulab::simt {

/// A matrix as Blas is given it.
struct BlasOperand {
  std::string_view name;  // "A"
  std::int64_t rows, columns;
  const void* data;
  std::int64_t leading_dimension;
};

/// Errors    invalid_argument: a negative size, a leading dimension below the rows, no memory behind a matrix that is
///           not empty.
Status check_operand(std::string_view operation, const BlasOperand& operand);

}  // namespace lulab::simt
