#pragma once
// The ranks of this run. What is in this folder is compiled into the program alone, so that nothing else needs MPI.

#include <memory>

#include "core/ranks.h"

namespace lulab::app {

/// Those that mpirun, or another launcher, started; else one. A rank takes device (rank on its host) mod (devices).
/// Errors    not_implemented: several were started, and this build has no MPI.
Result<std::unique_ptr<Ranks>> start_ranks();

}  // namespace lulab::app
