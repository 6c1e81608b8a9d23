#pragma once
// What kernels do, event by event, for a program that shows it (lulab explain). Off unless a Trace lives.
//
// The scheduler tells of launches, blocks, columns, atomics and waits; plain loads and stores come from kernels whose
// scalar is Traced (traced.h). One OS thread runs all simulated threads, so the order of the events is the order in
// which things happened. Only arrays that have a name (simt::name_elements) are told of.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/simt/host/race_report.h"
#include "core/simt/host/runtime.h"
#include "core/status.h"

namespace lulab::simt::host {

struct TraceEvent {
  enum class Kind {
    launch,        // index: blocks of the grid; after: how many can be resident
    block_starts,  // it becomes resident
    takes_column,  // its warp called note_column(), this thread first
    read,
    write,
    atomic_add,  // of a value
    atomic,      // any access to an integer by an atomic
    waits,       // a load has seen the same value twice: the thread goes on when another thread changes it
    block_ends,
    launch_ends,
  };
  Kind kind{};
  int launch = -1;          // from 0
  std::int64_t block = -1;  // of the thread that did it, as below; -1: none
  int warp = -1, lane = -1;
  std::int64_t column = -1;  // that it has noted
  int array = -1;            // in arrays(); -1: none
  std::int64_t index = -1;   // of the element
  double before = 0, after = 0;
  bool reads = false, writes = false;  // of an atomic
  int order = __ATOMIC_RELAXED;        // likewise
  Site site{};
  std::array<std::int32_t, 3> from = {-1, -1, -1};  // events that read what a write has made its value of; -1: none
};

/// Records what kernels do that this OS thread launches while it lives. At most one lives.
///
/// Cost      100 bytes an event: for small matrices.
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;

  std::span<const TraceEvent> events() const { return events_; }
  const std::vector<std::string>& kernels() const { return kernels_; }     // of each launch
  const std::vector<Status>& outcomes() const { return outcomes_; }        // of each launch
  const std::vector<std::string>& arrays() const { return array_names_; }  // names

  // From the scheduler and from Traced.
  void launch(const std::string& kernel, std::int64_t blocks, std::int64_t resident);
  void launch_ends(const Status& outcome);
  /// Answers the number of the event, or -1 where `address` lies in no named array of such elements.
  std::int32_t add(TraceEvent event, const void* address, std::size_t bytes);
  void add(TraceEvent event);

 private:
  const DeviceArray* array_at(const void* address) const;

  std::vector<TraceEvent> events_;
  std::vector<std::string> kernels_, array_names_;
  std::vector<Status> outcomes_;
  std::vector<DeviceArray> arrays_;  // by begin, as the launch found them
  std::vector<int> name_of_;         // (arrays_) in array_names_
};

/// The Trace of this OS thread; nullptr: nothing is recorded.
extern __thread Trace* active_trace;

/// A load or a store of a value by the thread that runs. -1 where nothing is recorded.
std::int32_t trace_read(const void* address, std::size_t bytes, double value, Site site);
void trace_write(TraceEvent::Kind kind, const void* address, std::size_t bytes, double before, double after,
                 const std::array<std::int32_t, 3>& from, Site site);

}  // namespace lulab::simt::host
