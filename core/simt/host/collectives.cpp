// Barriers of the block and the grid, warp collectives, and the check of narrow atomic scopes.

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "core/simt/host/poison.h"
#include "core/simt/host/scheduler.h"
#include "core/simt/host/simulated_device.h"

namespace lulab::simt::host {

namespace {

constexpr std::size_t grid_cells = 2;  // in launch_cells_

bool same(Site a, Site b) { return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0); }

// Two cells for each barrier, used in turn: a thread that is slow to leave one phase must not acquire what others did
// after it.
std::size_t warp_cell(int warp, unsigned mask, const Warp& w) {
  const int lowest = std::countr_zero(mask);
  return first_lane_cell + (static_cast<std::size_t>(warp) * warp_size + lowest) * 2 + ((w.phase >> lowest) & 1);
}

std::uint64_t fold(WarpOp op, std::uint64_t a, std::uint64_t b) {
  const auto x = static_cast<std::uint32_t>(a), y = static_cast<std::uint32_t>(b);
  const auto sx = static_cast<std::int32_t>(x), sy = static_cast<std::int32_t>(y);
  switch (op) {
    case WarpOp::add: return x + y;
    case WarpOp::min_signed: return sx < sy ? x : y;
    case WarpOp::max_signed: return sx < sy ? y : x;
    case WarpOp::min_unsigned: return x < y ? x : y;
    case WarpOp::max_unsigned: return x < y ? y : x;
    case WarpOp::bit_and: return x & y;
    case WarpOp::bit_or: return x | y;
    case WarpOp::bit_xor: return x ^ y;
    default: return 0;
  }
}

}  // namespace

int Scheduler::block_barrier(BlockBarrier kind, int predicate, Site site) {
  if (leaving()) return 0;
  step(site);
  count(&AccessCounts::block_barriers);
  Thread& thread = *current_;
  Block& block = *thread.block;
  auto& barrier = block.barrier;
  if (block.live < threads_per_block_) {
    std::vector<const Thread*> gone;
    for (const Thread& t : block.threads)
      if (t.state == Thread::State::done) gone.push_back(&t);
    fail_here(StatusCode::device_error, site,
              fmt::format("barrier divergence: {} waits for {}, which returned: no return before it", to_string(kind),
                          name_of_threads(gone)));
  }
  if (barrier.waiting == 0) {
    barrier.kind = kind;
    barrier.site = site;
  } else if (barrier.kind != kind || !same(barrier.site, site)) {
    std::vector<const Thread*> others;
    for (const Thread& t : block.threads)
      if (t.state == Thread::State::at_block_barrier) others.push_back(&t);
    fail_here(StatusCode::device_error, site,
              fmt::format(
                  "barrier divergence: {} here, but {} wait at {} ({}); all threads of a block must meet at one place",
                  to_string(kind), name_of_threads(others), to_string(barrier.kind), to_string(barrier.site)));
  }
  barrier.count += predicate != 0;
  const unsigned parity = barrier.phase & 1;
  if (race_detection()) race_release(&block.race_cells[parity]);
  if (++barrier.waiting == block.live) {
    complete_block_barrier(block);
    yield();
  } else {
    thread.state = Thread::State::at_block_barrier;
    suspend();
  }
  if (race_detection()) race_acquire(&block.race_cells[parity]);
  return barrier.result[parity];
}

void Scheduler::complete_block_barrier(Block& block) {
  auto& barrier = block.barrier;
  int& result = barrier.result[barrier.phase & 1];
  switch (barrier.kind) {
    case BlockBarrier::sync: result = 0; break;
    case BlockBarrier::count: result = barrier.count; break;
    case BlockBarrier::conjunction: result = barrier.count == barrier.waiting; break;
    case BlockBarrier::disjunction: result = barrier.count > 0; break;
  }
  barrier.waiting = barrier.count = 0;
  ++barrier.phase;
  progress();
  for (Thread& t : block.threads)
    if (t.state == Thread::State::at_block_barrier) make_ready(t);
}

void Scheduler::grid_barrier(Site site) {
  if (leaving()) return;
  step(site);
  count(&AccessCounts::grid_barriers);
  if (!work_->cooperative)
    fail_here(StatusCode::device_error, site, "this_grid().sync() in a launch whose shape is not cooperative");
  if (returned_ > 0)
    fail_here(StatusCode::device_error, site,
              fmt::format("barrier divergence: {} threads of the grid have returned; all must reach the grid's "
                          "barrier, none may return before",
                          returned_));
  const std::size_t cell = grid_cells + (grid_phase_ & 1);
  race_release(&launch_cells_[cell]);
  if (++grid_waiting_ == live_) {
    grid_waiting_ = 0;
    ++grid_phase_;
    {
      RaceSilence silence;
      scopes_.clear();  // accesses of different blocks before and after are ordered
    }
    progress();
    for (Block& block : blocks_)
      if (block.rank >= 0)
        for (Thread& t : block.threads)
          if (t.state == Thread::State::at_grid_barrier) make_ready(t);
    yield();
  } else {
    current_->state = Thread::State::at_grid_barrier;
    suspend();
  }
  race_acquire(&launch_cells_[cell]);
}

std::uint64_t Scheduler::warp_collective(WarpOp op, unsigned mask, std::uint64_t value, int source_lane, Site site) {
  if (leaving()) return value;
  step(site);
  count(&AccessCounts::warp_collectives);
  Thread& thread = *current_;
  Block& block = *thread.block;
  Warp& warp = block.warps[thread.warp()];
  const unsigned self = 1u << thread.lane();
  if (!(mask & self))
    fail_here(StatusCode::device_error, site,
              fmt::format("wrong mask: lane {} calls {} with mask {:#010x}, which does not name it", thread.lane(),
                          to_string(op), mask));
  thread.op = op;
  thread.mask = mask;
  thread.operand = value;
  thread.source_lane = source_lane;
  thread.site = site;

  std::size_t m = 0;
  for (; m < warp.meetings.size(); ++m) {
    const WarpMeeting& other = warp.meetings[m];
    if (other.op == op && other.mask == mask) break;
    if ((other.mask & self) && (other.arrived & mask)) {  // each waits for the other
      const int lane = std::countr_zero(other.arrived & mask);
      const Thread& t = block.threads[thread.warp() * warp_size + lane];
      fail_here(
          StatusCode::device_error, site,
          fmt::format(
              "wrong mask: lane {} calls {} with mask {:#010x}, but lane {} of it waits in {} with mask {:#010x} ({})",
              thread.lane(), to_string(op), mask, lane, to_string(other.op), other.mask, to_string(t.site)));
    }
  }
  if (m == warp.meetings.size()) {
    RaceSilence silence;
    warp.meetings.push_back({op, mask, 0});
  }
  WarpMeeting& meeting = warp.meetings[m];
  meeting.arrived |= self;

  // Only __syncwarp orders memory.
  const bool orders = op == WarpOp::sync && race_detection();
  const std::size_t cell = orders ? warp_cell(thread.warp(), mask, warp) : 0;
  if (orders) race_release(&block.race_cells[cell]);
  if (meeting.arrived == (mask & warp.live)) {
    const WarpMeeting complete = meeting;
    warp.meetings[m] = warp.meetings.back();
    warp.meetings.pop_back();
    complete_meeting(block, warp, thread.warp(), complete);
    yield();
  } else {
    thread.state = Thread::State::at_warp_collective;
    suspend();
  }
  if (orders) race_acquire(&block.race_cells[cell]);
  return thread.result;
}

void Scheduler::complete_meeting(Block& block, Warp& warp, int warp_rank, WarpMeeting meeting) {
  Thread* lanes = &block.threads[static_cast<std::size_t>(warp_rank) * warp_size];
  const auto each = [&](auto&& f) {
    for (unsigned rest = meeting.arrived; rest; rest &= rest - 1) f(lanes[std::countr_zero(rest)]);
  };
  std::uint64_t common = 0;
  switch (meeting.op) {
    case WarpOp::sync: warp.phase ^= meeting.mask & (~meeting.mask + 1); break;
    case WarpOp::ballot: each([&](const Thread& t) { common |= t.operand << t.lane(); }); break;
    case WarpOp::any: each([&](const Thread& t) { common |= t.operand; }); break;
    case WarpOp::all:
      common = 1;
      each([&](const Thread& t) { common &= t.operand; });
      break;
    case WarpOp::match_all:
      common = meeting.arrived;
      each([&](const Thread& t) {
        if (t.operand != lanes[std::countr_zero(meeting.arrived)].operand) common = 0;
      });
      break;
    case WarpOp::shuffle:
    case WarpOp::match_any: break;
    default: {
      bool first = true;
      each([&](const Thread& t) {
        common = std::exchange(first, false) ? t.operand : fold(meeting.op, common, t.operand);
      });
    }
  }
  each([&](Thread& t) {
    t.result = common;
    if (meeting.op == WarpOp::shuffle) {
      // CUDA leaves undefined what a lane that does not take part would have sent: poison.
      const bool there = (meeting.arrived >> t.source_lane) & 1;
      t.result = there ? lanes[t.source_lane].operand : poison_word;
    } else if (meeting.op == WarpOp::match_any) {
      t.result = 0;
      each([&](const Thread& o) { t.result |= std::uint64_t{o.operand == t.operand} << o.lane(); });
    }
  });
  progress();
  each([&](Thread& t) {
    if (t.state == Thread::State::at_warp_collective) make_ready(t);
  });
}

void Scheduler::check_scope(const AtomicAccess& access, Site site) {
  const Block& block = *current_->block;
  const auto* shared = block.shared.get();
  const auto* p = static_cast<const unsigned char*>(access.address);
  if (shared && p >= shared && p < shared + block.shared_bytes) return;
  RaceSilence silence;
  narrow_scopes_ = true;
  const bool narrow = access.scope == Scope::block;
  const auto [use, fresh] = scopes_.try_emplace(access.address, ScopeUse{block.rank, narrow});
  if (fresh) return;
  if (use->second.block != block.rank && (narrow || use->second.narrow))
    fail_here(
        StatusCode::device_error, site,
        fmt::format(
            "wrong scope: blocks {} and {} access one address atomically, one of them with the scope of its block",
            use->second.block, block.rank));
  use->second.narrow |= narrow;
}

}  // namespace lulab::simt::host
