#include "app/mpi/start_ranks.h"

#include <algorithm>
#include <cstdlib>

#ifdef LULAB_MPI
#include "app/mpi/mpi_ranks.h"
#endif

namespace lulab::app {
namespace {

/// How many processes a launcher started, by what Open MPI and the PMI of other launchers tell them; 0: there is none.
int launched_ranks() {
  int ranks = 0;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* size = std::getenv(name)) ranks = std::max(ranks, std::atoi(size));
  return ranks;
}

}  // namespace

Result<std::unique_ptr<Ranks>> start_ranks() {
  const int ranks = launched_ranks();
#ifdef LULAB_MPI
  if (ranks > 1) return start_mpi();
#endif
  if (ranks > 1)
    return Status::error(StatusCode::not_implemented,
                         "several ranks were started, but this build has no MPI, through which they would share the "
                         "work; install Open MPI and configure with -DLULAB_MPI=ON");
  return std::unique_ptr<Ranks>(std::make_unique<OneRank>());
}

}  // namespace lulab::app
