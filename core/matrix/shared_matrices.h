#pragma once
// The optional collection of real matrices for tests and benchmarks.

#include <optional>
#include <string>
#include <string_view>

namespace lulab {

/// The folder of the collection: the value of the environment variable LULAB_MATRICES when set, else the first
/// shared/matrices found in the current folder, the source tree or any folder above them. nullopt if there is none.
std::optional<std::string> shared_matrices_folder();

/// Path of NAME.mtx or NAME.mtx.gz in that folder; a name may have folders ("seq_hykkt_ACTIVSg2000/A_09").
/// nullopt if the folder or the file is missing; tests then skip.
std::optional<std::string> shared_matrix(std::string_view name);

}  // namespace lulab
