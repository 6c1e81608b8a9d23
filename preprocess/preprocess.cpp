#include "preprocess/preprocess.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "preprocess/btf.h"
#include "preprocess/checks.h"
#include "preprocess/matching.h"
#include "preprocess/ordering.h"

namespace lulab {

namespace {

constexpr std::array all_orders = {Order::automatic, Order::natural, Order::amd,  Order::colamd,
                                   Order::metis,     Order::nd,      Order::given};

constexpr std::string_view btf_prefix = "btf+";

using Ordering = Result<Permutation> (*)(CscPatternView);

Ordering ordering(const PreprocessOptions& options) {
  switch (options.order) {
    case Order::natural: return [](CscPatternView b) -> Result<Permutation> { return identity_permutation(b.n_cols); };
    case Order::colamd: return colamd_order;
    case Order::metis: return metis_order;
    case Order::nd: return nd_order;
    case Order::automatic:
    case Order::amd:
    case Order::given: break;
  }
  return amd_order;
}

Status no_memory(CscPatternView a) {
  return Status::error(StatusCode::out_of_memory, fmt::format("preprocessing {} entries needs more memory", a.nnz()));
}

}  // namespace

std::string_view to_string(Order order) {
  switch (order) {
    case Order::automatic: return "auto";
    case Order::natural: return "natural";
    case Order::amd: return "amd";
    case Order::colamd: return "colamd";
    case Order::metis: return "metis";
    case Order::nd: return "nd";
    case Order::given: return "given";
  }
  return "unknown";
}

Result<Order> parse_order(std::string_view name) {
  std::string known;
  for (const Order order : all_orders) {
    if (name == to_string(order)) return order;
    if (order != Order::given) known += (known.empty() ? "" : ", ") + std::string(to_string(order));
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

PreprocessOptions with_column_order(PreprocessOptions options, Permutation columns) {
  options.order = Order::given;
  options.blocks = false;
  options.given = std::move(columns);
  return options;
}

std::string order_name(const PreprocessOptions& options) {
  return fmt::format("{}{}", options.blocks ? btf_prefix : "",
                     to_string(options.order == Order::automatic ? Order::amd : options.order));
}

void MatchedRows::move(CscPatternView a) {
  moved = {};
  if (!std::ranges::is_sorted(row_of_column)) moved = permute(a, row_of_column, identity_permutation(a.n_cols));
}

Plan MatchedRows::plan(Permutation vertices, std::string order) && {
  Permutation p = compose(row_of_column, vertices);
  return {std::move(p), std::move(vertices), std::move(r), std::move(c), std::move(order)};
}

Result<MatchedRows> match_rows(const CscView<double>& a, const PreprocessOptions& options,
                               std::span<const std::int32_t> preferred) try {
  MatchedRows rows;
  if (options.matching) {  // which checks A
    LULAB_ASSIGN_OR_RETURN(auto matching,
                           options.power_of_two ? power_of_two_matching(a, preferred) : maximum_product_matching(a));
    rows.row_of_column = std::move(matching.row_of_column);
    rows.move(a);
    if (options.scaling) {
      rows.r = std::move(matching.r);
      rows.c = std::move(matching.c);
    }
  } else {
    LULAB_RETURN_IF_ERROR(checks::square(a, "preprocessing"));
    LULAB_RETURN_IF_ERROR(checks::finite(a));
    rows.row_of_column = identity_permutation(a.n_cols);
  }
  for (auto* scales : {&rows.r, &rows.c}) scales->resize(a.n_cols, 1.0);  // where there are none
  return rows;
} catch (const std::bad_alloc&) {
  return no_memory(a);
}

static Result<Permutation> given_order(std::int32_t n, const PreprocessOptions& options) {
  const auto refuse = [](std::string why) { return Status::error(StatusCode::invalid_argument, std::move(why)); };
  const std::int64_t size = std::ssize(options.given);
  if (options.blocks) return refuse("a given order of the columns is not split into blocks; leave out one of the two");
  if (size != n) return refuse(fmt::format("the given order has {} columns, but A has n = {}", size, n));
  const std::int64_t wrong = first_not_permuted(options.given);
  if (wrong < 0) return options.given;
  const std::int32_t column = options.given[wrong];
  const bool is_there = column >= 0 && column < n;
  return refuse(fmt::format("position {} of the given order has column {}{} (counted from 0)", wrong, column,
                            is_there ? " a second time" : fmt::format("; A has columns 0 to {}", n - 1)));
}

Result<Permutation> order_vertices(CscPatternView graph, const PreprocessOptions& options) {
  if (options.order == Order::given) return given_order(graph.n_cols, options);
  const Ordering inside = ordering(options);
  if (!options.blocks) return inside(graph);
  LULAB_ASSIGN_OR_RETURN(const auto components, strong_components(graph));
  return block_order(graph, components, inside);
}

Result<Plan> preprocess(const CscView<double>& a, const PreprocessOptions& options) try {
  LULAB_ASSIGN_OR_RETURN(auto rows, match_rows(a, options));
  const std::string order = order_name(options);
  LULAB_ASSIGN_OR_RETURN(auto vertices, order_vertices(rows.graph(a), options));
  return std::move(rows).plan(std::move(vertices), order);
} catch (const std::bad_alloc&) {
  return no_memory(a);
}

}  // namespace lulab
