#pragma once
// core/simt/transfer.h in the simulator: the barrier's word holds the parity of its phase (bit 63), whether the phase
// was expected (bit 62), and the bytes still to come (low half, negative while words are early).

#include <cstring>

#include "core/simt/kernel.h"

namespace lulab::simt {

struct RemoteShared {
  char* address;
  RemoteShared operator+(int bytes) const { return {address + bytes}; }
};

inline RemoteShared remote_shared(const void* local, int rank, host::Site site = host::Site::here()) {
  return {static_cast<char*>(host::map_shared(const_cast<void*>(local), rank, site))};
}

inline void transfer_init(TransferBarrier* barrier) { barrier->state = 0; }

namespace host {

constexpr std::uint64_t phase_bit = std::uint64_t{1} << 63, expected_bit = std::uint64_t{1} << 62;

inline void change_transfer(TransferBarrier* barrier, std::int32_t bytes, std::uint64_t expected, Site site) {
  // RACE: blocks of the cluster count bytes on one word; acquire and release show the waiting thread what they wrote
  // before
  atomic_update(&barrier->state, __ATOMIC_ACQ_REL, Scope::device, site, [=](std::uint64_t state) {
    const std::uint32_t left = static_cast<std::uint32_t>(state) + static_cast<std::uint32_t>(bytes);
    state = (state & (phase_bit | expected_bit)) | expected | left;
    return (state & expected_bit) && left == 0 ? (state & phase_bit) ^ phase_bit : state;
  });
}

}  // namespace host

inline void transfer_expect(TransferBarrier* barrier, unsigned bytes, host::Site site = host::Site::here()) {
  host::change_transfer(barrier, static_cast<std::int32_t>(bytes), host::expected_bit, site);
}

template <class Word>
void send(RemoteShared to, Word word, RemoteShared barrier, host::Site site = host::Site::here()) {
  static_assert(sizeof(Word) == 4 || sizeof(Word) == 8);
  *reinterpret_cast<Word*>(to.address) = word;
  host::change_transfer(reinterpret_cast<TransferBarrier*>(barrier.address), -static_cast<std::int32_t>(sizeof(Word)),
                        0, site);
}

/// RACE: senders write words and count their bytes; the acquire orders the words before what the caller reads next.
inline void transfer_wait(TransferBarrier* barrier, unsigned parity, host::Site site = host::Site::here()) {
  while (host::atomic_load(&barrier->state, __ATOMIC_ACQUIRE, host::Scope::device, site) >> 63 == parity) {
  }
}

}  // namespace lulab::simt
