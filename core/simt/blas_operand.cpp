#include "core/simt/blas_operand.h"

#include <fmt/format.h>

#include <algorithm>

namespace lulab::simt {

Status check_operand(std::string_view operation, const BlasOperand& o) {
  const auto refuse = [&](const std::string& why) {
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{}: {} of {} x {} {}", operation, o.name, o.rows, o.columns, why));
  };
  if (o.rows < 0 || o.columns < 0) return refuse("has a negative size");
  if (o.leading_dimension < std::max<std::int64_t>(1, o.rows))
    return refuse(
        fmt::format("with the leading dimension {}; at least its rows and 1 are needed", o.leading_dimension));
  if (o.rows > 0 && o.columns > 0 && o.data == nullptr) return refuse("is a null pointer");
  return {};
}

}  // namespace lulab::simt
