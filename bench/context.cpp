#include "bench/context.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <thread>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/simt/device.h"
#include "driver/calibration.h"
#include "model/machine_speed.h"

namespace lulab::bench {
namespace {

std::string git_hash() {
  if (const char* given = std::getenv("LULAB_GIT_HASH"); given != nullptr && *given != '\0') return given;
  const std::unique_ptr<FILE, int (*)(FILE*)> git(
      popen("git describe --always --dirty --abbrev=40 --exclude '*' 2>/dev/null", "r"), pclose);
  char line[128] = {};
  if (!git || std::fgets(line, sizeof line, git.get()) == nullptr) return "unknown";
  std::string hash = line;
  while (!hash.empty() && std::isspace(static_cast<unsigned char>(hash.back()))) hash.pop_back();
  return hash.empty() ? "unknown" : hash;
}

}  // namespace

nlohmann::ordered_json run_context(const DeviceConstants& constants) {
  nlohmann::ordered_json context;
  context["date"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  if (const auto device = simt::device_properties(); device.ok()) {
    context["gpu"] = device->name;
    context["driver"] = device->driver;
    context["compute_capability"] = device->compute_capability;
    context["multiprocessors"] = device->sm_count;
  } else {
    context["gpu"] = device.status().to_string();
  }
  context["simulator"] = simt::machine() == simt::Machine::simulator;
  context["cpu"] = cpu_model();
  context["num_cpus"] = std::thread::hardware_concurrency();
  // Measured now, if it has to be, and not inside of a timing.
  const bool chooses = simt::machine() == simt::Machine::gpu && simt::device_properties().ok();
  context["machine_speed"] = to_text(machine_calibration().find(chooses).speed);
  context["compiler"] = fmt::format("g++ {}", __VERSION__);
  context["kernel_compiler"] = kernel_compiler();
  context["git_hash"] = git_hash();
  context["statistic"] = "median";
  context["device_constants"] = nlohmann::ordered_json::parse(to_json(constants));
  return context;
}

nlohmann::ordered_json problem_context(const Problem& problem) {
  const Limits& l = problem.limits_f64;
  nlohmann::ordered_json facts = {{"n", problem.a.n_rows},
                                  {"nnz", problem.a.nnz()},
                                  {"nnz_lu", problem.analysis.filled.nnz()},
                                  {"order", problem.analysis.plan.order},
                                  {"hash", fmt::format("{:016x}", problem.hash)},
                                  {"flops", l.flops},
                                  {"levels", l.levels},
                                  {"walking_chain", l.walking_chain},
                                  {"fine_chain", l.fine_chain}};
  if (!problem.sequence.empty()) {
    facts["steps_of_sequence"] = problem.sequence.size();
    facts["hash_of_sequence"] = fmt::format("{:016x}", sequence_hash(problem.sequence));
  }
  return facts;
}

std::string slug(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out;
}

}  // namespace lulab::bench
