// Shared memory: for each resident block the static arrays first, then the dynamic one. Poisoned until it is written.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "core/simt/host/poison.h"
#include "core/simt/host/scheduler.h"
#include "core/simt/host/simulated_device.h"

extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* p, std::size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* p, std::size_t bytes);
}

namespace lulab::simt::host {

namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t gap = 16;  // between static arrays, so that AddressSanitizer sees an access past the end of one

void close(void* p, std::size_t bytes) {
  if (__asan_poison_memory_region) __asan_poison_memory_region(p, bytes);
}
void open(void* p, std::size_t bytes) {
  if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(p, bytes);
}

}  // namespace

void Scheduler::prepare_shared(Block& block) {
  const std::size_t bytes = shared_static_room + work_->shared_bytes;
  // With race detection each block gets memory without a history; else the last block's is used again.
  if (race_detection() || block.shared_bytes < bytes) {
    release_shared(block);
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    block.shared.reset(static_cast<unsigned char*>(std::aligned_alloc(alignment, whole)));
    if (!block.shared) throw std::bad_alloc();
    block.shared_bytes = bytes;
    if (race_detection())
      block.race_cells = std::make_unique<std::uint64_t[]>(first_lane_cell + 2 * warp_size * block.warps.size());
  }
  close(block.shared.get(), block.shared_bytes);
  open(block.shared.get() + shared_static_room, work_->shared_bytes);
  poison(block.shared.get() + shared_static_room, work_->shared_bytes);
  block.slot_ready.assign(block.slot_ready.size(), false);
  if (race_detection() && work_->cluster > 1) {
    // To ThreadSanitizer, a write that only the block's own threads come after: other blocks need the cluster's
    // barrier.
    void* self = current_race_fiber();
    switch_race_fiber(start_fiber_);
    poison(block.shared.get(), block.shared_bytes);
    race_release(&block.race_cells[start_cell]);
    switch_race_fiber(self);
  }
}

/// The block has ended, others of its cluster have not. They must no longer come here: they read poison,
/// AddressSanitizer reports them, and ThreadSanitizer does when the cluster's barrier does not lie between.
void Scheduler::end_shared(Block& block) {
  if (race_detection()) race_acquire(&block.race_cells[end_cell]);
  for (std::size_t s = 0; s < block.slot_ready.size(); ++s)
    if (block.slot_ready[s]) poison(block.shared.get() + slots_[s].offset, slots_[s].bytes);
  poison(block.shared.get() + shared_static_room, work_->shared_bytes);
  close(block.shared.get(), block.shared_bytes);
}

void Scheduler::release_shared(Block& block) {
  if (!block.shared) return;
  open(block.shared.get(), block.shared_bytes);
  if (!race_detection()) return;
  RaceSilence silence;
  block.shared.reset();
  block.race_cells.reset();
  block.shared_bytes = 0;
}

void* Scheduler::static_shared(const char* key, std::size_t bytes, std::size_t align, Site site) {
  Block& block = *current_->block;
  std::size_t s = 0;
  while (s < slots_.size() && slots_[s].key != key) ++s;
  if (s == slots_.size()) {
    if (leaving()) return block.shared.get();
    align = std::max(align, gap);
    const std::size_t offset = (static_end_ + align - 1) / align * align;
    static_bytes_ += bytes;
    if (static_bytes_ > static_shared_limit || offset + bytes > shared_static_room)
      fail_here(StatusCode::device_error, site,
                fmt::format("{} bytes of static shared memory in a kernel; {} is the limit, use dynamic shared memory",
                            static_bytes_, static_shared_limit));
    if (static_bytes_ + work_->shared_bytes > shared_limit_per_block)
      fail_here(StatusCode::device_error, site,
                fmt::format("{} bytes of static and {} of dynamic shared memory; {} is the limit of a block",
                            static_bytes_, work_->shared_bytes, shared_limit_per_block));
    RaceSilence silence;
    slots_.push_back({key, offset, bytes});
    static_end_ = offset + bytes + gap;
  }
  open_slot(block, s);
  return block.shared.get() + slots_[s].offset;
}

void Scheduler::open_slot(Block& block, std::size_t s) {
  if (s < block.slot_ready.size() && block.slot_ready[s]) return;
  RaceSilence silence;
  if (s >= block.slot_ready.size()) block.slot_ready.resize(s + 1);
  block.slot_ready[s] = true;
  void* p = block.shared.get() + slots_[s].offset;
  open(p, slots_[s].bytes);
  poison(p, slots_[s].bytes);
}

std::string Scheduler::name_of_shared(const void* p, int bytes) const {
  const auto* const place = static_cast<const unsigned char*>(p);
  for (const Block& block : blocks_) {
    const unsigned char* const begin = block.shared.get();
    if (begin == nullptr || place < begin || place >= begin + block.shared_bytes) continue;
    const auto offset = static_cast<std::size_t>(place - begin);
    const bool is_dynamic = offset >= shared_static_room;
    std::string array = is_dynamic ? "the dynamic array" : "no array";
    std::size_t first = is_dynamic ? shared_static_room : 0;
    for (const Slot& slot : slots_)
      if (offset >= slot.offset && offset < slot.offset + slot.bytes) {
        array = slot.key;
        first = slot.offset;
      }
    return fmt::format("element {} of {}, {} bytes each, in the shared memory of block {}",
                       (offset - first) / static_cast<std::size_t>(bytes), array, bytes,
                       to_string(block.index, work_->grid));
  }
  return {};
}

void* Scheduler::dynamic_shared() { return current_->block->shared.get() + shared_static_room; }

}  // namespace lulab::simt::host
