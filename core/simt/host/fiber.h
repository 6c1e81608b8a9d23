#pragma once
// A stack with a context that can be left and entered again, and a pool of them. One simulated thread runs on one
// fiber.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace lulab::simt::host {

struct Thread;

struct Fiber {
  void* context = nullptr;  // where to resume (Boost.Context fcontext_t)
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  void* race_fiber = nullptr;     // ThreadSanitizer's idea of this thread
  void* fake_stack = nullptr;     // AddressSanitizer's
  std::int64_t last_launch = -1;  // in which this fiber last ran a thread
  bool is_ambiguous = false;      // ran other threads in this launch, or its thread noted other columns
  bool on_host = true;            // the host's own stack, not one of a pool
  Thread* thread = nullptr;       // to run next, set by the thread that resumes an idle fiber
};

/// Leaves `from` (the running one) for `to`; returns when a fiber switches back to it.
void switch_fiber(Fiber& from, Fiber& to);

class FiberPool {
 public:
  /// entry() never returns; it runs on a fiber's own stack whenever the fiber is first entered.
  explicit FiberPool(void (*entry)()) : entry_(entry) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;

  /// An idle fiber. With race detection, one that has not yet run in this launch while there are few: threads that
  /// share a fiber are one thread to ThreadSanitizer. nullptr: no memory for another stack.
  Fiber* take(std::int64_t launch);
  void give_back(Fiber* fiber);
  /// The race fiber that new ones descend from: they inherit its past.
  void set_race_parent(void* fiber) { race_parent_ = fiber; }

 private:
  Fiber* create();

  void (*entry_)();
  void* race_parent_ = nullptr;
  std::vector<void*> mappings_;  // of many stacks each, a guard page below every one
  std::deque<std::unique_ptr<Fiber>> all_;
  std::deque<Fiber*> idle_;
};

}  // namespace lulab::simt::host
