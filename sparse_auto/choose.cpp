#include "sparse_auto/choose.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "symbolic/panel_costs.h"
#include "symbolic/panel_costs_cpu.h"

namespace lulab::sparse_auto {
namespace {

// bench/results/nvidia-h200/leftlooking.json: end_to_end takes so much longer than refactor on the smallest matrices.
constexpr double transfer_us = 25;

std::string why_no_gpu() {
  if (simt::machine() == simt::Machine::simulator) return "this build has no GPU, only its simulator";
  const auto device = simt::device_properties();
  return device.ok() ? "" : "no GPU answers (" + device.status().message + ")";
}

std::string predicted(const Rung& rung, double us) { return fmt::format("{:.3g} ms by {}", 1e-3 * us, rung.facts.id); }

}  // namespace

Prospects prospects(const FilledPattern& filled, int threads) {
  const int cores = threads > 0 ? threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return {cpu_costs(filled, cores).predicted_us, panel_costs(filled).predicted_us + transfer_us, why_no_gpu()};
}

Choice choose(const Candidates& candidates, const Prospects& p) {
  const std::string cpu = predicted(*candidates.cpu, p.cpu_us), gpu = predicted(*candidates.gpu, p.gpu_us);
  if (!p.no_gpu.empty())
    return {candidates.cpu,
            fmt::format("{}; a refactorization is predicted to take {}, on an H200 {}", p.no_gpu, cpu, gpu)};
  const bool on_gpu = p.gpu_us < p.cpu_us;
  return {on_gpu ? candidates.gpu : candidates.cpu,
          fmt::format("a refactorization is predicted to take {}, {}", on_gpu ? gpu : cpu, on_gpu ? cpu : gpu)};
}

Choice fall_back(const Candidates& candidates, const Prospects& p, const Status& gpu_failed) {
  return {candidates.cpu,
          fmt::format("the GPU could not be prepared ({}), where a refactorization is predicted to take {}; {}",
                      gpu_failed.message, predicted(*candidates.gpu, p.gpu_us), predicted(*candidates.cpu, p.cpu_us))};
}

}  // namespace lulab::sparse_auto
