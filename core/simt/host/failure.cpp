// How a launch fails: the report, and the end of its threads.

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

#include "core/simt/host/race_report.h"
#include "core/simt/host/scheduler.h"
#include "core/simt/host/simulated_device.h"

namespace lulab::simt::host {

namespace {

uint3 index_in(int rank, uint3 shape) {
  const auto r = static_cast<unsigned>(rank);
  return {r % shape.x, r / shape.x % shape.y, r / shape.x / shape.y};
}

}  // namespace

std::string to_string(uint3 v, uint3 shape) {
  if (shape.y == 1 && shape.z == 1) return fmt::format("{}", v.x);
  return fmt::format("({},{},{})", v.x, v.y, v.z);
}

std::string to_string(Site site) {
  if (!site.file) return "unknown line";
  const std::string_view file = site.file;
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), site.line);
}

std::string to_string(BlockBarrier kind) {
  switch (kind) {
    case BlockBarrier::sync: return "__syncthreads";
    case BlockBarrier::count: return "__syncthreads_count";
    case BlockBarrier::conjunction: return "__syncthreads_and";
    case BlockBarrier::disjunction: return "__syncthreads_or";
  }
  return "?";
}

std::string to_string(WarpOp op) {
  switch (op) {
    case WarpOp::sync: return "__syncwarp";
    case WarpOp::shuffle: return "__shfl_sync";
    case WarpOp::ballot: return "__ballot_sync";
    case WarpOp::any: return "__any_sync";
    case WarpOp::all: return "__all_sync";
    case WarpOp::match_any: return "__match_any_sync";
    case WarpOp::match_all: return "__match_all_sync";
    case WarpOp::add: return "__reduce_add_sync";
    case WarpOp::min_signed:
    case WarpOp::min_unsigned: return "__reduce_min_sync";
    case WarpOp::max_signed:
    case WarpOp::max_unsigned: return "__reduce_max_sync";
    case WarpOp::bit_and: return "__reduce_and_sync";
    case WarpOp::bit_or: return "__reduce_or_sync";
    case WarpOp::bit_xor: return "__reduce_xor_sync";
  }
  return "?";
}

std::string Scheduler::name(const Thread& thread) const {
  return fmt::format("block {} thread {}", to_string(thread.block->index, work_->grid),
                     to_string(thread.index, work_->block));
}

/// To ThreadSanitizer, for its reports.
void Scheduler::tell_name(const Thread& thread) const {
  RaceSilence silence;
  const std::string name =
      fmt::format("block {}, warp {}, lane {}{}{}", to_string(thread.block->index, work_->grid), thread.warp(),
                  thread.lane(), thread.column < 0 ? "" : fmt::format(", column {}", thread.column),
                  thread.fiber->is_ambiguous ? or_one_before : "");
  name_race_fiber(thread.fiber->race_fiber, name.c_str());
}

void Scheduler::note_column(std::int64_t column) {
  Thread& thread = *current_;
  if (thread.column == column) return;
  thread.fiber->is_ambiguous |= thread.column >= 0;
  thread.column = column;
  if (race_detection()) tell_name(thread);
  if (active_trace == nullptr) return;
  if (std::exchange(thread.block->warps[thread.warp()].column, column) != column)
    active_trace->add(event_here(TraceEvent::Kind::takes_column, {}));
}

/// "block 2 threads 0-31, 40; block 3 thread 7 and 3 more". The threads come in order within each block.
std::string Scheduler::name_of_threads(const std::vector<const Thread*>& threads) const {
  constexpr int most = 6;
  std::string text;
  int pieces = 0;
  for (std::size_t i = 0; i < threads.size();) {
    const Block* block = threads[i]->block;
    std::size_t end = i + 1;
    while (end < threads.size() && threads[end]->block == block && threads[end]->rank == threads[end - 1]->rank + 1)
      ++end;
    if (pieces++ == most) {
      text += fmt::format(" and {} more", threads.size() - i);
      break;
    }
    const bool fresh = i == 0 || threads[i - 1]->block != block;
    if (fresh)
      text += fmt::format("{}block {} thread{} ", i == 0 ? "" : "; ", to_string(block->index, work_->grid),
                          end - i > 1 ? "s" : "");
    else
      text += ", ";
    text += to_string(threads[i]->index, work_->block);
    if (end - i > 1) text.append("-").append(to_string(index_in(threads[end - 1]->rank, work_->block), work_->block));
    i = end;
  }
  return text;
}

/// Lanes that have not come to the warp collective in which the thread waits.
unsigned Scheduler::missing_lanes(const Thread& thread) {
  const Warp& warp = thread.block->warps[thread.warp()];
  for (const WarpMeeting& m : warp.meetings)
    if (m.op == thread.op && m.mask == thread.mask) return m.mask & warp.live & ~m.arrived;
  return 0;
}

std::string Scheduler::waiting_threads() const {
  // Threads that wait for the same thing, in the order of the first of them.
  std::vector<std::pair<std::string, std::vector<const Thread*>>> groups;
  std::map<std::string, std::size_t> known;
  for (const Block& block : blocks_) {
    if (block.rank < 0) continue;
    for (const Thread& t : block.threads) {
      std::string what;
      const std::string line = to_string(t.site);
      switch (t.state) {
        case Thread::State::done: continue;
        case Thread::State::parked:
          what = fmt::format("poll the atomic at {} and last saw {} ({})", t.polled,
                             static_cast<std::int64_t>(t.polled_value), line);
          break;
        case Thread::State::at_block_barrier:
          what = fmt::format("wait in {} ({})", to_string(block.barrier.kind), line);
          break;
        case Thread::State::at_warp_collective:
          what = fmt::format("wait in {} with mask {:#010x} for lanes {:#010x} ({})", to_string(t.op), t.mask,
                             missing_lanes(t), line);
          break;
        case Thread::State::at_cluster_barrier: what = fmt::format("wait at the cluster's barrier ({})", line); break;
        case Thread::State::at_grid_barrier: what = fmt::format("wait at the grid's barrier ({})", line); break;
        case Thread::State::ready:
        case Thread::State::running:
          what = t.fiber ? fmt::format("run, last seen at {}", line) : "have not started";
          break;
      }
      const auto [it, fresh] = known.try_emplace(what, groups.size());
      if (fresh) groups.emplace_back(what, std::vector<const Thread*>{});
      groups[it->second].second.push_back(&t);
    }
  }
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t g = 0; g < groups.size() && g < most; ++g)
    text += fmt::format("{}{} {}", g ? "; " : "", name_of_threads(groups[g].second), groups[g].first);
  if (groups.size() > most) text += fmt::format("; and {} more kinds of waiting", groups.size() - most);
  return text;
}

void Scheduler::fail_deadlock(const std::string& why) {
  std::string message = why + ": " + waiting_threads() + circle_of_waits();
  if (started_blocks_ < total_blocks_)
    message += fmt::format(
        "; {} of {} blocks have not started, because only {} can be resident at once: let a thread wait only for "
        "blocks "
        "that have started (take work by an atomic ticket, or launch cooperatively)",
        total_blocks_ - started_blocks_, total_blocks_, resident_limit_);
  fail(StatusCode::deadlock, message);
}

/// Records the first failure and makes every suspended thread ready to unwind; those that have not started never will.
void Scheduler::fail(StatusCode code, const std::string& message) {
  if (failed_) return;
  failed_ = true;
  RaceSilence silence;
  status_ = Status::error(code, fmt::format("kernel {}: {}", kernel(), message));
  ready_.clear();
  held_.clear();
  parked_.clear();
  for (auto& list : parked_at_) list.clear();
  parked_count_ = grid_waiting_ = 0;
  for (Block& block : blocks_) {
    if (block.rank < 0) continue;
    for (Thread& t : block.threads) {
      if (t.state == Thread::State::done || t.state == Thread::State::running) continue;
      if (t.fiber) {
        make_ready(t);
      } else {
        t.state = Thread::State::done;
        --live_;
      }
    }
  }
}

void Scheduler::fail_here(StatusCode code, Site site, const std::string& message) {
  fail(code, fmt::format("{} ({}): {}", name(*current_), to_string(site), message));
  throw Unwind{};
}

void Scheduler::race(void* report) {
  RaceSilence silence;
  if (!std::exchange(raced_, true)) {
    RaceReport found = read_race_report(report);
    found.kernel = kernel();
    found.schedule = options_;
    const Site last = current_->site;
    if (last.file != nullptr) found.last_synchronizing = line_of_source(last.file, last.line);
    std::fprintf(stderr, "%s\n", to_text(found).c_str());
    const Fiber* const fiber = current_->fiber;
    if (fiber != nullptr && current_race_fiber() == fiber->race_fiber) {
      fail(StatusCode::data_race, summary_of(found));
      current_->silence = std::make_unique<RaceSilence>();  // until it unwinds: it has no more to say
    } else if (status_.ok()) {
      // The access is the simulator's own, at the start or the end of a block: threads are not in a state to unwind.
      status_ = Status::error(StatusCode::data_race, fmt::format("kernel {}: {}", found.kernel, summary_of(found)));
    }
  }
  if (race_listener != nullptr) race_listener();
}

std::string Scheduler::where() const {
  const auto [bx, by, bz] = current_->block->index;
  const auto [tx, ty, tz] = current_->index;
  return fmt::format("block ({},{},{}) thread ({},{},{}) warp {} lane {} of kernel {}", bx, by, bz, tx, ty, tz,
                     current_->warp(), current_->lane(), kernel());
}

}  // namespace lulab::simt::host

namespace lulab::simt {

const char* where() {
  static thread_local std::string text;
  text = host::active_scheduler ? host::active_scheduler->where() : "not in a kernel";
  return text.c_str();
}

}  // namespace lulab::simt
