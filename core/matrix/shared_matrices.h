#pragma once
// The collection of real matrices that tests and benchmarks use when it is there.

#include <optional>
#include <string>
#include <string_view>

namespace lulab {

/// The folder of the collection: the value of the environment variable LULAB_MATRICES when set, else the first
/// shared/matrices found in the current folder, the source tree or any folder above them. nullopt: there is none.
std::optional<std::string> shared_matrices_folder();

/// Path of NAME.mtx or NAME.mtx.gz in that folder; a name may have folders ("seq_hykkt_ACTIVSg2000/A_09").
/// nullopt when the folder or the file is absent: a test then skips.
std::optional<std::string> shared_matrix(std::string_view name);

}  // namespace lulab
