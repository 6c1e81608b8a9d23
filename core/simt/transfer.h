#pragma once
// Words sent into the shared memory of another block of the cluster, and a barrier there that counts the bytes that
// have arrived: one message does what a store, a fence and a barrier would (PTX st.async and mbarrier; sm_90 and newer,
// on older GPUs it traps). Device code of launches with LaunchShape::cluster of 2 or more, as compute-sanitizer wants
// it; the simulator takes one block as well. Include after core/simt/kernel.h.
//
//   TransferBarrier arrived[2];                                      in shared memory; one thread initializes each,
//                                                                    then this_cluster().sync()
//   phase 0, 1, 2, ...                                               with barrier b = arrived[phase % 2]
//     transfer_expect(&b, bytes);                                    one thread of the receiving block
//     send(remote_shared(&word, rank), value, remote_shared(&b, rank));
//                                                                    any thread of any block of the cluster
//     transfer_wait(&b, phase / 2 % 2);                              every thread that reads the words
//
// A barrier's phase ends when it was expected and as many bytes have arrived. Words may arrive before their phase is
// expected, but never before the barrier's previous phase has ended: so two barriers take turns, which allows blocks
// that each wait for all others to be one phase apart. The places of the words must take turns as well, one more of
// them if a phase's words are still read while the next phase's are sent and awaited.

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
