#pragma once
// Fill by bitmaps along the elimination tree, with the kernels, so that a test can change their rules.
//
//   tree of B + Bᵀ                               tree_on_device.h; rows of L(:,k) and columns of U(k,:) are ancestors
//   every k: bits L_k, U_k from B                bit d: the ancestor with d ancestors. So bits of two nodes mean the
//                                                same, and a union needs no map of indices
//   leaves to roots, chain after chain:          the child that ends last goes on with its parent; nothing waits
//     p = the nearest ancestor in L_k and U_k, or the root
//     j in U_k, up to p: L_j gets L_k above j    climb_kernel, a warp a chain; climb_long_kernel, a block a chain
//     i in L_k, up to p: U_i gets U_k above i
//   column j: the k below j with j in U_k, j, the ancestors in L_j       count_kernel, write_kernel, a warp a column
//
// Most nodes are closed: their parent is in both, and gets all. All are where B is symmetric: then U_k is L_k, and only
// L is kept. Rows of U(:,j) come in order from paths: entry k of B(:,j) starts one, which goes up to the next entry; it
// has every row where all nodes are closed. For both the tree must be postordered.

#include <cstdint>

#include "core/simt/device_tools.h"
#include "symbolic/fill_sources.h"
#include "symbolic/tree_on_device.h"

namespace lulab {

/// Passed to kernels by value.
struct BitmapWork {
  struct Progress {
    std::int32_t next_chain, next_long;  // tickets
    std::int32_t queued;                 // long chains whose children have ended
    std::int32_t open;                   // a node is not closed
  };
  TreeView tree;
  DevicePattern b;
  std::int32_t chains;
  std::int32_t* queue;   // (long chains)
  std::uint32_t *l, *u;  // (words of the tree); the same where B is symmetric: then only L is kept
  Progress* progress;
};

/// The rules that make the kernels correct. 08_depth_bitmaps_test.cu disables one at a time and expects a failure.
struct BitmapRules {
  static constexpr auto order = cuda::memory_order_acq_rel;  // RACE: of the count of children; see end_chain
  static constexpr bool waits_for_children = true;
  static constexpr bool looks_for_open_nodes = true;  // a node that is not closed gives to more than its parent
  static constexpr bool goes_up_to_the_pair = true;   // not only to the first ancestor that wants something
  static constexpr bool queues_long_chains = true;    // else a warp climbs them, too; still right
};

using BitmapWord = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

/// The bits of word w for depths below `depth`.
__device__ __forceinline__ std::uint32_t bits_below(std::int32_t depth, std::int32_t w) {
  const std::int32_t bits = depth - 32 * w;
  return bits >= 32 ? ~std::uint32_t(0) : bits <= 0 ? 0 : (std::uint32_t(1) << bits) - 1;
}
__device__ __forceinline__ bool has_bit(const std::uint32_t* words, std::int32_t depth) {
  return words[depth / 32] >> (depth % 32) & 1;
}
__device__ __forceinline__ std::int32_t highest_bit(std::uint32_t word) { return 31 - __clz(static_cast<int>(word)); }

/// A node is not closed.
__device__ __forceinline__ void tell_of_open_node(BitmapWork::Progress* progress) {
  // RACE: all who write, write 1; who reads it is a later launch
  cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(progress->open).store(1, cuda::memory_order_relaxed);
}

/// What an open node gives, to each ancestor j of depth x, nearest first: give(j, bits, x, to_l, to_u), where `bits` is
/// where the words of j begin. By whole warps.
///
/// chain, depth, l, u: of the node   pair: depth of the nearest ancestor in both; -1: none
template <class Keeps, class Give>
__device__ __forceinline__ void give_to_ancestors(const TreeView& tree, TreeNode chain, std::int32_t depth,
                                                  std::int32_t pair, const std::uint32_t* l, const std::uint32_t* u,
                                                  const Give& give) {
  const std::int32_t lowest = max(pair, 0);
  for (std::int32_t w = (depth - 1) / 32; w >= lowest / 32; --w)
    for (std::uint32_t bits = (l[w] | u[w]) & bits_below(depth, w) & ~bits_below(lowest, w); bits != 0;) {
      const std::int32_t bit = highest_bit(bits), x = 32 * w + bit;
      bits &= ~(std::uint32_t(1) << bit);
      while (x < chain.depth) chain = tree.node[chain.parent];
      const std::int32_t j = chain.last - (x - chain.depth);
      give(j, chain.bits_of(j), x, (u[w] >> bit & 1) != 0, (l[w] >> bit & 1) != 0);
      if (!Keeps::goes_up_to_the_pair) return;
    }
}

/// Tells the parent's chain that the warp's or block's chain has ended.   Called by one thread, after a barrier.
/// Returns the chain to go on with; no_parent: none.
template <class Keeps>
__device__ __forceinline__ std::int32_t end_chain(const BitmapWork& w, const TreeChain& chain) {
  if (chain.next == no_parent) return no_parent;
  // RACE: each child gave its bits before it counts down (release); the last one to count down reads them all (acquire)
  const auto left =
      cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(w.tree.children[chain.next]).fetch_sub(1, Keeps::order);
  return left == 1 || !Keeps::waits_for_children ? chain.next : no_parent;
}

/// Equivalent to   for each chain without children: climb from it, as long as it is the last child that ended
/// A chain of more than most_words is queued instead.
/// grid: any   block: 32 * bitmap_warps   shared: 2 * stage_words * bitmap_warps words, half of it where u = l
/// stage_words: at least those of a node
constexpr int bitmap_warps = 4;
template <class Keeps = BitmapRules>
__global__ void __launch_bounds__(32 * bitmap_warps)
    climb_kernel(BitmapWork w, std::int32_t stage_words, std::int32_t chains_a_ticket, std::int64_t most_words) {
  LULAB_DYNAMIC_SHARED(std::uint32_t, stages);
  const std::int32_t lane = threadIdx.x % 32;
  const bool has_u = w.u != w.l;
  std::uint32_t* stage_l = stages + (has_u ? 2 : 1) * stage_words * (threadIdx.x / 32);
  std::uint32_t* stage_u = has_u ? stage_l + stage_words : stage_l;
  const auto strided = [&](std::int32_t words, const auto& visit) {
    for (std::int32_t v = lane; v < words; v += 32) visit(v);
  };

  // Nodes first .. end - 1 of one chain, whose children have ended: as many as the stage holds.
  const auto climb_nodes = [&](const TreeChain& chain, std::int32_t first, std::int32_t end) {
    const std::int32_t width = chain.node.words, words = (end - first) * width;
    const std::int64_t at = chain.node.bits_of(first);
#pragma unroll 4
    for (std::int32_t v = lane; v < words; v += 32) {
      stage_l[v] = __ldcg(&w.l[at + v]);  // other multiprocessors changed them
      if (has_u) stage_u[v] = __ldcg(&w.u[at + v]);
    }
    __syncwarp();  // RACE: lanes loaded words, all read them
    for (std::int32_t k = first; k < end; ++k) {
      const std::uint32_t *l = stage_l + (k - first) * width, *u = stage_u + (k - first) * width;
      const std::int32_t depth = chain.node.depth_of(k);
      if (depth == 0) break;
      const auto give = [&](std::int32_t j, std::int64_t to, std::int32_t x, bool to_l, bool to_u) {
        const std::int32_t given = simt::ceil_div(x, 32);
        if (j < end) {
          std::uint32_t *l_of_j = stage_l + (j - first) * width, *u_of_j = stage_u + (j - first) * width;
          strided(given, [&](std::int32_t v) {
            if (to_l) l_of_j[v] |= l[v] & bits_below(x, v);
            if (to_u && has_u) u_of_j[v] |= u[v] & bits_below(x, v);
          });
          return;
        }
        strided(given, [&](std::int32_t v) {
          const std::uint32_t more_l = l[v] & bits_below(x, v), more_u = u[v] & bits_below(x, v);
          // RACE: descendants of j give it bits; its chain starts when all of them have ended, see end_chain
          if (to_l && more_l != 0) BitmapWord(w.l[to + v]).fetch_or(more_l, cuda::memory_order_relaxed);
          if (to_u && has_u && more_u != 0)
            BitmapWord(w.u[to + v]).fetch_or(more_u, cuda::memory_order_relaxed);  // RACE: as above
        });
      };
      if ((has_bit(l, depth - 1) && has_bit(u, depth - 1)) || !Keeps::looks_for_open_nodes) {
        const bool in_chain = k < chain.node.last;
        give(in_chain ? k + 1 : chain.node.parent, in_chain ? chain.node.bits_of(k + 1) : chain.parent_bits, depth - 1,
             true, true);
      } else {
        if (lane == 0) tell_of_open_node(w.progress);
        std::int32_t pair = -1;
        strided(simt::ceil_div(depth, 32), [&](std::int32_t v) {
          if (const std::uint32_t both = l[v] & u[v]) pair = 32 * v + highest_bit(both);
        });
        give_to_ancestors<Keeps>(w.tree, chain.node, depth, simt::warp_max(pair), l, u, give);
      }
      __syncwarp();  // RACE: lanes changed words of later nodes in the stage, all read them
    }
    strided(words, [&](std::int32_t v) {
      w.l[at + v] = stage_l[v];
      if (has_u) w.u[at + v] = stage_u[v];
    });
    __syncwarp();  // RACE: lanes read the stage before others load the next nodes; and see end_chain
  };

  for (;;) {
    const std::int32_t ticket = simt::warp_ticket(&w.progress->next_chain, chains_a_ticket);
    if (ticket >= w.chains) return;
    for (std::int32_t leaf = ticket; leaf < min(ticket + chains_a_ticket, w.chains); ++leaf) {
      TreeChain chain = w.tree.chain[leaf];
      if (chain.leaf == 0) continue;
      for (std::int32_t r = leaf; r != no_parent;) {
        const std::int32_t last = chain.node.last, width = chain.node.words;
        if (static_cast<std::int64_t>(width) * (last - chain.first + 1) > most_words && Keeps::queues_long_chains) {
          // RACE: warps queue chains, each at a place of its own; who reads them is a later launch
          if (lane == 0) w.queue[atomicAdd(&w.progress->queued, 1)] = r;
          break;
        }
        TreeChain above;  // loaded while this one is climbed
        if (chain.next != no_parent) above = w.tree.chain[chain.next];
        const std::int32_t at_once = max(1, stage_words / width);
        for (std::int32_t k = chain.first; k <= last; k += at_once) climb_nodes(chain, k, min(k + at_once, last + 1));
        std::int32_t next = no_parent;
        if (lane == 0) next = end_chain<Keeps>(w, chain);
        r = __shfl_sync(simt::all_lanes, next, 0);
        __syncwarp();  // RACE: lane 0 has seen all children end; the barrier orders all lanes' reads after that
        chain = above;
      }
    }
  }
}

/// The same from the queued chains on. A thread a word of L or of U, the union of the nodes so far in a register.
/// grid: any   block: at least twice the words of a node (once where u = l), in whole warps   shared: as many words
template <class Keeps = BitmapRules>
__global__ void __launch_bounds__(1024) climb_long_kernel(BitmapWork w) {
  constexpr int at_once = 16;                  // nodes, whose loads are under way together
  LULAB_DYNAMIC_SHARED(std::uint32_t, words);  // of an open node
  LULAB_SHARED(std::int32_t, first_open, 1);
  LULAB_SHARED(std::int32_t, pair_of_open, 1);
  LULAB_SHARED(std::int32_t, next_chain, 1);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t queued = w.progress->queued, sides = w.u != w.l ? 2 : 1;
  for (;;) {
    __syncthreads();  // RACE: all threads have read the ticket before it changes
    const std::int32_t ticket = simt::block_ticket(&w.progress->next_long);
    if (ticket >= queued) return;
    for (std::int32_t r = w.queue[ticket]; r != no_parent;) {
      const TreeChain chain = w.tree.chain[r];
      const std::int32_t width = chain.node.words, last = chain.node.last;
      const std::int32_t side = thread / width, v = thread - side * width;
      const bool on = side < sides;
      std::uint32_t* const half = (side == 0 ? w.l : w.u) + v;  // word v of node k is at half[chain.node.bits_of(k)]
      const auto load = [&](std::uint32_t(&loaded)[at_once], std::int32_t begin) {
#pragma unroll
        for (int z = 0; z < at_once; ++z)
          loaded[z] = on && begin + z <= last ? __ldcg(half + chain.node.bits_of(begin + z)) : 0;
      };
      std::uint32_t mine[at_once], ahead[at_once], all = 0;
      load(mine, chain.first);
      for (std::int32_t begin = chain.first; begin <= last;) {
        const std::int32_t end = min(begin + at_once, last + 1);
        load(ahead, end);  // useless where a node is open
        std::uint32_t open_nodes = 0;
#pragma unroll
        for (int z = 0; z < at_once; ++z) {
          const std::int32_t depth = chain.node.depth_of(begin + z);
          if (on && begin + z < end) {
            all = (all | mine[z]) & bits_below(depth, v);
            mine[z] = all;
            const bool has_parents_bit = depth == 0 || v != (depth - 1) / 32 || (all >> ((depth - 1) % 32) & 1) != 0;
            if (!has_parents_bit && Keeps::looks_for_open_nodes) open_nodes |= 1u << z;
          }
        }
        // RACE: not of memory: each thread has its words to itself until a node is open; then more barriers follow
        const bool any_open = sides == 2 && __syncthreads_or(open_nodes != 0);
        std::int32_t open = end;
        if (any_open) {
          if (thread == 0) first_open[0] = at_once;
          __syncthreads();  // RACE: thread 0 set what threads lower now
          // RACE: threads with the parent's bit in L and in U
          if (open_nodes != 0) atomicMin(&first_open[0], __ffs(static_cast<int>(open_nodes)) - 1);
          __syncthreads();  // RACE: threads lowered it, all read it
          open = begin + first_open[0];
        }
#pragma unroll
        for (int z = 0; z < at_once; ++z)
          if (on && begin + z < end && begin + z <= open) {
            half[chain.node.bits_of(begin + z)] = mine[z];
            if (begin + z == open) words[thread] = mine[z];
          }
        if (!any_open) {
          if (end > last && chain.next != no_parent && on)
            if (const std::uint32_t more = all & bits_below(chain.node.depth - 1, v))  // RACE: see give in climb_kernel
              BitmapWord(half[chain.parent_bits]).fetch_or(more, cuda::memory_order_relaxed);
          begin = end;
#pragma unroll
          for (int z = 0; z < at_once; ++z) mine[z] = ahead[z];
          continue;
        }
        if (thread == 0) {
          tell_of_open_node(w.progress);
          pair_of_open[0] = -1;
        }
        __syncthreads();  // RACE: threads wrote the words of the open node, all read them
        const std::uint32_t *l = words, *u = words + width;
        if (on && side == 0)
          if (const std::uint32_t both = l[v] & u[v])
            atomicMax(&pair_of_open[0], 32 * v + highest_bit(both));  // RACE: the highest wins
        __syncthreads();                                              // RACE: threads raised it, all read it
        const auto give = [&](std::int32_t, std::int64_t to, std::int32_t x, bool to_l, bool to_u) {
          if (!on || !(side == 0 ? to_l : to_u)) return;
          const std::uint32_t more = words[thread] & bits_below(x, v);
          // RACE: see give in climb_kernel; of this chain, only this thread reads the word
          if (more != 0) BitmapWord(half[to]).fetch_or(more, cuda::memory_order_relaxed);
        };
        give_to_ancestors<Keeps>(w.tree, chain.node, chain.node.depth_of(open), pair_of_open[0], l, u, give);
        all = 0;
        begin = open + 1;
        load(mine, begin);
        __syncthreads();  // RACE: all threads have read the words before they change
      }
      __syncthreads();  // RACE: all threads gave their bits before thread 0 tells so
      if (thread == 0) next_chain[0] = end_chain<Keeps>(w, chain);
      __syncthreads();  // RACE: thread 0 has seen all children end; the barrier orders all threads' reads after that
      r = next_chain[0];
      __syncthreads();  // RACE: all threads have read it before it changes
    }
  }
}

/// The search, with memory that it keeps for the next one.
class DepthBitmaps {
 public:
  using Kernel = void (*)(BitmapWork, std::int32_t stage_words, std::int32_t chains_a_ticket, std::int64_t most_words);
  using LongKernel = void (*)(BitmapWork);

  /// most_bytes: of the bitmaps; 0: an eighth of the device's memory.
  /// Errors    out_of_memory, device_error.
  static Result<DepthBitmaps> create(std::int32_t n, std::int64_t nnz, std::int64_t most_bytes = 0,
                                     Kernel climb = climb_kernel<>, LongKernel climb_long = climb_long_kernel<>);

  /// filled = the pattern of L + U, as fill_reference() has it. `filled` keeps its memory where that is large enough.
  /// Waits for the stream.
  ///
  /// Requires  b.n = n, b.nnz <= nnz.
  /// Errors    out_of_memory (bitmaps larger than allowed: the tree is too deep for them), device_error, deadlock.
  /// Cost      O(n · depth / 32 + nnz(L+U)) work; as many steps one after the other as the tree is deep. A tree that is
  ///           not postordered costs a copy of its parents to the host and two sorts.
  /// Source    the unions: Eisenstat & Liu 1992 (symmetric pruning); paths of U: Liu 1990, section 5; the rest ours.
  Status fill(const DevicePattern& b, DeviceFilledPattern& filled, simt::Stream& stream);

  /// Of the last fill(): was the tree postordered; and all memory but that of the result.
  bool was_postordered() const { return postordered_; }
  std::int64_t bytes() const { return 4 * d_words_.size(); }

 private:
  Status fill_postordered(const DevicePattern& b, const TreeSizes& sizes, DeviceFilledPattern& filled,
                          simt::Stream& stream);
  Status fill_reordered(const DevicePattern& b, DeviceFilledPattern& filled, simt::Stream& stream);

  Kernel climb_;
  LongKernel climb_long_;
  std::int64_t most_bytes_ = 0;
  int sm_count_ = 0;
  std::size_t shared_bytes_per_block_ = 0;
  bool postordered_ = true;
  DeviceTree tree_;
  simt::Scratch scratch_;
  simt::DeviceBuffer<std::int32_t> d_queue_;             // (n)
  simt::DeviceBuffer<std::int64_t> d_counts_;            // (n + 1)
  simt::DeviceBuffer<std::uint32_t> d_words_;            // L, then U
  simt::DeviceBuffer<BitmapWork::Progress> d_progress_;  // (1)
};

}  // namespace lulab
