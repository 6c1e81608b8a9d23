#include "core/simt/host/race_model.h"

#include <algorithm>

// ThreadSanitizer's interface; absent (null) in builds without it.
extern "C" {
__attribute__((weak)) void* __tsan_create_fiber(unsigned flags);
__attribute__((weak)) void __tsan_destroy_fiber(void* fiber);
__attribute__((weak)) void* __tsan_get_current_fiber();
__attribute__((weak)) void __tsan_switch_to_fiber(void* fiber, unsigned flags);
__attribute__((weak)) void __tsan_set_fiber_name(void* fiber, const char* name);
__attribute__((weak)) void __tsan_acquire(void* address);
__attribute__((weak)) void __tsan_release(void* address);
__attribute__((weak)) void AnnotateIgnoreReadsBegin(const char* file, int line);
__attribute__((weak)) void AnnotateIgnoreReadsEnd(const char* file, int line);
__attribute__((weak)) void AnnotateIgnoreWritesBegin(const char* file, int line);
__attribute__((weak)) void AnnotateIgnoreWritesEnd(const char* file, int line);
// Read by ThreadSanitizer as it starts. Simulated threads have ended when main() returns: nothing to wait a second for.
// Each launch reports its races: one that is like one of an earlier launch is no less a fault.
__attribute__((visibility("default"))) const char* __tsan_default_options();
const char* __tsan_default_options() { return "atexit_sleep_ms=0:suppress_equal_stacks=0:suppress_equal_addresses=0"; }
}

namespace lulab::simt::host {

namespace {

constexpr unsigned no_synchronization = 1;  // __tsan_switch_to_fiber_no_sync

bool releases(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST; }
bool acquires(int order) {
  return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL ||
         order == __ATOMIC_SEQ_CST;
}

// A fence of the block's scope orders nothing between blocks.
bool reaches(const FencePast& past, std::int64_t block) { return past.scope != Scope::block || past.block == block; }

}  // namespace

bool race_detection() { return __tsan_create_fiber != nullptr; }

void* create_race_fiber() { return race_detection() ? __tsan_create_fiber(0) : nullptr; }
void destroy_race_fiber(void* fiber) {
  if (race_detection()) __tsan_destroy_fiber(fiber);
}
void* current_race_fiber() { return race_detection() ? __tsan_get_current_fiber() : nullptr; }
void switch_race_fiber(void* fiber) {
  if (race_detection()) __tsan_switch_to_fiber(fiber, no_synchronization);
}
void name_race_fiber(void* fiber, const char* name) {
  if (race_detection()) __tsan_set_fiber_name(fiber, name);
}
void race_release(const void* address) {
  if (race_detection()) __tsan_release(const_cast<void*>(address));
}
void race_acquire(const void* address) {
  if (race_detection()) __tsan_acquire(const_cast<void*>(address));
}

RaceSilence::RaceSilence() {
  if (!race_detection()) return;
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
RaceSilence::~RaceSilence() {
  if (!race_detection()) return;
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

void FenceModel::after_atomic(ThreadFences& thread, std::int64_t block, const AtomicAccess& access) {
  RaceSilence silence;
  auto place = carried_.find(access.address);
  if (access.reads) {
    if (place != carried_.end()) {
      for (const auto& past : place->second) {
        if (acquires(access.order)) {
          if (reaches(*past, block)) race_acquire(&past->cell);
        } else {
          thread.observed.insert(past);
        }
      }
    }
    if (!acquires(access.order)) thread.observed_stores.insert(access.address);
  }
  if (access.writes) {
    // A read-modify-write continues the release sequence it read from; a plain store ends it.
    if (!access.reads && place != carried_.end()) place->second.clear();
    if (thread.released) {
      auto& pasts = place != carried_.end() ? place->second : carried_[access.address];
      if (std::find(pasts.begin(), pasts.end(), thread.released) == pasts.end()) pasts.push_back(thread.released);
    }
  }
}

void FenceModel::fence(ThreadFences& thread, std::int64_t block, int order, Scope scope) {
  RaceSilence silence;
  if (acquires(order)) {
    std::erase_if(thread.observed, [&](const std::shared_ptr<FencePast>& past) {
      const bool same_block = past->block == block;
      if (!reaches(*past, block) || (scope == Scope::block && !same_block)) return false;
      race_acquire(&past->cell);
      return true;
    });
    for (const void* address : thread.observed_stores) race_acquire(address);
    thread.observed_stores.clear();
  }
  if (releases(order)) {
    thread.released = std::make_shared<FencePast>();
    thread.released->scope = scope;
    thread.released->block = block;
    race_release(&thread.released->cell);
  }
}

void FenceModel::clear() { carried_.clear(); }

}  // namespace lulab::simt::host
