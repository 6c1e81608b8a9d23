#pragma once
// Ranks of MPI.

#include <memory>

#include "core/ranks.h"

namespace lulab::app {

/// Starts MPI; the result ends it. A rank takes device (rank on its host) mod (devices).
/// Requires  a launcher started this process; once only.
Result<std::unique_ptr<Ranks>> start_mpi();

}  // namespace lulab::app
