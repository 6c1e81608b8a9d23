// lulab calibrate: measures the device constants that lulab limits uses, or the speeds by which `auto` chooses.

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/command.h"
#include "app/progress.h"
#include "app/table.h"
#include "core/simt/device.h"
#include "driver/calibration.h"
#include "model/calibrate.h"
#include "model/warp_model.h"

namespace lulab::app {
namespace {

struct CalibrateArguments {
  std::string output;
  bool for_auto = false, show = false;
};

/// What `auto` compares CPU and GPU by.
int run_calibrate_auto(const Context& context, bool measures) {
  const auto found = measures ? machine_calibration().renew() : Result<Calibration>(machine_calibration().find(false));
  if (!found.ok()) return fail(context, found.status());
  const MachineSpeed& speed = found->speed;
  const bool chooses = simt::machine() == simt::Machine::gpu && simt::device_properties().ok();
  if (context.json) {
    print_json({{"machine", machine_key()},
                {"source", found->source},
                {"known", found->is_known},
                {"chooses", chooses},
                {"cpu", speed.cpu},
                {"gpu_hops", speed.gpu_hops},
                {"gpu_blocks", speed.gpu_blocks},
                {"gpu_multiply_adds", speed.gpu_multiply_adds}});
    return exit_ok;
  }
  fmt::print("{}\n  {}\n", machine_key(), found->source);
  fmt::print("  times of a CPU core   {:.2f} of those predicted\n", speed.cpu);
  fmt::print("  times of the GPU      hops {:.2f}, work of its blocks {:.2f}, multiply-adds {:.2f} of an H200's\n",
             speed.gpu_hops, speed.gpu_blocks, speed.gpu_multiply_adds);
  if (!chooses) fmt::print("  there is no GPU: auto takes the CPU, whatever these are\n");
  return exit_ok;
}

int run_calibrate(const Context& context, const CalibrateArguments& arguments) {
  if (arguments.for_auto || arguments.show) return run_calibrate_auto(context, arguments.for_auto);
  const std::string& output = arguments.output;
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
  auto arguments = std::make_shared<CalibrateArguments>();
  auto* output = command->add_option("-o,--output", arguments->output, "File for the constants (JSON)");
  auto* for_auto = command->add_flag("--auto", arguments->for_auto,
                                     "Measure, in a few ms, only what auto compares CPU and GPU by, and keep it in "
                                     "the cache folder or the file that LULAB_CALIBRATION names");
  command->add_flag("--show", arguments->show, "Show what auto goes by and where it comes from; measures nothing")
      ->excludes(for_auto)
      ->excludes(output);
  for_auto->excludes(output);
  command->callback(
      [&context, arguments] { context.run = [&context, arguments] { return run_calibrate(context, *arguments); }; });
}

}  // namespace lulab::app
