// The barrier of a cluster, and its blocks' ways into each other's shared memory.

#include <fmt/format.h>

#include "core/simt/host/scheduler.h"
#include "core/simt/host/simulated_device.h"

namespace lulab::simt::host {

void Scheduler::cluster_arrive(Site site) {
  if (leaving()) return;
  step(site);
  count(&AccessCounts::cluster_barriers);
  Thread& thread = *current_;
  Cluster& cluster = *thread.block->cluster;
  if (thread.arrived_at_cluster)
    fail_here(StatusCode::device_error, site,
              "arrives at the cluster's barrier a second time without having waited there");
  // Two cells in turn: a thread that is slow to leave one phase must not acquire what others did after it.
  if (race_detection()) race_release(&cluster.race_cells[cluster.phase & 1]);
  thread.arrived_at_cluster = true;
  thread.cluster_phase = cluster.phase;
  if (++cluster.arrived == cluster.live) complete_cluster_barrier(cluster);
  yield();
}

void Scheduler::cluster_wait(Site site) {
  if (leaving()) return;
  step(site);
  Thread& thread = *current_;
  Cluster& cluster = *thread.block->cluster;
  if (!thread.arrived_at_cluster)
    fail_here(StatusCode::device_error, site, "waits at the cluster's barrier without having arrived there");
  if (thread.cluster_phase == cluster.phase) {
    thread.state = Thread::State::at_cluster_barrier;
    suspend();
  } else {
    yield();
  }
  thread.arrived_at_cluster = false;
  if (race_detection()) race_acquire(&cluster.race_cells[thread.cluster_phase & 1]);
}

void Scheduler::complete_cluster_barrier(Cluster& cluster) {
  cluster.arrived = 0;
  ++cluster.phase;
  progress();
  for (Block* block : cluster.blocks)
    for (Thread& t : block->threads)
      if (t.state == Thread::State::at_cluster_barrier) make_ready(t);
}

/// A thread that has returned counts as arrived (PTX ISA, barrier.cluster), but nothing it did is ordered by that.
void Scheduler::leave_cluster(Thread& thread) {
  Block& block = *thread.block;
  Cluster& cluster = *block.cluster;
  --cluster.live;
  if (failed_) return;
  if (thread.arrived_at_cluster && thread.cluster_phase == cluster.phase) --cluster.arrived;
  if (race_detection()) race_release(&block.race_cells[end_cell]);
  if (cluster.live == 0) {
    end_cluster(cluster);
    return;
  }
  if (block.live == 0) end_shared(block);
  if (cluster.arrived == cluster.live) complete_cluster_barrier(cluster);
}

void* Scheduler::map_shared(const void* p, int rank, Site site) {
  Block& own = *current_->block;
  Cluster& cluster = *own.cluster;
  if (leaving()) return const_cast<void*>(p);
  if (rank < 0 || rank >= static_cast<int>(cluster.blocks.size()))
    fail_here(StatusCode::device_error, site,
              fmt::format("map_shared_rank to block {} of a cluster of {}", rank, cluster.blocks.size()));
  Block& other = *cluster.blocks[static_cast<std::size_t>(rank)];
  const auto at = reinterpret_cast<std::uintptr_t>(p), base = reinterpret_cast<std::uintptr_t>(own.shared.get());
  const auto within = [&](std::size_t offset, std::size_t bytes) {
    return at >= base + offset && at < base + offset + bytes;
  };
  if (within(shared_static_room, work_->shared_bytes)) return other.shared.get() + (at - base);
  for (std::size_t s = 0; s < slots_.size(); ++s)
    if (within(slots_[s].offset, slots_[s].bytes)) {
      open_slot(other, s);
      return other.shared.get() + (at - base);
    }
  fail_here(StatusCode::device_error, site,
            "map_shared_rank of an address that is not in the shared memory of the calling block");
}

unsigned Scheduler::owner_of_shared(const void* p, Site site) {
  if (leaving()) return 0;
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  for (const Block* block : current_->block->cluster->blocks) {
    const auto base = reinterpret_cast<std::uintptr_t>(block->shared.get());
    if (at >= base && at < base + block->shared_bytes) return block->cluster_rank;
  }
  fail_here(StatusCode::device_error, site,
            "query_shared_rank of an address that is not in the shared memory of the cluster");
}

}  // namespace lulab::simt::host
