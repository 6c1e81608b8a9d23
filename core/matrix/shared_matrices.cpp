#include "core/matrix/shared_matrices.h"

#include <cstdlib>
#include <filesystem>

namespace lulab {

namespace fs = std::filesystem;

namespace {

std::optional<std::string> search_upwards(fs::path folder) {
  std::error_code ignored;
  for (;; folder = folder.parent_path()) {
    const fs::path candidate = folder / "shared" / "matrices";
    if (fs::is_directory(candidate, ignored)) return candidate.string();
    if (folder == folder.parent_path()) return std::nullopt;
  }
}

}  // namespace

std::optional<std::string> shared_matrices_folder() {
  std::error_code ignored;
  if (const char* given = std::getenv("LULAB_MATRICES"); given != nullptr && *given != '\0')
    return fs::is_directory(given, ignored) ? std::optional<std::string>(given) : std::nullopt;
  if (auto found = search_upwards(fs::current_path(ignored))) return found;
  return search_upwards(fs::absolute(__FILE__, ignored).parent_path());
}

std::optional<std::string> shared_matrix(std::string_view name) {
  const auto folder = shared_matrices_folder();
  if (!folder) return std::nullopt;
  std::error_code ignored;
  for (const char* suffix : {".mtx", ".mtx.gz"}) {
    const fs::path file = fs::path(*folder) / (std::string(name) + suffix);
    if (fs::is_regular_file(file, ignored)) return file.string();
  }
  return std::nullopt;
}

}  // namespace lulab
