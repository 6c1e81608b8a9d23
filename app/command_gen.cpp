// lulab gen FAMILY: writes a seeded test matrix to a file.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/table.h"
#include "core/matrix/generate.h"

namespace lulab::app {
namespace {

struct GenArguments {
  std::string family;
  std::string output;
  GenerateOptions options;
};

int list_families(const Context& context) {
  Table table({{"family", Table::Align::left}, {"size", Table::Align::left}, {"what it is", Table::Align::left}});
  nlohmann::json list = nlohmann::json::array();
  for (const GeneratorFamily& family : generator_families()) {
    table.add({std::string(family.name), std::string(family.size), std::string(family.description)});
    list.push_back({{"family", family.name},
                    {"size", family.size},
                    {"description", family.description},
                    {"singular", family.singular}});
  }
  if (context.json)
    print_json(list);
  else
    fmt::print("{}", table.to_string());
  return exit_ok;
}

int run_gen(const Context& context, const GenArguments& arguments) {
  if (arguments.family == "list") return list_families(context);
  if (arguments.output.empty())
    return fail(context,
                Status::error(StatusCode::invalid_argument, "no output file given; add -o A.mtx or -o A.mtx.gz"));
  auto a = generate(arguments.family, arguments.options);
  if (!a.ok()) return fail(context, a.status());
  const std::string command =
      fmt::format("lulab gen {} -n {} --seed {} --degree {} --decades {}", arguments.family, arguments.options.n,
                  arguments.options.seed, arguments.options.degree, arguments.options.decades);
  if (Status status = write_matrix_market(arguments.output, *a, command); !status.ok()) return fail(context, status);
  if (context.json) {
    print_json({{"family", arguments.family},
                {"n", a->n_cols},
                {"nnz", a->nnz()},
                {"seed", arguments.options.seed},
                {"output", arguments.output}});
  } else {
    fmt::print("{}: {}, n = {}, nnz = {}\n", arguments.output, arguments.family, a->n_cols, a->nnz());
  }
  return exit_ok;
}

}  // namespace

void add_gen(CLI::App& app, Context& context) {
  auto* command = add_command(app, "gen", "Generate a test matrix; 'lulab gen list' shows the families",
                              "lulab gen power_grid -n 10000 --seed 7 -o grid.mtx.gz");
  auto arguments = std::make_shared<GenArguments>();
  command->add_option("family", arguments->family, "Family, or 'list'")->required();
  GenerateOptions& options = arguments->options;
  add_integer(*command, "-n", options.n, "Number of rows (some families round it)", 0);
  add_integer<std::uint64_t>(*command, "--seed", options.seed, "Seed of the random positions and values", 0);
  add_integer(*command, "--degree", options.degree, "Off-diagonal entries per row, or half bandwidth", 0);
  add_integer(*command, "--decades", options.decades, "badly_scaled: scales up to 10^±decades", 0);
  command->add_option("-o,--output", arguments->output, "File, plain or .gz");
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_gen(context, *arguments); }; });
}

}  // namespace lulab::app
