#pragma once
// What the simulator tells ThreadSanitizer. Every call does nothing in a build without it.
//
// Atomics reach ThreadSanitizer by themselves; barriers, launches and fences do not. Barriers and launches are releases
// and acquires of an address. Fences, which ThreadSanitizer does not know, follow C++ [atomics.fences]: a release fence
// publishes the thread's past under an object of its own; the thread's later atomic stores carry that object; a thread
// that reads such a store and then executes an acquire fence (or read it with acquire) acquires the object.

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/simt/host/runtime.h"

namespace lulab::simt::host {

bool race_detection();  // is this a ThreadSanitizer build?

void* create_race_fiber();
void destroy_race_fiber(void* fiber);
void* current_race_fiber();
void switch_race_fiber(void* fiber);
void name_race_fiber(void* fiber, const char* name);
void race_release(const void* address);
void race_acquire(const void* address);

/// While one lives, what the simulator itself does to memory is invisible, and memory allocated starts with no history.
class RaceSilence {
 public:
  RaceSilence();
  ~RaceSilence();
  RaceSilence(const RaceSilence&) = delete;
};

/// The past of one thread at one release fence.
struct FencePast {
  alignas(8) std::uint64_t cell = 0;
  Scope scope = Scope::device;
  std::int64_t block = 0;
};

/// The fences of one simulated thread.
struct ThreadFences {
  std::shared_ptr<FencePast> released;                      // carried by later stores
  std::unordered_set<std::shared_ptr<FencePast>> observed;  // wait for an acquire fence
  std::unordered_set<const void*> observed_stores;  // likewise: places read relaxed, perhaps stored with release
};

/// Which pasts the value at each address carries. One for each launch; used in race-detecting builds only.
class FenceModel {
 public:
  void after_atomic(ThreadFences& thread, std::int64_t block, const AtomicAccess& access);
  void fence(ThreadFences& thread, std::int64_t block, int order, Scope scope);
  void clear();

 private:
  std::unordered_map<const void*, std::vector<std::shared_ptr<FencePast>>> carried_;
};

}  // namespace lulab::simt::host
