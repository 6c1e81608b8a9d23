#pragma once
// The scalar types of lulab. Everything numeric is a template over T; this file says for which T it is compiled.

#include <string_view>
#include <type_traits>

#include "core/status.h"

namespace lulab {

/// A scalar type by name, where a program chooses it at run time.
enum class Scalar { f32, f64 };

std::string_view to_string(Scalar scalar);
/// Errors    invalid_argument listing the types there are.
Result<Scalar> parse_scalar(std::string_view text);

template <class T>
constexpr Scalar scalar_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  return std::is_same_v<T, float> ? Scalar::f32 : Scalar::f64;
}

}  // namespace lulab

/// Calls a macro for each scalar type: explicit instantiations of templates whose definitions stand in a .cpp or .cu
/// file.
#define LULAB_FOR_EACH_SCALAR(instantiate) instantiate(float) instantiate(double)
