#pragma once
// Fill by bitmaps along the elimination tree, with the kernels, so that a test can change their rules.
//
//   tree of B + Bᵀ                               tree_on_device.h; rows of L(:,k) and columns of U(k,:) are ancestors
//   every k: bits L_k, U_k from B                bit d: the ancestor with d ancestors. So bits of two nodes mean the
//                                                same, and a union needs no map of indices
//   leaves to roots, chain after chain:          the child that ends last goes on with its parent; nothing waits
//     p = the nearest ancestor in L_k and U_k, or the root
//     j in U_k, up to p: L_j gets L_k above j    climb_kernel, a warp or a block a chain
//     i in L_k, up to p: U_i gets U_k above i
//   column j: the k below j with j in U_k, j, the ancestors in L_j       count_kernel, write_kernel, a warp a column
//
// Where B is symmetric, B and the tree tell without any bits how long columns are (symmetric_counts.h) and what U is.
//
// Most nodes are closed: their parent is in both, and gets all. All are where B is symmetric: then U_k is L_k, and only
// L is kept. Rows of U(:,j) come in order from paths: entry k of B(:,j) starts one, which goes up to the next entry; it
// has every row where all nodes are closed. For both the tree must be postordered.
//
// Where many are open (more than an eighth of B's entries has no mirror) and all bits fit at once: nodes of long chains
// give to hundreds, so a second launch with up to eight times the threads a team climbs those chains. Not where nodes
// have more than n / 8 bits on average: those of a tree so near a path give to few.
//
// Where not all bits fit (bitmap_groups.h), groups share the memory, one after the other. Where B is symmetric these
// are neighbouring chains: a node takes the bits of a child in an earlier group from the column that is written. Else
// they are whole subtrees, the nodes above them keep their bits, and every group is climbed twice: to count, and to
// write.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/simt/device_tools.h"
#include "symbolic/bitmap_groups.h"
#include "symbolic/fill_sources.h"
#include "symbolic/tree_on_device.h"

namespace lulab {

/// Passed to kernels by value.
struct BitmapWork {
  struct Progress {
    std::int32_t next_chain;  // ticket
    std::int32_t starts;      // how many BitmapWork::starts there are
    std::int32_t open;        // 1: a node is not closed
  };
  TreeView tree;
  DevicePattern b;
  std::int32_t first_chain, chains;  // of the group: from the one up to the other; likewise:
  std::int32_t begin, end;           // nodes
  std::int64_t top_words;            // in front of those of the group: what nodes above groups keep
  std::uint32_t *l, *u;              // (words of the top and of the largest group); the same where only L is kept
  Progress* progress;
  bool takes_transposed = false;  // l is of B + Bᵀ, and u is l, although B is unsymmetric
  // Where many nodes are open, a second launch with larger teams climbs long chains and those above them: their nodes
  // have the most to give.
  std::int32_t* in_second = nullptr;  // (chains) 1: the second launch climbs the chain; null: there is only one launch
  std::int32_t* starts = nullptr;     // (progress->starts) chains that it starts from: all below them have ended
  bool second = false;

  /// This launch climbs chain r.
  __device__ bool climbs(std::int32_t r) const { return in_second == nullptr || (in_second[r] != 0) == second; }

  /// The node's bits stay from group to group.
  __device__ bool is_top(const TreeNode& node) const { return node.bits < top_words; }
};

/// The rules that make the kernel correct. 08_depth_bitmaps_test.cu disables one at a time and expects a failure.
struct BitmapRules {
  static constexpr auto order = cuda::memory_order_acq_rel;  // RACE: of the count of children; see end_chain
  static constexpr bool waits_for_children = true;
  static constexpr bool looks_for_open_nodes = true;  // a node that is not closed gives to more than its parent
  static constexpr bool goes_up_to_the_pair = true;   // not only to the first ancestor that wants something
};

using BitmapWord = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>;

/// The bits of word w for depths below `depth`.
__device__ __forceinline__ std::uint32_t bits_below(std::int32_t depth, std::int32_t w) {
  const std::int32_t bits = depth - 32 * w;
  return bits >= 32 ? ~std::uint32_t(0) : bits <= 0 ? 0 : (std::uint32_t(1) << bits) - 1;
}
/// The bit of that depth, where word w has it, else 0.
__device__ __forceinline__ std::uint32_t bit_in_word(std::int32_t depth, std::int32_t w) {
  return depth >> 5 == w ? std::uint32_t(1) << (depth & 31) : 0;
}
__device__ __forceinline__ std::int32_t highest_bit(std::uint32_t word) { return 31 - __clz(static_cast<int>(word)); }

/// An ancestor that an open node gives to.
struct alignas(16) Receiver {
  std::int64_t bits;    // where its words begin
  std::int32_t depth;   // how many ancestors it has
  std::uint32_t sides;  // bit 0: L gets bits; bit 1: U
};

/// What the threads of a team show each other, in shared memory.
struct TeamMemory {
  Receiver* receivers;     // (threads)
  std::uint32_t* shown;    // (threads)
  std::int32_t* reserved;  // (1) places in `receivers`

  /// A multiple of 16, for the next team's receivers.
  static constexpr std::size_t bytes(unsigned threads) { return (sizeof(Receiver) + 4) * threads + 16; }
  /// Called by all threads.
  __device__ TeamMemory(std::byte* memory, std::int32_t threads, std::int32_t thread)
      : receivers(reinterpret_cast<Receiver*>(memory)),
        shown(reinterpret_cast<std::uint32_t*>(receivers + threads)),
        reserved(reinterpret_cast<std::int32_t*>(shown + threads)) {
    if (thread == 0) *reserved = 0;  // read after the barriers of the first node that is open
  }
};

/// The threads that climb a chain together, one for each word of L and of U, and others that help to give: a warp.
struct WarpTeam : TeamMemory {
  __device__ explicit WarpTeam(std::byte* shared) : TeamMemory(shared + threadIdx.x / 32 * bytes(32), 32, thread()) {}
  static __device__ std::int32_t thread() { return threadIdx.x % 32; }
  static __device__ std::int32_t threads() { return 32; }
  static __device__ void sync() { __syncwarp(); }  // RACE: said where it is called; likewise below
  static __device__ std::int32_t ticket(std::int32_t* next, std::int32_t count) {
    return simt::warp_ticket(next, count);
  }
  static __device__ std::int32_t from_first(std::int32_t value) { return __shfl_sync(simt::all_lanes, value, 0); }
  static __device__ std::int32_t max(std::int32_t value) { return simt::warp_max(value); }
};
/// The same: a block.
struct BlockTeam : TeamMemory {
  __device__ explicit BlockTeam(std::byte* shared) : TeamMemory(shared, threads(), thread()) {}
  static __device__ std::int32_t thread() { return threadIdx.x; }
  static __device__ std::int32_t threads() { return blockDim.x; }
  static __device__ void sync() { __syncthreads(); }  // RACE: as above
  static __device__ std::int32_t ticket(std::int32_t* next, std::int32_t count) {
    __syncthreads();  // RACE: all threads have read the ticket before it changes
    return simt::block_ticket(next, count);
  }
  static __device__ std::int32_t from_first(std::int32_t value) {
    LULAB_SHARED(std::int32_t, told, 1);
    if (threadIdx.x == 0) told[0] = value;
    __syncthreads();  // RACE: thread 0 wrote it, all read it
    const std::int32_t from_it = told[0];
    __syncthreads();  // RACE: all have read it before it changes
    return from_it;
  }
  static __device__ std::int32_t max(std::int32_t value) {
    LULAB_SHARED(std::int32_t, largest, 1);
    if (!__syncthreads_or(value >= 0)) return -1;  // RACE: orders nothing; the barriers below do
    if (threadIdx.x == 0) largest[0] = -1;
    __syncthreads();                                // RACE: thread 0 set what threads raise now
    if (value >= 0) atomicMax(&largest[0], value);  // RACE: the largest wins
    __syncthreads();                                // RACE: threads raised it, all read it
    return largest[0];
  }
};

/// A node is not closed.
__device__ __forceinline__ void tell_of_open_node(BitmapWork::Progress* progress) {
  // RACE: every writer stores 1; a later launch reads it
  cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(progress->open).store(1, cuda::memory_order_relaxed);
}

/// L_j |= L_k above j for each ancestor j in U_k, U_j |= U_k above j for each in L_k, up to the first that is in both.
/// A row has a thread for each word of L_k and of U_k; a team is as many rows as fit. They share the work: first to
/// find where the ancestors' words are, since the chains of some are far away, then to give.
/// last: node of the chain of k   Called after the team has shown the words of k.
/// (Inlined, it takes registers from nodes that are closed.)
template <class Keeps, class Team>
__device__ __noinline__ void give_to_ancestors(const TreeNode* node, std::uint32_t* all_l, std::uint32_t* all_u,
                                               std::int32_t last, std::int32_t width, TeamMemory team) {
  const std::int32_t row_size = 32 * simt::ceil_div(2 * width, 32), rows = Team::threads() / row_size;
  const std::int32_t row = Team::thread() / row_size, w = Team::thread() - row * row_size;
  const std::int32_t side = w / width, v = w - side * width;
  const bool on = side < 2 && row < rows, finds = w < width && row < rows;

  const std::uint32_t l = finds ? team.shown[w] : 0, u = finds ? team.shown[width + w] : 0;
  const std::uint32_t ends = Keeps::goes_up_to_the_pair ? l & u : l | u;
  const std::int32_t pair = Team::max(ends != 0 ? 32 * w + highest_bit(ends) : -1);
  std::uint32_t bits = (l | u) & ~bits_below(pair, w);
  bits &= bits_below(32 * (row + 1) / rows, 0) & ~bits_below(32 * row / rows, 0);
  TreeNode chain = {};
  if (bits != 0) chain = node[last];
  const std::uint32_t word = on ? team.shown[w] : 0;
  std::uint32_t* const half = (side == 0 ? all_l : all_u) + v;
  for (bool goes_on = true; goes_on;) {
    // RACE: threads take places of the list; the atomic gives each its own
    std::int32_t at = bits != 0 ? atomicAdd(team.reserved, __popc(bits)) : 0;
    for (; bits != 0 && at < Team::threads(); ++at) {
      const std::int32_t bit = highest_bit(bits), x = 32 * w + bit;
      bits &= ~(std::uint32_t(1) << bit);
      while (x < chain.depth) chain = node[chain.parent];
      team.receivers[at] = {chain.bits_of(chain.last - (x - chain.depth)), x, (l >> bit & 1) << 1 | (u >> bit & 1)};
    }
    Team::sync();  // RACE: threads listed receivers, all read the list
    const std::int32_t count = *team.reserved;
    for (std::int32_t e = row; e < min(count, Team::threads()); e += rows) {
      const Receiver to = team.receivers[e];
      const std::uint32_t more = on && (to.sides >> side & 1) != 0 ? word & bits_below(to.depth, v) : 0;
      // RACE: teams of several descendants give to one node; rows of a team, to different ones. A thread reads the bits
      // after it has seen all descendants end, see end_chain; those of its own team, after a barrier
      if (more != 0) BitmapWord(half[to.bits]).fetch_or(more, cuda::memory_order_relaxed);
    }
    goes_on = count > Team::threads();
    Team::sync();  // RACE: all have read words, list and count before they change
    if (Team::thread() == 0) *team.reserved = 0;
    if (goes_on) Team::sync();  // RACE: the first has set the count; else the team meets before the next call
  }
}

/// Passes the bits of a chain on from node to node, and to what its nodes give to. All of its children have ended.
template <class Keeps, class Team>
__device__ __forceinline__ void climb_chain(const BitmapWork& w, const TreeChain& chain, Team& team) {
  constexpr int at_once = 8;  // nodes; their loads are under way together, and those of the next as many
  const std::int32_t width = chain.node.words, last = chain.node.last, sides = w.u != w.l ? 2 : 1;
  const std::int32_t side = Team::thread() / width, v = Team::thread() - side * width;
  const bool on = side < sides;
  std::uint32_t* const half = (side == 0 ? w.l : w.u) + v;  // the thread's word of node k: half[chain.node.bits_of(k)]
  // Node `begin` and those behind it; behind the last one, that again.
  const auto load = [&](std::uint32_t(&words)[at_once], std::int32_t begin) {
    std::uint32_t* from = half + chain.node.bits_of(begin);
#pragma unroll
    for (int z = 0; z < at_once; ++z)
      // RACE: descendants gave bits before they ended; other threads of the team, before a barrier
      words[z] = BitmapWord(from[min(z, last - begin) * width]).load(cuda::memory_order_relaxed);
  };

  std::uint32_t mine[at_once] = {}, ahead[at_once] = {}, given = 0;  // `given`: to the next node
  if (on) load(mine, chain.first);
  for (std::int32_t begin = chain.first; begin <= last;) {
    const std::int32_t count = min(at_once, last + 1 - begin), depth = chain.node.depth_of(begin);
    if (on && begin + at_once <= last) load(ahead, begin + at_once);
    // As if all nodes from here on were closed.
    std::uint32_t passed[at_once], missing = 0, own = bit_in_word(depth, v), all = given;
#pragma unroll
    for (int z = 0; z < at_once; ++z) {
      const std::uint32_t of_parent = bit_in_word(depth - z - 1, v);
      passed[z] = (all | mine[z]) & ~own;
      if (z < count) all = passed[z];
      if (z < count) missing |= of_parent & ~passed[z];
      own = of_parent;
    }
    std::int32_t depth_of_open = -1;  // of the parent of the first open node
    if (sides == 2 && Keeps::looks_for_open_nodes)
      depth_of_open = Team::max(on && missing != 0 ? 32 * v + highest_bit(missing) : -1);
    const int open = depth_of_open < 0 ? count : depth - depth_of_open - 1;
    std::uint32_t* const to = half + chain.node.bits_of(begin);
    std::uint32_t word = 0;
#pragma unroll
    for (int z = 0; z < at_once; ++z) {
      if (on && z < count && z <= open) to[z * width] = passed[z];
      if (z == open) word = passed[z];
    }
    if (open == count) {
      given = all;
      begin += count;
#pragma unroll
      for (int z = 0; z < at_once; ++z) mine[z] = ahead[z];
      continue;
    }

    if (Team::thread() == 0) tell_of_open_node(w.progress);
    team.shown[Team::thread()] = word;
    Team::sync();  // RACE: each thread wrote its word, all read them
    give_to_ancestors<Keeps, Team>(w.tree.node, w.l, w.u, last, width, team);
    given = 0;
    begin += open + 1;
    if (on && begin <= last) load(mine, begin);
  }
  if (const std::uint32_t more = given & ~bit_in_word(chain.node.depth - 1, v);
      on && chain.next != no_parent && more != 0)
    BitmapWord(half[chain.parent_bits]).fetch_or(more, cuda::memory_order_relaxed);  // RACE: as in give_to_ancestors
}

/// Tells the parent's chain that a chain has ended.   Called by one thread, after a barrier of its team.
/// Returns the chain to go on with; no_parent: none.
template <class Keeps>
__device__ __forceinline__ std::int32_t end_chain(const BitmapWork& w, const TreeChain& chain) {
  if (chain.next == no_parent) return no_parent;
  // RACE: each child gave its bits before it counts down (release); the last one to count down reads them all (acquire)
  const auto left =
      cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>(w.tree.children[chain.next]).fetch_sub(1, Keeps::order);
  return left == 1 || !Keeps::waits_for_children ? chain.next : no_parent;
}

/// Equivalent to   for each chain of the group without children, in the second launch each of `starts`: climb from it
///                 while it is the last child that ended, and the next chain is of this launch
/// grid: any   block: whole teams, of a thread at least for each word of L and of U of a node
/// shared: TeamMemory::bytes() a team
template <class Team, class Keeps = BitmapRules>
__global__ void __launch_bounds__(std::is_same_v<Team, WarpTeam> ? 128 : 1024)
    climb_kernel(BitmapWork w, std::int32_t chains_a_ticket) {
  LULAB_DYNAMIC_SHARED(std::byte, shared);
  Team team(shared);
  const std::int32_t tickets = w.second ? w.progress->starts : w.chains - w.first_chain;
  for (;;) {
    const std::int32_t ticket = Team::ticket(&w.progress->next_chain, chains_a_ticket);
    if (ticket >= tickets) return;
    for (std::int32_t k = ticket; k < min(ticket + chains_a_ticket, tickets); ++k) {
      const std::int32_t r = w.second ? w.starts[k] : w.first_chain + k;
      TreeChain chain = w.tree.chain[r];
      if (!w.climbs(r) || (!w.second && chain.leaf == 0)) continue;
      for (bool goes_on = true; goes_on;) {
        TreeChain above = {};  // loaded while this one is climbed
        if (chain.next != no_parent) above = w.tree.chain[chain.next];
        climb_chain<Keeps>(w, chain, team);
        Team::sync();  // RACE: all threads gave their bits before the first tells so
        const std::int32_t next = Team::from_first(Team::thread() == 0 ? end_chain<Keeps>(w, chain) : 0);
        Team::sync();  // RACE: the first has seen all children end; the barrier orders all reads after that
        goes_on = next != no_parent && w.climbs(next);
        chain = above;
      }
    }
  }
}

/// Where a pattern with other numbers goes, its rows sorted; this may be where it comes from.
struct RenumberedPattern {
  std::int64_t* col_ptr;
  std::int64_t* diag;  // of the diagonal entries, or null
  std::int32_t* row_idx;
};

/// The search, with memory that it keeps for the next one.
class DepthBitmaps {
 public:
  using Kernel = void (*)(BitmapWork, std::int32_t chains_a_ticket);
  struct Kernels {
    Kernel by_warps = climb_kernel<WarpTeam>, by_blocks = climb_kernel<BlockTeam>;
  };

  struct Limits {
    std::int64_t bytes = 0;              // of the bitmaps at once, at most; 0: an eighth of the device's memory
    std::int32_t above = walked_chains;  // TreeSizes::most_above, at most: chains that are climbed one after the other
    std::int32_t long_chain = 0;  // nodes of a chain that large teams climb where many nodes are open; 0: 64, or none
                                  // where the tree is nearly a path
  };

  /// Errors    out_of_memory, device_error.
  static Result<DepthBitmaps> create(std::int32_t n, std::int64_t nnz, Limits limits, Kernels kernels);
  static Result<DepthBitmaps> create(std::int32_t n, std::int64_t nnz) { return create(n, nnz, {}, {}); }

  /// Row i gets the number row_number[i], column j column_number[j], both permutations in device memory.
  /// keys: (2 from.nnz) in device memory, overwritten.   Requires the stream of the other calls.
  /// Errors    out_of_memory, device_error.
  Status renumber(const DevicePattern& from, const std::int32_t* row_number, const std::int32_t* column_number,
                  std::int64_t* keys, const RenumberedPattern& to, simt::Stream& stream);

  /// filled = the pattern of L + U, as fill_reference() has it. `filled` keeps its memory where that is large enough.
  /// Waits for the stream.
  ///
  /// Requires  b.n = n, b.nnz <= nnz.
  /// Errors    out_of_memory (groups of bitmaps larger than allowed), not_implemented (a tree deeper than the threads
  ///           of a block have bits, or too many chains above each other), device_error, deadlock.
  /// Cost      O(n · depth / 32 + nnz(L+U)) work, about twice that in groups of subtrees, and O(nnz(B)) a group; as
  ///           many steps one after the other as the tree is deep. A tree that is not postordered costs a copy of its
  ///           parents to the host and two sorts.
  /// Source    the unions: Eisenstat & Liu 1992 (symmetric pruning); paths of U: Liu 1990, section 5; counts where B is
  ///           symmetric: Gilbert, Ng & Peyton 1994; the rest ours.
  Status fill(const DevicePattern& b, DeviceFilledPattern& filled, simt::Stream& stream);
  /// The same of B(node, node), with its columns in postorder of the tree: B itself and no `node` where they are so
  /// already, else the arrays of B are written anew.
  ///
  /// Requires, Errors   as above; col_ptr and row_idx are the arrays of b.
  /// Cost      that of fill(), but where columns change places: no sort of L + U.
  Status fill_in_postorder(const DevicePattern& b, std::int64_t* col_ptr, std::int32_t* row_idx, Permutation& node,
                           DeviceFilledPattern& filled, simt::Stream& stream);

  /// L of B + Bᵀ, for the B of the last fill(). rows_below() counts the rows of each column below the diagonal.
  /// write_below() then writes those of some columns: of columns[k] from rows[ptr[k]] on.
  ///
  /// Shapes    counts: (n). columns, ptr: (count). rows: as many as the counts say.
  /// Requires  B unchanged; for write_below(), the last call was rows_below(), and its arrays are on the device.
  /// Errors    not_implemented (no postordered tree, or bits in several groups), out_of_memory, device_error,
  ///           deadlock.
  /// Cost      that of fill() without U; little where B is symmetric and fill()'s bitmaps are still there.
  Status rows_below(const DevicePattern& b, std::int32_t* d_counts, simt::Stream& stream);
  Status write_below(const DevicePattern& b, std::int32_t count, const std::int32_t* d_columns,
                     const std::int64_t* d_ptr, std::int32_t* d_rows, simt::Stream& stream);
  /// Memory that each call may overwrite, also for other steps on the same stream.
  simt::Workspace& workspace() { return work_; }
  /// Frees what the next call would use again, but for the tree.   Requires no work under way.
  void drop_workspace() {
    d_words_ = {};
    reordered_ = {};
    work_ = {};
    second_launch_ = {};
  }
  /// Parents in the elimination tree of B + Bᵀ, in device memory; no_parent: a root.   Shapes (n).
  /// Requires  was_postordered().
  const std::int32_t* parents() const { return tree_.parents(); }
  /// The same for the columns of the last fill()'s B, also where it was not in postorder, or of fill_in_postorder()'s
  /// B(node, node); -1: a root. Waits for the stream.   Errors device_error.
  Result<std::vector<std::int32_t>> parents(simt::Stream& stream) const;

  /// Of the last search: was the tree postordered, and how many groups; and the memory of the bitmaps.
  bool was_postordered() const { return postordered_; }
  std::int64_t groups() const { return groups_; }
  std::int64_t bytes() const { return 4 * d_words_.size(); }

 private:
  /// sides: 2 if U is kept, too.
  Result<BitmapGroups> make_groups(std::int32_t n, TreeSizes& sizes, std::int64_t sides, simt::Stream& stream);
  static Result<unsigned> team_of(const TreeSizes& sizes, std::int64_t sides);
  BitmapWork all_nodes(const DevicePattern& b, std::int64_t words_a_side, std::int64_t sides);
  Status climb(const BitmapWork& work, unsigned team, simt::Stream& stream);
  Status fill_postordered(const DevicePattern& b, TreeSizes sizes, DeviceFilledPattern& filled, simt::Stream& stream);
  /// Writes B(node, node) in postorder, whose tree is found then.
  Result<TreeSizes> reorder(const DevicePattern& b, std::int64_t* col_ptr, std::int32_t* row_idx, Permutation& node,
                            simt::Stream& stream);
  Status fill_reordered(const DevicePattern& b, DeviceFilledPattern& filled, simt::Stream& stream);

  Kernels kernels_;
  Limits limits_;
  int sm_count_ = 0;
  bool postordered_ = true;
  std::int64_t groups_ = 0;
  TreeSizes sizes_;
  DeviceTree tree_;
  struct Reordered {                                     // for trees that are not postordered
    simt::DeviceBuffer<std::int32_t> d_node, d_row_idx;  // (n), (nnz)
    simt::DeviceBuffer<std::int64_t> d_col_ptr;          // (n + 1)
  } reordered_;
  Permutation node_;  // of fill(): the columns in postorder, where they were not
  simt::Workspace work_;
  simt::DeviceBuffer<std::int64_t> d_counts_;            // (n + 1)
  simt::DeviceBuffer<std::uint32_t> d_words_;            // L, then U
  simt::DeviceBuffer<BitmapWork::Progress> d_progress_;  // (1)
  simt::Scratch second_launch_;                          // in_second, starts
};

}  // namespace lulab
