#include "preprocess/preprocess.h"

#include <array>
#include <cmath>
#include <new>
#include <numbers>

#include <fmt/format.h>

#include "preprocess/btf.h"
#include "preprocess/checks.h"
#include "preprocess/matching.h"
#include "preprocess/ordering.h"

namespace lulab {

namespace {

constexpr std::array all_orders = {Order::automatic, Order::natural, Order::amd, Order::colamd, Order::metis};

constexpr std::string_view btf_prefix = "btf+";

using Ordering = Result<Permutation> (*)(CscPatternView);

Ordering ordering(Order order) {
  switch (order) {
    case Order::natural: return [](CscPatternView b) -> Result<Permutation> { return identity_permutation(b.n_cols); };
    case Order::colamd: return colamd_order;
    case Order::metis: return metis_order;
    case Order::automatic:
    case Order::amd: break;
  }
  return amd_order;
}

Result<Permutation> order_columns(CscPatternView b, Order order, bool blocks) {
  if (!blocks) return ordering(order)(b);
  LULAB_ASSIGN_OR_RETURN(const auto components, strong_components(b));
  return block_order(b, components, ordering(order));
}

}  // namespace

std::string_view to_string(Order order) {
  switch (order) {
    case Order::automatic: return "auto";
    case Order::natural: return "natural";
    case Order::amd: return "amd";
    case Order::colamd: return "colamd";
    case Order::metis: return "metis";
  }
  return "unknown";
}

Result<Order> parse_order(std::string_view name) {
  std::string known;
  for (const Order order : all_orders) {
    if (name == to_string(order)) return order;
    known += (known.empty() ? "" : ", ") + std::string(to_string(order));
  }
  return Status::error(StatusCode::invalid_argument, fmt::format("unknown order '{}'; known: {}", name, known));
}

Result<PreprocessOptions> with_order(PreprocessOptions options, std::string_view name) {
  options.blocks = name.starts_with(btf_prefix);
  const auto order = parse_order(options.blocks ? name.substr(btf_prefix.size()) : name);
  if (!order.ok())
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{}, each also with {} before it", order.status().message, btf_prefix));
  options.order = *order;
  return options;
}

double nearest_power_of_two(double x) {
  int exponent = 0;
  const double mantissa = std::frexp(x, &exponent);  // in [½, 1)
  return std::ldexp(1.0, mantissa < std::numbers::sqrt2 / 2 ? exponent - 1 : exponent);
}

Result<Plan> preprocess(const CscView<double>& a, const PreprocessOptions& options) try {
  LULAB_RETURN_IF_ERROR(checks::square(a, "preprocessing"));
  LULAB_RETURN_IF_ERROR(checks::finite(a));
  const Permutation in_place = identity_permutation(a.n_cols);
  Permutation row_of_column;
  Plan plan;
  if (options.matching) {
    LULAB_ASSIGN_OR_RETURN(auto matching, maximum_product_matching(a));
    row_of_column = std::move(matching.row_of_column);
    if (options.scaling) {
      plan.r = std::move(matching.r);
      plan.c = std::move(matching.c);
      if (options.power_of_two) {
        for (double& x : plan.r) x = nearest_power_of_two(x);
        for (double& x : plan.c) x = nearest_power_of_two(x);
      }
    }
  }
  for (auto* scales : {&plan.r, &plan.c}) scales->resize(a.n_cols, 1.0);  // where there are none
  const Order order = options.order == Order::automatic ? Order::amd : options.order;
  CscPattern moved;
  CscPatternView matched = a;
  if (!options.matching)
    row_of_column = in_place;
  else if (row_of_column != in_place)
    matched = moved = permute(CscPatternView(a), row_of_column, in_place);
  LULAB_ASSIGN_OR_RETURN(plan.q, order_columns(matched, order, options.blocks));
  plan.p = compose(row_of_column, plan.q);
  plan.order = fmt::format("{}{}", options.blocks ? btf_prefix : "", to_string(order));
  return plan;
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, fmt::format("preprocessing {} entries needs more memory", a.nnz()));
}

}  // namespace lulab
