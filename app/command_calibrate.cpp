// lulab calibrate: measures the device constants that lulab limits uses.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/progress.h"
#include "app/table.h"
#include "model/calibrate.h"
#include "model/warp_model.h"

namespace lulab::app {
namespace {

int run_calibrate(const Context& context, const std::string& output) {
  Progress progress;
  auto constants = calibrate([&](std::string_view what) { progress.show(what); });
  progress.wipe();
  if (!constants.ok()) return fail(context, constants.status());
  if (!output.empty())
    if (Status status = save_constants(*constants, output); !status.ok()) return fail(context, status);
  if (context.json) {
    print_json(nlohmann::json::parse(lulab::to_json(*constants)));
    return exit_ok;
  }
  fmt::print("{}{}\n", constants->device, constants->measured ? "" : "  (not measured on this machine)");
  fmt::print("  copy bandwidth        {}B/s\n", short_count(constants->bandwidth_bytes_per_s));
  fmt::print("  FP64, FP32            {}flop/s, {}flop/s\n", short_count(constants->flops_f64_per_s),
             short_count(constants->flops_f32_per_s));
  fmt::print("  hop through a flag    {:.2f} us, with a dependent value {:.2f} us\n", constants->flag_hop_us,
             constants->hop_us);
  fmt::print("  kernel on a stream    {:.2f} us, in a graph {:.2f} us\n", constants->launch_us,
             constants->graph_node_us);
  fmt::print("  grid barrier          {:.2f} us\n", constants->grid_sync_us);
  const MemoryConstants& memory = constants->memory;
  fmt::print("  latencies             L2 {:.0f}, memory {:.0f} cycles at {:.2f} GHz\n", memory.cache_cycle,
             memory.global_cycle, memory.clock_ghz);
  fmt::print("  update loop           cycles per step, and the miss rate that eq. 1 of Chen et al. gives for them\n");
  const MissRates miss_rates(memory);
  for (const MemoryPeriod& p : memory.periods)
    fmt::print("    stride {:>2}, {:>2} warps  {:>6.0f}  {:.2f}\n", p.stride, p.warps_per_sm, p.cycles,
               miss_rates.at(p.stride, p.warps_per_sm));
  if (!output.empty()) fmt::print("  written               {}\n", output);
  return exit_ok;
}

}  // namespace

void add_calibrate(CLI::App& app, Context& context) {
  auto* command = add_command(app, "calibrate", "Measure the device: bandwidth, arithmetic, cost of a dependency hop",
                              "lulab calibrate -o constants.json && lulab limits A.mtx --constants constants.json");
  auto output = std::make_shared<std::string>();
  command->add_option("-o,--output", *output, "File for the constants (JSON)");
  command->callback(
      [&context, output] { context.run = [&context, output] { return run_calibrate(context, *output); }; });
}

}  // namespace lulab::app
