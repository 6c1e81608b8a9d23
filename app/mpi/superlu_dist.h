#pragma once
// L and U by SuperLU_DIST.

#include <functional>
#include <memory>

#include "app/distributed_lu.h"

namespace lulab::app {

/// Called where SuperLU_DIST cannot go on; ends the job.
using OnFatal = std::function<void(const Status&)>;

/// As MakeDistributedLu. Starts MPI where nothing did: then there is one rank.
std::unique_ptr<DistributedLu> make_superlu_dist(Ranks& ranks, int threads, OnFatal on_fatal);

/// What make_superlu_dist() was given.
const OnFatal& superlu_dist_on_fatal();

}  // namespace lulab::app
