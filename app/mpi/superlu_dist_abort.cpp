// Functions of SuperLU_DIST that this program replaces, so that a rank that cannot go on ends the job with a message.
// Apart from superlu_ddefs.h, where versions declare them differently.

#include <cstdlib>
#include <string>

#include "app/mpi/superlu_dist.h"

namespace {

[[noreturn]] void end_job(lulab::StatusCode code, const std::string& message) {
  if (const auto& on_fatal = lulab::app::superlu_dist_on_fatal(); on_fatal)
    on_fatal(lulab::Status::error(code, message));
  std::abort();
}

}  // namespace

// The library finds them only where the program shows them.
#define LULAB_REPLACES extern "C" __attribute__((visibility("default")))

/// The library's own prints to stdout and calls exit().
LULAB_REPLACES void superlu_abort_and_exit_dist(const char* message);
LULAB_REPLACES void superlu_abort_and_exit_dist(const char* message) {
  std::string text = message != nullptr ? message : "";
  while (text.ends_with('\n')) text.pop_back();
  const bool memory = text.find("alloc") != std::string::npos || text.find("emory") != std::string::npos;
  end_job(memory ? lulab::StatusCode::out_of_memory : lulab::StatusCode::device_error, "SuperLU_DIST: " + text);
}

/// Not every caller of the library's own looks at the result.
LULAB_REPLACES void* superlu_malloc_dist(std::size_t bytes);
LULAB_REPLACES void* superlu_malloc_dist(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr && bytes > 0)
    end_job(lulab::StatusCode::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes of SuperLU_DIST");
  return memory;
}
LULAB_REPLACES void superlu_free_dist(void* memory);
LULAB_REPLACES void superlu_free_dist(void* memory) { std::free(memory); }
