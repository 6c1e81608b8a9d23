#pragma once
// Mutants of kernels that the simulator makes: an atomic falls apart into a load and a store.

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "core/simt/host/runtime.h"

namespace lulab::simt::host {

/// While it lives, one atomic of the kernels that run is torn: other threads run between its load and its store, and
/// what they write to its address meanwhile is lost. One at a time, on one OS thread.
class TornAtomics {
 public:
  /// place: one of met(); empty: none is torn.
  explicit TornAtomics(std::string place = {});
  ~TornAtomics();
  TornAtomics(const TornAtomics&) = delete;
  TornAtomics& operator=(const TornAtomics&) = delete;

  /// The atomics that write, by line and array: "05_gsofa.h:46: queue[...] = v; in shared memory".
  const std::set<std::string>& met() const { return met_; }

  /// For the scheduler: whether it tears this one.
  bool tears(const void* address, Site site);

 private:
  const std::string place_;
  std::set<std::string> met_;
  std::map<std::tuple<const char*, int, const void*, const char*>, bool>
      torn_;  // by file, line, the array and its name
};

/// The one that lives, or nullptr.
inline TornAtomics* torn_atomics = nullptr;

}  // namespace lulab::simt::host
