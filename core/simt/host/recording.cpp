// What the scheduler tells a Trace.

#include "core/simt/host/scheduler.h"

namespace lulab::simt::host {

namespace {

/// The bits of an integer, which is what kernels of ours use atomics for beside atomicAdd of values.
double as_integer(std::uint64_t bits, int bytes) {
  return bytes == 4 ? static_cast<double>(static_cast<std::int32_t>(bits))
                    : static_cast<double>(static_cast<std::int64_t>(bits));
}

}  // namespace

TraceEvent Scheduler::event_here(TraceEvent::Kind kind, Site site) const {
  return {.kind = kind,
          .block = current_->block->rank,
          .warp = current_->warp(),
          .lane = current_->lane(),
          .column = current_->column,
          .site = site};
}

void Scheduler::record_atomic(const AtomicAccess& access, Site site, bool spins) const {
  if (spins && current_->wait_recorded) return;
  current_->wait_recorded = spins;
  TraceEvent event = event_here(spins ? TraceEvent::Kind::waits : TraceEvent::Kind::atomic, site);
  event.after = as_integer(access.value, access.bytes);
  event.reads = access.reads;
  event.writes = access.writes;
  event.order = access.order;
  active_trace->add(event, access.address, static_cast<std::size_t>(access.bytes));
}

void Scheduler::record_block(TraceEvent::Kind kind, const Block& block) const {
  active_trace->add({.kind = kind, .block = block.rank});
}

}  // namespace lulab::simt::host
