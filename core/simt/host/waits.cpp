// The circle of threads that wait for each other, for the report of a deadlock.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/simt/host/scheduler.h"

namespace lulab::simt::host {

/// What one thread waits for, in words, and a thread that would have to go on first; nullptr: nobody does.
struct Scheduler::Wait {
  std::string what;
  const Thread* next = nullptr;
};

void Scheduler::note_wait(std::int64_t column) {
  current_->awaited = column;
  current_->awaited_at = nullptr;
}

namespace {

/// The first thread of the block for which it is true.
template <class Is>
const Thread* first_thread(const Block& block, const Is& is) {
  for (const Thread& t : block.threads)
    if (t.state != Thread::State::done && is(t)) return &t;
  return nullptr;
}

/// Has it noted that it will write there?
bool will_write(const Thread& thread, const void* address) {
  return std::ranges::any_of(thread.writes, [&](const Written& w) {
    const auto offset = static_cast<const std::byte*>(address) - static_cast<const std::byte*>(w.first);
    if (offset < 0 || w.stride == 0) return offset >= 0 && offset < w.bytes;
    return offset / w.stride < w.times && offset % w.stride < w.bytes;
  });
}

}  // namespace

Scheduler::Wait Scheduler::wait_of(const Thread& thread) const {
  const auto first_resident = [&](const auto& is) -> const Thread* {
    for (const Block& block : blocks_)
      if (block.rank >= 0)
        if (const Thread* t = first_thread(block, is)) return t;
    return nullptr;
  };
  const auto with_name = [&](std::string what, const Thread* t) {
    return Wait{t == nullptr ? what : what + name(*t), t};
  };
  using State = Thread::State;
  switch (thread.state) {
    case State::parked: {
      if (thread.awaited < 0 || thread.awaited_at != thread.polled) {
        const Thread* writer = first_resident([&](const Thread& t) { return will_write(t, thread.polled); });
        if (writer == nullptr) return {"a value that nobody changes", nullptr};
        return with_name(writer->column < 0 ? "a value of " : fmt::format("column {} of ", writer->column), writer);
      }
      const Thread* owner = first_resident([&](const Thread& t) { return t.column == thread.awaited; });
      const std::string column = fmt::format("column {}", thread.awaited);
      if (owner != nullptr) return with_name(column + " of ", owner);
      if (started_blocks_ < total_blocks_)
        return with_name(column + ", which no block that has started works on; others wait for the place of ", &thread);
      return {column + ", on which no thread works", nullptr};
    }
    case State::at_block_barrier:
      return with_name(to_string(thread.block->barrier.kind) + " of ",
                       first_thread(*thread.block, [](const Thread& t) { return t.state != State::at_block_barrier; }));
    case State::at_warp_collective:
      return with_name(to_string(thread.op) + " of ", first_thread(*thread.block, [&](const Thread& t) {
                         return t.warp() == thread.warp() && (missing_lanes(thread) >> t.lane() & 1) != 0;
                       }));
    case State::at_cluster_barrier:
      for (const Block* block : thread.block->cluster->blocks)
        if (const Thread* t = first_thread(*block, [](const Thread& other) { return !other.arrived_at_cluster; }))
          return with_name("the cluster's barrier of ", t);
      return {};
    case State::at_grid_barrier:
      return with_name("the grid's barrier of ",
                       first_resident([](const Thread& t) { return t.state != State::at_grid_barrier; }));
    case State::ready:
    case State::running:
    case State::done: return {};
  }
  return {};
}

/// "; in a circle: block 0 thread 3 waits for column 5 of block 1 thread 0, that for __syncthreads of block 1 thread 7,
/// that for column 2 of block 0 thread 3". Without a circle the chain of the first thread that waits, to its end.
std::string Scheduler::circle_of_waits() const {
  std::string longest;
  std::vector<const Thread*> seen_before;  // by earlier chains, which led to no circle
  for (const Block& block : blocks_) {
    if (block.rank < 0) continue;
    for (const Thread& start : block.threads) {
      std::vector<std::pair<const Thread*, std::string>> chain;
      const Thread* t = &start;
      const auto is_in_chain = [&](const Thread* x) {
        return std::ranges::find(chain, x, &std::pair<const Thread*, std::string>::first);
      };
      while (t != nullptr && is_in_chain(t) == chain.end() && std::ranges::find(seen_before, t) == seen_before.end()) {
        Wait wait = wait_of(*t);
        if (wait.what.empty()) break;
        chain.emplace_back(t, std::move(wait.what));
        t = wait.next;
      }
      const auto circle = t == nullptr ? chain.end() : is_in_chain(t);
      const auto told = [&](auto first) {
        std::string text = name(*first->first);
        for (auto link = first; link != chain.end(); ++link)
          text += fmt::format("{} {}", link == first ? " waits for" : ", that for", link->second);
        return text;
      };
      if (circle != chain.end()) return "; in a circle: " + told(circle);
      if (longest.empty() && !chain.empty()) longest = "; " + told(chain.begin());
      for (const auto& link : chain) seen_before.push_back(link.first);
    }
  }
  return longest;
}

}  // namespace lulab::simt::host
