#include "core/simt/host/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/simt/host/simulated_device.h"
#include "core/simt/host/torn_atomics.h"
#include "core/simt/host/watchdog.h"

// What the running simulated thread reads.
__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread uint3 blockDim;
__thread uint3 gridDim;

namespace lulab::simt::host {

__thread Scheduler* active_scheduler;

namespace {

// A spin that saw nothing new for this long is taken to wait forever: every thread polled 64 times and there were a
// million scheduling points. Threads that keep reading different things get longer.
constexpr std::int64_t deadlock_rounds = 64;
constexpr std::int64_t deadlock_steps = std::int64_t{1} << 18;
constexpr std::int64_t livelock_steps = std::int64_t{1} << 23;
// Threads that poll several places in turn can always run: a writer that is held back goes on after so many steps.
constexpr std::int64_t held_steps = std::int64_t{1} << 12;

enum LaunchCell { launch_start, launch_end, grid_first };

std::size_t bucket(const void* address) {
  return (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15u) >> 56;
}

// Growth must not appear in ThreadSanitizer's history of whichever simulated thread it happens in.
template <class T>
void append(std::vector<T>& v, T value) {
  if (v.size() == v.capacity()) {
    RaceSilence silence;
    v.reserve(std::max<std::size_t>(64, 2 * v.size()));
  }
  v.push_back(value);
}

uint3 unrank(std::int64_t rank, uint3 shape) {
  const auto x = static_cast<std::int64_t>(shape.x), y = static_cast<std::int64_t>(shape.y);
  return {static_cast<unsigned>(rank % x), static_cast<unsigned>(rank / x % y), static_cast<unsigned>(rank / x / y)};
}

}  // namespace

Scheduler& this_scheduler() {
  static thread_local Scheduler scheduler;
  return scheduler;
}

Scheduler::Scheduler() : pool_([] { active_scheduler->run_fiber(); }) {}
Scheduler::~Scheduler() {
  if (start_fiber_) destroy_race_fiber(start_fiber_);
}

Status Scheduler::run(const Work& work, const SimulatorOptions& options) {
  work_ = &work;
  options_ = options;
  ++launch_;
  random_ = Random(options.seed * 0x9e3779b97f4a7c15u + 1);
  // How long a thread runs on when nothing stops it: switch at every point, or rarely, depending on the seed.
  mean_burst_ = std::array<std::int64_t, 4>{1, 4, 32, 1024}[random_.below(4)];
  burst_ = 0;
  // Among how many threads it chooses: all that can run, or those that ran last (others wait until these have to).
  choices_ = random_.below(2) == 0 ? std::numeric_limits<std::size_t>::max() : 64;
  // Whoever reads without waiting for an atomic finds the old values then.
  holds_writers_ = options.seed % 4 == 2;
  threads_per_block_ = static_cast<int>(work.block.x * work.block.y * work.block.z);
  total_blocks_ = std::int64_t{work.grid.x} * work.grid.y * work.grid.z;
  total_clusters_ = total_blocks_ / work.cluster;
  next_cluster_ = static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(total_clusters_));
  do cluster_stride_ = 1 + static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(total_clusters_));
  while (std::gcd(cluster_stride_, total_clusters_) != 1);
  const std::int64_t capacity = std::int64_t{blocks_per_sm(threads_per_block_, work.shared_bytes)} * sm_count();
  resident_limit_ = static_cast<int>(std::min(
      {total_blocks_, capacity, options.resident_blocks > 0 ? std::int64_t{options.resident_blocks} : capacity}));
  resident_limit_ -= resident_limit_ % static_cast<int>(work.cluster);
  if (resident_limit_ == 0 && total_blocks_ > 0)  // a graph that was captured under other options
    return Status::error(StatusCode::invalid_argument,
                         kernel_name(work.kernel) + ": not one cluster of its blocks can be resident");
  started_blocks_ = ended_blocks_ = live_ = returned_ = parked_count_ = grid_waiting_ = 0;
  parked_.clear();
  for (auto& list : parked_at_) list.clear();
  ready_.clear();
  held_.clear();
  slots_.clear();
  static_bytes_ = static_end_ = 0;
  scopes_.clear();
  narrow_scopes_ = failed_ = raced_ = false;
  status_ = {};
  exceptions_at_start_ = std::uncaught_exceptions();
  first_step_ = steps();
  progress();

  host_.race_fiber = current_race_fiber();
  pool_.set_race_parent(host_.race_fiber);
  {
    RaceSilence silence;
    launch_cells_ = std::make_unique<std::uint64_t[]>(4);
    ready_.reserve(static_cast<std::size_t>(resident_limit_) * threads_per_block_);
    while (blocks_.size() < static_cast<std::size_t>(resident_limit_)) blocks_.emplace_back();
    clusters_.clear();
    for (std::size_t b = 0; b < static_cast<std::size_t>(resident_limit_); ++b) {
      if (b % work.cluster == 0) clusters_.emplace_back();
      clusters_.back().blocks.push_back(&blocks_[b]);
      blocks_[b].cluster = &clusters_.back();
      blocks_[b].cluster_rank = static_cast<unsigned>(b % work.cluster);
    }
    if (race_detection() && !start_fiber_) {
      start_fiber_ = create_race_fiber();
      name_race_fiber(start_fiber_, "the start of a block");
    }
  }
  race_release(&launch_cells_[launch_start]);
  if (active_trace != nullptr) active_trace->launch(kernel_name(work.kernel), total_blocks_, resident_limit_);

  blockDim = work.block;
  gridDim = work.grid;
  active_scheduler = this;
  running_ = &host_;
  {
    Watch watch(*this, options.watchdog_seconds);
    start_clusters();
    if (Thread* first = next_thread(nullptr)) resume(*first);
  }
  active_scheduler = nullptr;
  race_acquire(&launch_cells_[launch_end]);
  fence_model_.clear();
  for (Block& block : blocks_)
    if (block.rank >= 0) {  // cut short by a failure
      release_shared(block);
      block.rank = -1;
    }
  if (active_trace != nullptr) active_trace->launch_ends(status_);
  return std::exchange(status_, {});
}

void Scheduler::start_clusters() {
  for (Cluster& cluster : clusters_) {
    if (failed_ || started_blocks_ == total_blocks_) return;
    if (cluster.live > 0) continue;
    cluster.arrived = 0;
    cluster.phase = 0;
    cluster.live = threads_per_block_ * static_cast<int>(work_->cluster);
    if (race_detection()) {
      RaceSilence silence;
      cluster.race_cells = std::make_unique<std::uint64_t[]>(2);
    }
    for (Block* block : cluster.blocks) start_block(*block, next_cluster_ * work_->cluster + block->cluster_rank);
    next_cluster_ = next_cluster_ >= total_clusters_ - cluster_stride_
                        ? next_cluster_ - (total_clusters_ - cluster_stride_)
                        : next_cluster_ + cluster_stride_;
  }
}

void Scheduler::start_block(Block& block, std::int64_t rank) {
  RaceSilence silence;
  ++started_blocks_;
  block.rank = rank;
  block.index = unrank(rank, work_->grid);
  block.live = threads_per_block_;
  block.barrier = {};
  const int warps = (threads_per_block_ + warp_size - 1) / warp_size;
  block.threads.resize(threads_per_block_);
  block.warps.resize(warps);
  prepare_shared(block);
  for (int w = 0; w < warps; ++w) {
    const int lanes = std::min(warp_size, threads_per_block_ - w * warp_size);
    block.warps[w].live = lanes == warp_size ? ~0u : (1u << lanes) - 1;
    block.warps[w].phase = 0;
    block.warps[w].column = -1;
    block.warps[w].meetings.clear();
  }
  for (int t = 0; t < threads_per_block_; ++t) {
    Thread& thread = block.threads[t];
    thread.block = &block;
    thread.fiber = nullptr;
    thread.rank = t;
    thread.index = unrank(t, work_->block);
    thread.site = {};
    thread.column = thread.awaited = -1;
    thread.writes = {};
    thread.polled = thread.awaited_at = nullptr;
    thread.arrived_at_cluster = false;
    make_ready(thread);
  }
  live_ += threads_per_block_;
  progress();
  if (active_trace != nullptr) record_block(TraceEvent::Kind::block_starts, block);
}

void Scheduler::end_cluster(Cluster& cluster) {
  for (Block* block : cluster.blocks) {
    if (active_trace != nullptr) record_block(TraceEvent::Kind::block_ends, *block);
    release_shared(*block);
    block->rank = -1;
    ++ended_blocks_;
  }
  start_clusters();
}

// Entered on a fresh stack; every thread that starts on an idle fiber starts here.
void Scheduler::run_fiber() {
  for (;;) {
    Fiber* self = running_;
    Thread* thread = self->thread;
    execute(*thread);
    leave(*thread);
    Thread* next = next_thread(self);
    if (next && next->fiber == self) {
      resume(*next);
      continue;
    }
    pool_.give_back(self);
    if (next)
      resume(*next);
    else {
      running_ = &host_;
      switch_fiber(*self, host_);
    }
  }
}

void Scheduler::execute(Thread& thread) {
  if (race_detection()) {
    tell_name(thread);
    race_acquire(&launch_cells_[launch_start]);
    race_acquire(&thread.block->race_cells[start_cell]);
    RaceSilence silence;
    thread.fences = std::make_unique<ThreadFences>();
  }
  try {
    (*work_->run_thread)();
  } catch (const Unwind&) {
  } catch (const std::exception& e) {
    fail(StatusCode::device_error, fmt::format("{} threw an exception: {}", name(thread), e.what()));
  } catch (...) {
    fail(StatusCode::device_error, fmt::format("{} threw an exception", name(thread)));
  }
  thread.silence.reset();
  race_release(&launch_cells_[launch_end]);
}

void Scheduler::leave(Thread& thread) {
  Block& block = *thread.block;
  thread.state = Thread::State::done;
  thread.fiber = nullptr;
  if (race_detection()) {
    RaceSilence silence;
    thread.fences.reset();
  }
  --live_;
  ++returned_;
  --block.live;
  Warp& warp = block.warps[thread.warp()];
  warp.live &= ~(1u << thread.lane());
  steps_.store(steps() + 1, std::memory_order_relaxed);
  progress();
  if (!failed_) {
    if (block.barrier.waiting > 0) {
      std::vector<const Thread*> waiting;
      for (const Thread& t : block.threads)
        if (t.state == Thread::State::at_block_barrier) waiting.push_back(&t);
      fail(StatusCode::device_error, fmt::format("barrier divergence: {} returned while {} wait at {} ({}), which "
                                                 "every thread of a block must reach: no return before it",
                                                 name(thread), name_of_threads(waiting), to_string(block.barrier.kind),
                                                 to_string(block.barrier.site)));
    } else if (grid_waiting_ > 0) {
      fail(StatusCode::device_error,
           fmt::format(
               "barrier divergence: {} returned while other threads wait at the grid's barrier: no return before it",
               name(thread)));
    }
    for (std::size_t m = 0; m < warp.meetings.size() && !failed_;) {
      const WarpMeeting meeting = warp.meetings[m];
      if (meeting.arrived == (meeting.mask & warp.live)) {
        warp.meetings[m] = warp.meetings.back();
        warp.meetings.pop_back();
        complete_meeting(block, warp, thread.warp(), meeting);
      } else {
        ++m;
      }
    }
  }
  leave_cluster(thread);
}

void Scheduler::make_ready(Thread& thread) {
  thread.state = Thread::State::ready;
  append(ready_, &thread);
}

// The seeded choice. Parked threads poll again when no other thread can run. A thread that starts does so on
// free_fiber, if there is one and ThreadSanitizer, to which it must be a thread of its own, does not look.
Thread* Scheduler::next_thread(Fiber* free_fiber) {
  for (;;) {
    if (!held_.empty() && (ready_.empty() || idle_steps_ > held_steps)) {
      std::swap(held_[random_.below(held_.size())], held_.back());
      make_ready(*held_.back());
      held_.pop_back();
    }
    if (!ready_.empty()) {
      const std::size_t i = ready_.size() - 1 - random_.below(std::min(ready_.size(), choices_));
      Thread* thread = ready_[i];
      if (!thread->fiber) {
        Fiber* fiber = free_fiber && !race_detection() ? free_fiber : pool_.take(launch_);
        if (!fiber) {
          fail(StatusCode::out_of_memory, fmt::format("no memory for the stack of {}", name(*thread)));
          continue;
        }
        thread->fiber = fiber;
        fiber->thread = thread;
      }
      ready_[i] = ready_.back();
      ready_.pop_back();
      // Uniform in [1, 2 mean - 1].
      burst_ = 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(2 * mean_burst_ - 1)));
      if (const char* stack = stack_of_likely_next())
        for (int line = 0; line < 4; ++line) __builtin_prefetch(stack + line * 64);
      return thread;
    }
    if (live_ == 0) return nullptr;
    if (failed_) return nullptr;
    if (parked_count_ == 0) {
      fail_deadlock("every thread waits at a barrier that others can no longer reach");
    } else if (++rounds_ > deadlock_rounds && idle_steps_ > deadlock_steps) {
      fail_deadlock("threads poll values that no thread changes");
    } else {
      wake_all();
    }
  }
}

// With thousands of threads the stack of the next one is seldom in the cache, and half of a switch was the wait for it.
// So make the choice that follows if the thread chosen now waits and wakes no other. nullptr: it has no stack yet.
const char* Scheduler::stack_of_likely_next() const {
  if (ready_.empty()) return nullptr;
  Random random = random_;
  const Fiber* fiber = ready_[ready_.size() - 1 - random.below(std::min(ready_.size(), choices_))]->fiber;
  return fiber ? static_cast<const char*>(fiber->context) : nullptr;
}

/// Runs the thread on its fiber. Returns when the caller's own turn comes again.
void Scheduler::resume(Thread& thread) {
  Fiber* self = running_;
  thread.state = Thread::State::running;
  current_ = &thread;
  threadIdx = thread.index;
  blockIdx = thread.block->index;
  if (thread.fiber == self) return;
  running_ = thread.fiber;
  switch_fiber(*self, *thread.fiber);
}

/// The running thread cannot go on; its state says why.
void Scheduler::suspend() {
  resume(*next_thread(nullptr));
  if (failed_) throw Unwind{};
}

/// The running thread can go on, but others may run first.
void Scheduler::yield() {
  if (--burst_ > 0) return;
  make_ready(*current_);
  suspend();
}

/// The running thread is about to write an atomic: all others that can run do so first.
void Scheduler::hold_back(Site site) {
  current_->site = site;
  current_->state = Thread::State::ready;
  append(held_, current_);
  suspend();
}

void Scheduler::step(Site site) {
  current_->site = site;
  steps_.store(steps() + 1, std::memory_order_relaxed);
  if (++idle_steps_ > livelock_steps) {
    fail_deadlock("threads read values for millions of steps, and none changes");
    throw Unwind{};
  }
  if (options_.max_switches > 0 && static_cast<std::int64_t>(steps() - first_step_) > options_.max_switches) {
    fail_deadlock(
        fmt::format("the kernel took more than SimulatorOptions::max_switches = {} steps", options_.max_switches));
    throw Unwind{};
  }
}

/// True when the launch has failed and this thread is already unwinding: the operation does nothing.
bool Scheduler::leaving() {
  if (!failed_) return false;
  if (std::uncaught_exceptions() > exceptions_at_start_) return true;
  throw Unwind{};
}

void Scheduler::park(const AtomicAccess& access) {
  Thread& thread = *current_;
  thread.state = Thread::State::parked;
  const Parked parked{&thread, ++thread.parking};
  if (parked_.size() > 1024 && static_cast<std::int64_t>(parked_.size()) > 2 * parked_count_) {
    RaceSilence silence;
    std::erase_if(parked_, [](const Parked& p) {
      return p.thread->state != Thread::State::parked || p.thread->parking != p.parking;
    });
  }
  append(parked_, parked);
  append(parked_at_[bucket(access.address)], parked);
  ++parked_count_;
  suspend();
}

void Scheduler::wake(const void* address) {
  auto& list = parked_at_[bucket(address)];
  if (list.empty()) return;
  std::size_t kept = 0;
  for (const Parked& parked : list) {
    Thread& thread = *parked.thread;
    if (thread.state != Thread::State::parked || thread.parking != parked.parking) continue;
    if (thread.polled == address) {
      --parked_count_;
      make_ready(thread);
    } else {
      list[kept++] = parked;
    }
  }
  list.resize(kept);
}

void Scheduler::wake_all() {
  for (const Parked& parked : parked_) {
    Thread& thread = *parked.thread;
    if (thread.state != Thread::State::parked || thread.parking != parked.parking) continue;
    parked_at_[bucket(thread.polled)].clear();  // threads that poll other addresses of the bucket wake, too
    make_ready(thread);
  }
  parked_.clear();
  parked_count_ = 0;
}

void Scheduler::before_atomic(const void* address, int bytes, bool writes, Site site) {
  if (reinterpret_cast<std::uintptr_t>(address) % static_cast<unsigned>(bytes) != 0 && !leaving())
    fail_here(StatusCode::device_error, site, fmt::format("atomic access to a misaligned address ({} bytes)", bytes));
  if (writes && torn_atomics != nullptr && !leaving() && torn_atomics->tears(address, site)) {
    std::array<std::byte, 8> before{};
    std::memcpy(before.data(), address, static_cast<std::size_t>(bytes));
    hold_back(site);
    std::memcpy(const_cast<void*>(address), before.data(), static_cast<std::size_t>(bytes));
  } else if (writes && holds_writers_ && !leaving()) {
    hold_back(site);
  }
}

void Scheduler::after_atomic(const AtomicAccess& access, Site site) {
  if (leaving()) return;
  Thread& thread = *current_;
  count(&AccessCounts::atomics);
  if (access.scope == Scope::block || narrow_scopes_) check_scope(access, site);
  if (race_detection()) fence_model_.after_atomic(*thread.fences, thread.block->rank, access);
  if (access.changed) {
    if (active_trace != nullptr) record_atomic(access, site, false);
    thread.polled = nullptr;
    progress();
    step(site);
    wake(access.address);
    yield();
    return;
  }
  step(site);
  const bool spins = thread.polled == access.address && thread.polled_value == access.value;
  thread.polled = access.address;
  thread.polled_value = access.value;
  if (thread.awaited >= 0 && thread.awaited_at == nullptr) thread.awaited_at = access.address;
  if (active_trace != nullptr) record_atomic(access, site, spins);
  if (spins)
    park(access);
  else
    yield();
}

void Scheduler::fence(int order, Scope scope, Site site) {
  if (leaving()) return;
  count(&AccessCounts::fences);
  if (race_detection()) fence_model_.fence(*current_->fences, current_->block->rank, order, scope);
  step(site);
  yield();
}

void Scheduler::nanosleep(Site site) {
  if (leaving()) return;
  step(site);
  burst_ = 0;
  yield();
}

}  // namespace lulab::simt::host
