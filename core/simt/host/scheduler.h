#pragma once
// The simulated device at work: one OS thread, one fiber for each simulated thread that had to wait, and a seeded
// choice of the thread that runs next. A launch runs to its end inside run().

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/simt/device.h"
#include "core/simt/host/fiber.h"
#include "core/simt/host/race_model.h"
#include "core/simt/host/random.h"
#include "core/simt/host/runtime.h"
#include "core/simt/host/trace.h"
#include "core/simt/host/types.h"
#include "core/simt/note_writes.h"

namespace lulab::simt::host {

/// "lulab::axpy_kernel<double>" from the symbol table of the program; an address when there is none.
std::string kernel_name(const void* address);

struct Block;
struct Cluster;

/// One simulated CUDA thread of a resident block.
struct Thread {
  enum class State {
    ready,
    running,
    parked,
    at_block_barrier,
    at_warp_collective,
    at_cluster_barrier,
    at_grid_barrier,
    done
  };
  Block* block = nullptr;
  Fiber* fiber = nullptr;  // nullptr: has not started
  uint3 index{};
  int rank = 0;  // in the block
  State state = State::ready;
  Site site{};                       // of its last scheduling point
  std::int64_t column = -1;          // that it last noted; -1: none
  std::int64_t awaited = -1;         // the column that it noted it waits for
  const void* awaited_at = nullptr;  // the atomic by which it does: the first that it read after that
  std::array<Written, 3> writes{};   // what it noted that it will write

  const void* polled = nullptr;  // the atomic it last read without changing it, and the value it saw
  std::uint64_t polled_value = 0;
  bool wait_recorded = false;  // of this value, in a Trace
  std::uint32_t parking = 0;   // counts how often it parked, to tell stale entries

  bool arrived_at_cluster = false;  // at its barrier, and has not yet waited
  unsigned cluster_phase = 0;       // in which it arrived

  WarpOp op{};  // the warp collective it waits in
  unsigned mask = 0;
  std::uint64_t operand = 0;
  int source_lane = 0;
  std::uint64_t result = 0;

  std::unique_ptr<ThreadFences> fences;  // with race detection, while it runs
  std::unique_ptr<RaceSilence> silence;  // once it has found a race

  int lane() const { return rank % 32; }
  int warp() const { return rank / 32; }
};

/// Lanes that meet in one warp collective.
struct WarpMeeting {
  WarpOp op;
  unsigned mask;
  unsigned arrived;
};

struct Warp {
  unsigned live = 0;         // lanes that have not returned
  std::int64_t column = -1;  // that its lanes noted last
  std::uint32_t phase = 0;   // a bit for each lane that can be a mask's lowest: which of two race cells is next
  std::vector<WarpMeeting> meetings;  // that wait for lanes
};

struct Free {
  void operator()(void* p) const { std::free(p); }
};

/// In a block's race_cells: its barrier (2), its start, the ends of its threads, then two for each lane.
inline constexpr std::size_t start_cell = 2, end_cell = 3, first_lane_cell = 4;

/// A resident block. Reused for the next one when it ends.
struct Block {
  std::int64_t rank = -1;  // in the grid; -1: idle
  uint3 index{};
  Cluster* cluster = nullptr;
  unsigned cluster_rank = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  int live = 0;

  struct {
    int waiting = 0;
    int count = 0;  // predicates that were true
    BlockBarrier kind{};
    Site site{};
    unsigned phase = 0;
    int result[2] = {};
  } barrier;

  std::unique_ptr<unsigned char, Free> shared;  // static arrays, then the dynamic one
  std::size_t shared_bytes = 0;
  std::vector<bool> slot_ready;  // static arrays that this block has asked for
  std::unique_ptr<std::uint64_t[]> race_cells;
};

/// Blocks that start together and keep their shared memory until all have ended. One, in a launch without clusters.
struct Cluster {
  std::vector<Block*> blocks;
  int live = 0;     // threads that have not returned; 0: idle
  int arrived = 0;  // of these, in this phase of the barrier
  unsigned phase = 0;
  std::unique_ptr<std::uint64_t[]> race_cells;
};

/// What run() needs to know of a launch.
struct Work {
  const void* kernel;
  const std::function<void()>* run_thread;
  uint3 grid, block;
  std::size_t shared_bytes;
  bool cooperative;
  unsigned cluster;  // blocks
};

/// Unwinds a simulated thread whose launch has failed.
struct Unwind {};

class Scheduler {
 public:
  Scheduler();
  ~Scheduler();

  /// Runs a launch to its end.   Errors deadlock, device_error.
  Status run(const Work& work, const SimulatorOptions& options);

  // From kernels, through runtime.h.
  void before_atomic(const void* address, int bytes, bool writes, Site site);
  void after_atomic(const AtomicAccess& access, Site site);
  void fence(int order, Scope scope, Site site);
  void nanosleep(Site site);
  int block_barrier(BlockBarrier kind, int predicate, Site site);
  void grid_barrier(Site site);
  void cluster_arrive(Site site);
  void cluster_wait(Site site);
  void* map_shared(const void* p, int rank, Site site);
  unsigned owner_of_shared(const void* p, Site site);
  unsigned cluster_rank() const { return current_->block->cluster_rank; }
  unsigned cluster_size() const { return work_->cluster; }
  std::uint64_t warp_collective(WarpOp op, unsigned mask, std::uint64_t value, int source_lane, Site site);
  void* static_shared(const char* key, std::size_t bytes, std::size_t alignment, Site site);
  void* dynamic_shared();
  void note_column(std::int64_t column);
  void note_wait(std::int64_t column);
  void note_writes(const std::array<Written, 3>& writes) { current_->writes = writes; }
  void count(std::int64_t AccessCounts::*what) {
    if (options_.count_accesses) ++(counts_.*what);
  }
  int lane() const { return current_->lane(); }
  std::int64_t clock() { return static_cast<std::int64_t>(++clock_ + steps()); }
  AccessCounts counts() const { return counts_; }

  /// An event of the thread that runs.
  TraceEvent event_here(TraceEvent::Kind kind, Site site) const;

  // For the watchdog: the kernel that runs and how far it is.
  std::uint64_t steps() const { return steps_.load(std::memory_order_relaxed); }
  std::string kernel() const { return kernel_name(work_->kernel); }
  const SimulatorOptions& options() const { return options_; }
  /// The thread that runs; see simt::where().
  std::string where() const;

  /// "element 3 of tile, 4 bytes each, in the shared memory of block 2"; empty: it lies in none.
  std::string name_of_shared(const void* p, int bytes) const;

  /// ThreadSanitizer found a race: the launch fails. Only the first of a launch is told.
  void race(void* report);

  /// Body of every fiber.
  void run_fiber();

 private:
  // scheduler.cpp: which thread runs next
  void start_clusters();
  void start_block(Block& block, std::int64_t rank);
  void end_cluster(Cluster& cluster);
  void execute(Thread& thread);
  void leave(Thread& thread);
  Thread* next_thread(Fiber* free_fiber);
  const char* stack_of_likely_next() const;
  void resume(Thread& thread);
  void suspend();
  void yield();
  void step(Site site);
  void progress() { idle_steps_ = rounds_ = 0; }
  void park(const AtomicAccess& access);
  void wake(const void* address);
  void wake_all();
  void make_ready(Thread& thread);
  bool leaving();
  void hold_back(Site site);

  // recording.cpp: what a Trace is told
  void record_atomic(const AtomicAccess& access, Site site, bool spins) const;
  void record_block(TraceEvent::Kind kind, const Block& block) const;

  // clusters.cpp
  void complete_cluster_barrier(Cluster& cluster);
  void leave_cluster(Thread& thread);

  // collectives.cpp
  void complete_block_barrier(Block& block);
  void complete_meeting(Block& block, Warp& warp, int warp_rank, WarpMeeting meeting);
  void check_scope(const AtomicAccess& access, Site site);

  // shared_memory.cpp
  void prepare_shared(Block& block);
  void release_shared(Block& block);
  void end_shared(Block& block);
  void open_slot(Block& block, std::size_t slot);

  // failure.cpp: how a launch fails
  void fail(StatusCode code, const std::string& message);
  [[noreturn]] void fail_here(StatusCode code, Site site, const std::string& message);
  void fail_deadlock(const std::string& why);
  static unsigned missing_lanes(const Thread& thread);
  std::string waiting_threads() const;
  struct Wait;
  Wait wait_of(const Thread& thread) const;
  std::string circle_of_waits() const;
  std::string name(const Thread& thread) const;
  void tell_name(const Thread& thread) const;
  std::string name_of_threads(const std::vector<const Thread*>& threads) const;

  const Work* work_ = nullptr;
  SimulatorOptions options_;
  AccessCounts counts_;
  FiberPool pool_;
  Fiber host_;
  Fiber* running_ = nullptr;
  Thread* current_ = nullptr;
  Random random_;
  std::int64_t launch_ = 0;

  std::int64_t total_blocks_ = 0, started_blocks_ = 0, ended_blocks_ = 0;
  std::int64_t total_clusters_ = 0, cluster_stride_ = 1, next_cluster_ = 0;  // the order in which they start
  int resident_limit_ = 0;
  int threads_per_block_ = 0;
  std::deque<Block> blocks_;
  std::deque<Cluster> clusters_;  // those that can be resident
  std::int64_t live_ = 0;         // threads of resident blocks that have not returned
  std::int64_t returned_ = 0;     // threads that have, in the whole grid
  std::int64_t mean_burst_ = 1, burst_ = 0;
  std::size_t choices_ = 0;

  std::vector<Thread*> ready_;
  bool holds_writers_ = false;
  std::vector<Thread*> held_;  // before an atomic write, until no other thread can run
  struct Parked {
    Thread* thread;
    std::uint32_t parking;
  };
  std::array<std::vector<Parked>, 256> parked_at_;  // by hash of the address
  std::vector<Parked> parked_;
  std::int64_t parked_count_ = 0;

  std::atomic<std::uint64_t> steps_ = 0;
  std::uint64_t clock_ = 0, first_step_ = 0;
  std::int64_t idle_steps_ = 0, rounds_ = 0;  // since the last progress

  std::int64_t grid_waiting_ = 0;
  unsigned grid_phase_ = 0;
  std::unique_ptr<std::uint64_t[]> launch_cells_;  // start, end, grid barrier (2)
  void* start_fiber_ = nullptr;                    // of ThreadSanitizer: writes the memory that clusters start with
  FenceModel fence_model_;

  struct Slot {
    const char* key;  // its name
    std::size_t offset, bytes;
  };
  std::vector<Slot> slots_;                        // static shared arrays met so far
  std::size_t static_bytes_ = 0, static_end_ = 0;  // what they hold, and with the gaps between them

  struct ScopeUse {
    std::int64_t block;
    bool narrow;  // some access had the scope of the block
  };
  std::unordered_map<const void*, ScopeUse> scopes_;  // kept once an atomic of block scope was met
  bool narrow_scopes_ = false;

  bool failed_ = false;
  Status status_;
  bool raced_ = false;
  int exceptions_at_start_ = 0;
};

/// The scheduler of the calling OS thread.
Scheduler& this_scheduler();
/// The one whose kernel is running on this OS thread, or nullptr.
extern __thread Scheduler* active_scheduler;

/// "3", or "(3,0,1)" where the shape has more than one dimension.
std::string to_string(uint3 index, uint3 shape);
std::string to_string(BlockBarrier kind);
std::string to_string(WarpOp op);
std::string to_string(Site site);

}  // namespace lulab::simt::host
