#include "core/simt/host/fiber.h"

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>

#include "core/simt/host/race_model.h"

// AddressSanitizer's interface; absent (null) in builds without it.
extern "C" {
__attribute__((weak)) void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, std::size_t size);
__attribute__((weak)) void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, std::size_t* size);
}

namespace lulab::simt::host {

namespace {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = std::size_t{256} << 10;  // touched lazily
constexpr std::size_t guard_bytes = 4096;
constexpr std::size_t stacks_per_mapping = 64;  // mapping and unmapping each by itself took a tenth of a short test
// ThreadSanitizer fibers cost about 2 ms and 0.8 MB each, and every barrier looks at all of them: beyond this many,
// threads that ended lend theirs to new ones. With 1024 conformance of rungs 10 to 12 took 1.6 times as long.
constexpr std::size_t max_race_fibers = 256;

void finish_switch(Fiber& left, Fiber* entered) {
  if (!__sanitizer_finish_switch_fiber) return;
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(entered ? entered->fake_stack : nullptr, &bottom, &size);
  if (left.on_host) {  // the host's stack tells its bounds only when it is left
    left.stack_bottom = bottom;
    left.stack_bytes = size;
  }
}

using Entry = void (*)();

thread_local Entry entry_of_new_fiber;

void run_fiber(context::transfer_t transfer) {
  auto* from = static_cast<Fiber*>(transfer.data);
  from->context = transfer.fctx;
  finish_switch(*from, nullptr);
  entry_of_new_fiber();
}

}  // namespace

void switch_fiber(Fiber& from, Fiber& to) {
  if (__sanitizer_start_switch_fiber) __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_bytes);
  switch_race_fiber(to.race_fiber);
  const context::transfer_t transfer = context::jump_fcontext(to.context, &from);
  auto* left = static_cast<Fiber*>(transfer.data);
  left->context = transfer.fctx;
  finish_switch(*left, &from);
}

FiberPool::~FiberPool() {
  for (const auto& fiber : all_) destroy_race_fiber(fiber->race_fiber);
  for (void* mapping : mappings_) munmap(mapping, stacks_per_mapping * (guard_bytes + stack_bytes));
}

Fiber* FiberPool::create() {
  entry_of_new_fiber = entry_;
  const std::size_t place = all_.size() % stacks_per_mapping;
  if (place == 0) {
    void* mapping = mmap(nullptr, stacks_per_mapping * (guard_bytes + stack_bytes), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return nullptr;
    mappings_.push_back(mapping);
  }
  char* guard = static_cast<char*>(mappings_.back()) + place * (guard_bytes + stack_bytes);
  mprotect(guard, guard_bytes, PROT_NONE);
  auto fiber = std::make_unique<Fiber>();
  fiber->on_host = false;
  fiber->stack_bottom = guard + guard_bytes;
  fiber->stack_bytes = stack_bytes;
  // Equal offsets within a page would put every stack's hot lines into the same few cache sets.
  const std::size_t color = (all_.size() % 31) * 128;
  char* top = guard + guard_bytes + stack_bytes - color;
  fiber->context = context::make_fcontext(top, stack_bytes - color, run_fiber);
  if (race_detection()) {
    void* self = current_race_fiber();
    switch_race_fiber(race_parent_);
    fiber->race_fiber = create_race_fiber();
    switch_race_fiber(self);
  }
  all_.push_back(std::move(fiber));
  return all_.back().get();
}

Fiber* FiberPool::take(std::int64_t launch) {
  RaceSilence silence;
  Fiber* fiber = nullptr;
  if (race_detection()) {
    const bool reuse = !idle_.empty() && (idle_.front()->last_launch != launch || all_.size() >= max_race_fibers);
    if (reuse) {
      fiber = idle_.front();
      idle_.pop_front();
    } else {
      fiber = create();
    }
  } else if (!idle_.empty()) {
    fiber = idle_.back();  // its stack is warm
    idle_.pop_back();
  } else {
    fiber = create();
  }
  if (fiber) {
    fiber->is_ambiguous = fiber->last_launch == launch;
    fiber->last_launch = launch;
  }
  return fiber;
}

void FiberPool::give_back(Fiber* fiber) {
  RaceSilence silence;
  idle_.push_back(fiber);
}

}  // namespace lulab::simt::host
