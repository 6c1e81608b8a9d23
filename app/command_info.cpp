// lulab info A.mtx: size, structure and values of a matrix; fill, flops and levels with each ordering.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/progress.h"
#include "app/table.h"
#include "driver/analyze.h"
#include "preprocess/btf.h"
#include "preprocess/matching.h"
#include "symbolic/fill.h"
#include "symbolic/levels.h"

namespace lulab::app {
namespace {

struct Facts {
  std::int64_t explicit_zeros = 0;
  std::int64_t missing_diagonal = 0;  // not stored
  std::int64_t zero_diagonal = 0;     // stored, but 0
  std::int64_t mirrored = 0;          // off-diagonal entries (i,j) whose (j,i) is stored too
  std::int64_t off_diagonal = 0;
  double smallest = std::numeric_limits<double>::infinity();  // of the nonzero magnitudes
  double largest = 0;

  double pattern_symmetry() const {
    return off_diagonal > 0 ? static_cast<double>(mirrored) / static_cast<double>(off_diagonal) : 1;
  }
};

Facts facts_of(const CscMatrix<double>& a) {
  Facts facts;
  const CscPattern at = transpose(a.CscPattern::view());
  for (const double v : a.values) {
    if (v == 0)
      ++facts.explicit_zeros;
    else
      facts.smallest = std::min(facts.smallest, std::abs(v));
    facts.largest = std::max(facts.largest, std::abs(v));
  }
  for (std::int32_t j = 0; j < std::min(a.n_rows, a.n_cols); ++j) {
    bool has_diagonal = false;
    auto t = at.col_ptr[j];
    for (auto s = a.col_ptr[j]; s < a.col_ptr[j + 1]; ++s) {
      const std::int32_t i = a.row_idx[s];
      if (i == j) {
        has_diagonal = true;
        if (a.values[s] == 0) ++facts.zero_diagonal;
        continue;
      }
      while (t < at.col_ptr[j + 1] && at.row_idx[t] < i) ++t;
      if (t < at.col_ptr[j + 1] && at.row_idx[t] == i) ++facts.mirrored;
    }
    if (!has_diagonal) ++facts.missing_diagonal;
  }
  facts.off_diagonal = a.nnz() - (std::min(a.n_rows, a.n_cols) - facts.missing_diagonal);
  return facts;
}

/// Only a nonzero can be a pivot: the structural rank is that of the nonzeros.
CscPattern nonzero_pattern(const CscMatrix<double>& a) {
  CscPattern nonzeros;
  nonzeros.n_rows = a.n_rows;
  nonzeros.n_cols = a.n_cols;
  for (std::int32_t j = 0; j < a.n_cols; ++j) {
    for (auto s = a.col_ptr[j]; s < a.col_ptr[j + 1]; ++s)
      if (a.values[s] != 0) nonzeros.row_idx.push_back(a.row_idx[s]);
    nonzeros.col_ptr.push_back(nonzeros.nnz());
  }
  return nonzeros;
}

struct InfoArguments {
  std::string matrix;
  std::vector<std::string> orders;
};

// The natural order can fill completely: above this size it is analyzed only on request.
constexpr std::int32_t max_natural_n = 5000;

int run_info(const Context& context, const InfoArguments& arguments) {
  std::vector<PreprocessOptions> orders;
  for (const Order order : {Order::natural, Order::amd, Order::colamd, Order::metis, Order::nd})
    orders.push_back({.order = order});
  if (!arguments.orders.empty()) {
    orders.clear();
    for (const std::string& name : arguments.orders) {
      auto order = with_order({}, name);
      if (!order.ok()) return fail(context, order.status());
      orders.push_back(*order);
    }
  }
  auto input = load_matrix(arguments.matrix, Needs::anything);
  if (!input.ok()) return fail(context, input.status());
  const CscMatrix<double>& a = input->a();
  if (arguments.orders.empty() && input->n() > max_natural_n) orders.erase(orders.begin());
  Progress progress;
  progress.show("examining " + input->name);
  const Facts facts = facts_of(a);
  const auto matched = maximum_matching(nonzero_pattern(a).view());
  const auto structural_rank = std::count_if(matched.begin(), matched.end(), [](std::int32_t row) { return row >= 0; });
  const bool square = a.n_rows == a.n_cols, has_values = !input->file.pattern_only;
  nlohmann::json j = {{"matrix", input->name},
                      {"n_rows", a.n_rows},
                      {"n_cols", a.n_cols},
                      {"nnz", a.nnz()},
                      {"field", to_string(input->file.field)},
                      {"symmetry", to_string(input->file.symmetry)},
                      {"stored_entries", input->file.stored_entries},
                      {"duplicates", input->file.duplicates},
                      {"structural_rank", structural_rank},
                      {"orderings", nlohmann::json::array()}};
  std::string text = fmt::format("{}\n", input->name);
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<18}{}\n", name, value);
  };
  line("size", fmt::format("{} x {}, {} entries", a.n_rows, a.n_cols, a.nnz()));
  line("file",
       fmt::format("{} {}, {} stored entries{}", to_string(input->file.field), to_string(input->file.symmetry),
                   input->file.stored_entries,
                   input->file.duplicates > 0 ? fmt::format(", {} duplicates summed", input->file.duplicates) : ""));
  if (square) {
    line("pattern symmetry", fmt::format("{:.2f}", facts.pattern_symmetry()));
    line("diagonal", fmt::format("{} entries missing, {} stored zeros", facts.missing_diagonal, facts.zero_diagonal));
    j["pattern_symmetry"] = facts.pattern_symmetry();
    j["missing_diagonal"] = facts.missing_diagonal;
  }
  if (has_values) {
    j["explicit_zeros"] = facts.explicit_zeros;
    j["zero_diagonal"] = facts.zero_diagonal;
    if (facts.largest > 0) {
      line("magnitudes",
           fmt::format("{:.3g} to {:.3g}, {} explicit zeros", facts.smallest, facts.largest, facts.explicit_zeros));
      j["smallest"] = facts.smallest;
      j["largest"] = facts.largest;
    } else if (a.nnz() > 0) {
      line("magnitudes", "every entry is 0");
    }
  } else {
    line("magnitudes", "none: positions only");
  }
  line("structural rank",
       fmt::format("{}{}", structural_rank,
                   structural_rank < a.n_cols ? fmt::format(" of {}: structurally singular", a.n_cols) : ""));

  Status status;
  if (square) {
    if (auto blocks = block_triangular_form(a.CscPattern::view()); blocks.ok()) {
      std::int32_t largest = 0;
      for (std::int32_t b = 0; b < blocks->n_blocks(); ++b)
        largest = std::max(largest, blocks->block_ptr[b + 1] - blocks->block_ptr[b]);
      line("BTF", fmt::format("{} diagonal blocks, the largest {} x {}", blocks->n_blocks(), largest, largest));
      j["btf_blocks"] = blocks->n_blocks();
      j["btf_largest_block"] = largest;
      Table table({{"ordering", Table::Align::left}, {"nnz(L+U)"}, {"fill"}, {"flops"}, {"levels"}});
      for (const PreprocessOptions& order : orders) {
        progress.show(fmt::format("ordering {} with {}", input->name, to_string(order.order)));
        auto analysis = analyze(a, order);
        if (!analysis.ok()) {
          status = analysis.status();
          break;
        }
        const double fill =
            a.nnz() > 0 ? static_cast<double>(analysis->filled.nnz()) / static_cast<double>(a.nnz()) : 1;
        const double flops = factor_flops(analysis->filled);
        const std::int32_t n_levels = levels_left_looking(analysis->filled).n_levels();
        table.add({analysis->plan.order, fmt::format("{}", analysis->filled.nnz()), fmt::format("{:.2f}", fill),
                   short_count(flops), fmt::format("{}", n_levels)});
        j["orderings"].push_back({{"order", analysis->plan.order},
                                  {"nnz_lu", analysis->filled.nnz()},
                                  {"fill", fill},
                                  {"flops", flops},
                                  {"levels", n_levels}});
      }
      if (!j["orderings"].empty()) text += table.to_string();
    } else {
      status = blocks.status();
    }
  } else {
    line("not square", "only square matrices can be factored");
  }
  progress.wipe();
  if (!status.ok()) j["status"] = to_json(status = concerning(input->path, status));
  if (context.json)
    print_json(j);
  else
    fmt::print("{}", text);
  std::fflush(stdout);
  if (!status.ok() && !context.json) fail(context, status);
  return exit_code(status);
}

}  // namespace

void add_info(CLI::App& app, Context& context) {
  auto* command = add_command(app, "info", "Show size, structure and values; fill, flops and levels of each ordering",
                              "lulab info A.mtx.gz --order amd --order metis");
  auto arguments = std::make_shared<InfoArguments>();
  command->add_option("matrix", arguments->matrix, "Matrix Market file, plain or .gz")->required();
  command
      ->add_option(
          "--order", arguments->orders,
          fmt::format(
              "Only this ordering (also btf+amd, ...); may be repeated (natural is skipped for n > {} unless named)",
              max_natural_n))
      ->allow_extra_args(false);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_info(context, *arguments); }; });
}

}  // namespace lulab::app
