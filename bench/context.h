#pragma once
// What a reader must know about the machine and the build to believe a time.

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "bench/problem.h"

namespace lulab::bench {

/// gpu, driver, cpu, compilers, git_hash (environment variable LULAB_GIT_HASH, else asked of git, else
/// "unknown"), date, and the device constants behind the bounds.
nlohmann::ordered_json run_context(const DeviceConstants& constants);

/// n, nnz after expansion, nnz of L+U, ordering, hash, levels and chains: what one matrix adds to the context.
nlohmann::ordered_json problem_context(const Problem& problem);

/// "NVIDIA H200" -> "nvidia-h200": lower case, runs of anything but letters and digits become one '-'.
std::string slug(std::string_view name);

/// Name and version of the compiler that built the kernels: nvcc, or the host's in the simulator.
std::string kernel_compiler();

}  // namespace lulab::bench
