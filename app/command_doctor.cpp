// lulab doctor: shows the build, the device and the library versions.

#include <amd.h>
#include <fmt/format.h>
#include <metis.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include "app/input.h"
#include "app/table.h"
#include "core/matrix/shared_matrices.h"
#include "driver/calibration.h"
#include "preprocess/dissection.h"

namespace lulab::app {
namespace {

int run_doctor(const Context& context) {
  const bool gpu = simt::machine() == simt::Machine::gpu;
  nlohmann::json j;
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    j[name] = value;
    text += fmt::format("  {:<14}{}\n", name, value);
  };
  line("version", LULAB_VERSION);
  line("build", gpu ? "GPU (CUDA)" : "host simulator");
  line("compiler", __VERSION__);
  line("SuiteSparse",
       fmt::format("{}.{}.{}", SUITESPARSE_MAIN_VERSION, SUITESPARSE_SUB_VERSION, SUITESPARSE_SUBSUB_VERSION));
  line("METIS", fmt::format("{}.{}.{}", METIS_VER_MAJOR, METIS_VER_MINOR, METIS_VER_SUBMINOR));
  line("SCOTCH", scotch_version());
  line("zlib", zlibVersion());
  line("SuperLU_DIST",
       context.distributed_lu ? "here: rung 90_superlu_dist" : "not found (optional: libsuperlu-dist-dev)");
  line("fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100));
  line("rungs", fmt::format("{}", all_rungs().size()));
  line("matrices",
       shared_matrices_folder().value_or("collection not found (optional; set LULAB_MATRICES to its folder)"));
  auto device = simt::device_properties();
  line("calibration",
       gpu && device.ok() ? machine_calibration().find(false).source : "not needed: auto has no GPU to choose");
  if (device.ok()) {
    line("device", device->name);
    if (gpu) {
      line("driver", device->driver);
      line("capability", fmt::format("{}.{}", device->compute_capability / 10, device->compute_capability % 10));
      line("memory", short_count(static_cast<double>(device->memory_bytes)) + "B");
      line("SMs", fmt::format("{}", device->sm_count));
    }
  }
  if (!context.json)
    fmt::print("{}", text);
  else if (device.ok())
    print_json(j);
  return device.ok() ? exit_ok : fail(context, device.status());
}

}  // namespace

void add_doctor(CLI::App& app, Context& context) {
  auto* command = add_command(app, "doctor", "Show the build, the device and the library versions", "lulab doctor");
  command->callback([&context] { context.run = [&context] { return run_doctor(context); }; });
}

}  // namespace lulab::app
