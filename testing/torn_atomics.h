#pragma once
// Mutants of each atomic of a kernel: torn into a load and a store, it must be noticed.

#include <set>
#include <string>

#ifndef LULAB_CUDA
#include <sys/wait.h>
#include <unistd.h>

#include "core/simt/host/torn_atomics.h"
#endif

namespace lulab::testing {

#ifndef LULAB_CUDA
/// What is_wrong() says in a child process: a kernel that is wrong may write anywhere. A child that crashes, or takes a
/// minute, is wrong.
template <class IsWrong>
bool is_wrong_in_child(const IsWrong& is_wrong) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    [&]() noexcept { _exit(is_wrong() ? 1 : 0); }();  // an exception ends the child
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status != 0;
}
#endif

/// The atomics that write of the kernels which is_wrong() launches, by line and array, and those among them of which it
/// says false although they are torn. Needs the simulator; is_wrong() must be false when none is torn.
struct AtomicsOfKernels {
  std::set<std::string> met, unnoticed;
};
template <class IsWrong>
AtomicsOfKernels tear_each_atomic([[maybe_unused]] const IsWrong& is_wrong) {
  AtomicsOfKernels atomics;
#ifndef LULAB_CUDA
  {
    const simt::host::TornAtomics none;
    if (is_wrong() || is_wrong_in_child(is_wrong)) atomics.unnoticed.insert("wrong without any torn");
    atomics.met = none.met();
  }
  for (const std::string& place : atomics.met) {
    const simt::host::TornAtomics torn(place);
    if (!is_wrong_in_child(is_wrong)) atomics.unnoticed.insert(place);
  }
#endif
  return atomics;
}

}  // namespace lulab::testing
