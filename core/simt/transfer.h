#pragma once
// Words sent into the shared memory of another block of the cluster, and a barrier there that counts the bytes that have
// arrived: one message does what a store, a fence and a barrier would (PTX st.async and mbarrier; sm_90 and newer, on
// older GPUs it traps). Device code of launches with LaunchShape::cluster >= 1, after core/simt/kernel.h.
//
//   if (threadIdx.x == 0) transfer_init(&barrier);                   in shared memory, then this_cluster().sync()
//   phase 0, 1, 2, ...
//     transfer_expect(&barrier, bytes);                              one thread of the receiving block
//     send(remote_shared(&word, rank), value, remote_shared(&barrier, rank));
//                                                                    any thread of any block of the cluster
//     transfer_wait(&barrier, phase % 2);                            every thread that reads the words
//
// A phase ends when it was expected and as many bytes have arrived. Words of a later phase may arrive before this one is
// expected, but not before the phase in between has ended: two barriers in turns allow a sender to be one phase ahead.

#include <cstdint>

namespace lulab::simt {

/// In shared memory.
struct alignas(8) TransferBarrier {
  std::uint64_t state;
};

}  // namespace lulab::simt

#ifdef LULAB_CUDA
#include "core/simt/cuda/transfer.h"
#else
#include "core/simt/host/transfer.h"
#endif
