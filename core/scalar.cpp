#include "core/scalar.h"

#include <string>

namespace lulab {

std::string_view to_string(Scalar scalar) { return scalar == Scalar::f32 ? "f32" : "f64"; }

Result<Scalar> parse_scalar(std::string_view text) {
  for (const Scalar scalar : {Scalar::f32, Scalar::f64})
    if (text == to_string(scalar)) return scalar;
  return Status::error(StatusCode::invalid_argument, "no scalar type '" + std::string(text) + "'; there are: f32 f64");
}

}  // namespace lulab
