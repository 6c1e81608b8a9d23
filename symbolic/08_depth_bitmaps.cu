#include "symbolic/08_depth_bitmaps.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/matrix/permutation.h"
#include "core/matrix/postorder.h"
#include "symbolic/fill.h"
#include "symbolic/rungs.h"
#include "symbolic/symmetric_counts.h"

namespace lulab {
namespace {

constexpr unsigned bitmap_threads = 256;

/// Bits of B, of the group's nodes.   l and u: zero on entry.   grid: a thread an entry of B   shared: none
__global__ void set_bits_kernel(BitmapWork w) {
  const std::int64_t s = simt::thread_of_grid();
  if (s >= w.b.nnz) return;
  const std::int32_t j = w.tree.columns[s], i = w.b.row_idx[s];
  if (i == j || (i < j && w.u == w.l && !w.takes_transposed)) return;
  const std::int32_t k = min(i, j), ancestor = max(i, j);
  if (k < w.begin || k >= w.end) return;
  const std::int32_t depth = w.tree.node[ancestor].depth_of(ancestor);
  std::uint32_t* words = (i > j ? w.l : w.u) + w.tree.node[k].bits_of(k);
  // RACE: entries set bits of one word; a later launch reads them
  BitmapWord(words[depth / 32]).fetch_or(std::uint32_t(1) << (depth % 32), cuda::memory_order_relaxed);
}

/// visit(first, last, chain) for the nodes of the path from v that are below `end` and of the group, chain by chain.
template <class Visit>
__device__ __forceinline__ void walk_path(const BitmapWork& w, std::int32_t v, std::int32_t end, const Visit& visit) {
  end = min(end, w.end);
  while (v < end) {
    const TreeNode chain = w.tree.node[v];
    const std::int32_t first = max(v, w.begin), last = min(chain.last, end - 1);
    if (first <= last) visit(first, last, chain);
    v = chain.parent;
  }
}

/// in_second[r] = 1: chain r has `long_chain` nodes, or one below it.   in_second: zero on entry
/// grid: a thread a chain   shared: none
__global__ void find_long_chains_kernel(BitmapWork w, std::int32_t long_chain) {
  const std::int64_t k = simt::thread_of_grid();
  if (k >= w.chains || w.tree.chain[k].node.last - w.tree.chain[k].first + 1 < long_chain) return;
  auto r = static_cast<std::int32_t>(k);
  // RACE: threads mark the same chains; the first one to do so goes on to those above
  while (r != no_parent && atomicExch(&w.in_second[r], 1) == 0) r = w.tree.chain[r].next;
}

/// starts: the chains of the second launch whose children all have ended, in any order.
/// grid: a thread a chain   shared: none
__global__ void find_starts_kernel(BitmapWork w) {
  const std::int64_t r = simt::thread_of_grid();
  if (r >= w.chains || w.in_second[r] == 0 || w.tree.children[r] != 0) return;
  // RACE: threads take places of the list; the atomic gives each its own
  w.starts[atomicAdd(&w.progress->starts, 1)] = static_cast<std::int32_t>(r);
}

/// The rows of U(:,j) above the diagonal that are of the group, ascending: counts them, and writes them where `writes`.
/// A lane a path, where it is short, else a warp.   Called by whole warps.   Returns the count: writes: in all lanes;
/// else: the sum of lanes
template <bool writes>
__device__ __forceinline__ std::int32_t rows_of_upper(const BitmapWork& w, std::int32_t j, bool open,
                                                      std::int32_t* rows) {
  constexpr std::int32_t short_path = 24;
  const std::int32_t lane = threadIdx.x % 32, depth = w.tree.node[j].depth_of(j);
  const std::int64_t end = w.b.col_ptr[j + 1];
  const std::uint32_t lanes_before = (std::uint32_t(1) << lane) - 1;
  // The word of U_k with the bit of j, of node k, and how far that of the next node in the chain is.
  const auto bit_of = [&](std::int64_t word) { return w.u[word] >> (depth % 32) & 1; };
  std::int32_t found = 0;
  for (std::int64_t base = w.b.col_ptr[j];; base += 32) {
    const std::int64_t s = base + lane;
    const std::int32_t v = s < end ? w.b.row_idx[s] : j;
    const std::int32_t next = s + 1 < end ? min(w.b.row_idx[s + 1], j) : j;
    const std::uint32_t above = __ballot_sync(simt::all_lanes, v < j);
    if (above == 0) break;
    std::int32_t length = 0;
    if (v < j) walk_path(w, v, next, [&](int x, int last, const TreeNode&) { length += last - x + 1; });
    const bool is_short = length <= short_path;
    const std::uint32_t of_warp = __ballot_sync(simt::all_lanes, !is_short);

    std::int32_t count = length;
    if (open) {
      if (is_short && v < j) {
        count = 0;
        walk_path(w, v, next, [&](int x, int last, const TreeNode& chain) {
          std::int64_t word = chain.bits_of(x) + depth / 32;
          for (int k = x; k <= last; ++k, word += chain.words) count += bit_of(word);
        });
      }
      for (std::uint32_t left = of_warp; left != 0; left &= left - 1) {
        const int whose = __ffs(static_cast<int>(left)) - 1;
        const std::int32_t from = __shfl_sync(simt::all_lanes, v, whose),
                           to = __shfl_sync(simt::all_lanes, next, whose);
        std::int32_t mine = 0;
        walk_path(w, from, to, [&](int x, int last, const TreeNode& chain) {
          const std::int64_t word = chain.bits_of(x) + depth / 32;
          for (int k = x + lane; k <= last; k += 32)
            mine += bit_of(word + static_cast<std::int64_t>(k - x) * chain.words);
        });
        mine = simt::warp_sum(mine);
        if (lane == whose) count = mine;
      }
    }
    if constexpr (!writes) {
      found += count;
    } else {
      const std::int32_t at = found + simt::warp_sum_before(count);
      if (is_short && v < j) {
        std::int32_t* to = rows + at;
        walk_path(w, v, next, [&](int x, int last, const TreeNode& chain) {
          std::int64_t word = chain.bits_of(x) + depth / 32;
          for (int k = x; k <= last; ++k, word += chain.words)
            if (!open || bit_of(word)) *to++ = k;
        });
      }
      for (std::uint32_t left = of_warp; left != 0; left &= left - 1) {
        const int whose = __ffs(static_cast<int>(left)) - 1;
        const std::int32_t from = __shfl_sync(simt::all_lanes, v, whose),
                           end_of = __shfl_sync(simt::all_lanes, next, whose);
        std::int32_t* to = rows + __shfl_sync(simt::all_lanes, at, whose);
        walk_path(w, from, end_of, [&](int x, int last, const TreeNode& chain) {
          const std::int64_t word = chain.bits_of(x) + depth / 32;
          for (int first = x; first <= last; first += 32) {
            const int k = first + lane;
            const bool is_row = k <= last && (!open || bit_of(word + static_cast<std::int64_t>(k - x) * chain.words));
            const std::uint32_t all = __ballot_sync(simt::all_lanes, is_row);
            if (is_row) to[__popc(all & lanes_before)] = k;
            to += __popc(all);
          }
        });
      }
      found += simt::warp_sum(count);
    }
    if (above != simt::all_lanes) break;
  }
  return found;
}

/// Rows of L(:,j), without the diagonal; of each lane its share.   Called by whole warps.
__device__ __forceinline__ std::int32_t count_lower(const BitmapWork& w, std::int32_t j, const TreeNode& node) {
  const std::int32_t depth = node.depth_of(j);
  const std::uint32_t* l = w.l + node.bits_of(j);
  std::int32_t count = 0;
  for (std::int32_t v = threadIdx.x % 32; 32 * v < depth; v += 32) count += __popc(l[v]);
  return count;
}

/// Writes them, ascending.   chain: of j   Called by whole warps.
__device__ __forceinline__ void write_lower(const BitmapWork& w, std::int32_t j, TreeNode chain, std::int32_t* rows) {
  const std::int32_t lane = threadIdx.x % 32, depth = chain.depth_of(j);
  const std::uint32_t* l = w.l + chain.bits_of(j);
  for (std::int32_t first = (depth - 1) / 32; depth > 0 && first >= 0; first -= 32) {  // near ancestors have high bits
    const std::uint32_t mine = first >= lane ? l[first - lane] : 0;
    for (std::uint32_t left = __ballot_sync(simt::all_lanes, mine != 0); left != 0; left &= left - 1) {
      const int whose = __ffs(static_cast<int>(left)) - 1;
      const std::uint32_t word = __shfl_sync(simt::all_lanes, mine, whose);
      const std::int32_t x = 32 * (first - whose) + 31 - lane;
      const bool is_row = word >> (31 - lane) & 1;
      bool looks = is_row;
      std::int32_t row = 0;
      for (;;) {
        if (looks && x >= chain.depth) {
          row = chain.last - (x - chain.depth);
          looks = false;
        }
        if (!__any_sync(simt::all_lanes, looks)) break;
        chain = w.tree.node[chain.parent];
      }
      const std::uint32_t all = __ballot_sync(simt::all_lanes, is_row);
      if (is_row) rows[__popc(all & ((std::uint32_t(1) << lane) - 1))] = row;
      rows += __popc(all);
    }
  }
}

/// counts[j] = entries of column j of L + U that groups up to this one have; counts[n] = 0.
/// grid: a warp for each column from `begin` on   block: whole warps   shared: none
__global__ void count_kernel(BitmapWork w, std::int64_t* counts) {
  const std::int32_t lane = threadIdx.x % 32;
  const std::int64_t j = w.begin + simt::thread_of_grid() / 32;
  if (j >= w.b.n) return;
  if (j + 1 == w.b.n && lane == 0) counts[w.b.n] = 0;
  const auto column = static_cast<std::int32_t>(j);
  const TreeNode node = w.tree.node[j];
  const bool ends = column<w.end, goes_on = w.begin> 0 && w.is_top(node);
  if (!ends && !w.is_top(node)) return;
  std::int32_t count = rows_of_upper<false>(w, column, w.progress->open != 0, nullptr);
  if (ends) count += count_lower(w, column, node);
  count = simt::warp_sum(count);
  if (lane == 0) counts[j] = (goes_on ? counts[j] : 0) + count + (ends ? 1 : 0);
}

/// The columns, at col_ptr; diag[j] = where the diagonal entry is. Until the group of j: where the next row goes.
/// grid: a warp for each column from `begin` on   block: whole warps   shared: none
__global__ void write_kernel(BitmapWork w, const std::int64_t* col_ptr, std::int64_t* diag, std::int32_t* row_idx) {
  const std::int32_t lane = threadIdx.x % 32;
  const std::int64_t column = w.begin + simt::thread_of_grid() / 32;
  if (column >= w.b.n) return;
  const auto j = static_cast<std::int32_t>(column);
  const TreeNode node = w.tree.node[j];
  if (j >= w.end && !w.is_top(node)) return;
  std::int32_t* rows = row_idx + (w.begin > 0 && w.is_top(node) ? diag[j] : col_ptr[j]);
  rows += rows_of_upper<true>(w, j, w.progress->open != 0, rows);
  __syncwarp();  // RACE: all lanes have read diag[j] before it changes
  if (lane == 0) diag[j] = rows - row_idx;
  if (j >= w.end) return;
  if (lane == 0) *rows = j;
  write_lower(w, j, node, rows + 1);
}

// Where B is symmetric: U first, along paths, then L group by group.

/// Rows of U and the diagonal.   Requires work of all nodes.
/// grid: a warp a column   block: whole warps   shared: none
__global__ void write_upper_kernel(BitmapWork w, const std::int64_t* col_ptr, std::int64_t* diag,
                                   std::int32_t* row_idx) {
  const std::int64_t column = simt::thread_of_grid() / 32;
  if (column >= w.b.n) return;
  const auto j = static_cast<std::int32_t>(column);
  std::int32_t* rows = row_idx + col_ptr[j];
  rows += rows_of_upper<true>(w, j, false, rows);
  if (threadIdx.x % 32 == 0) diag[j] = rows - row_idx, *rows = j;
}

/// Nodes of the group get bits from the chains of groups in front, whose last columns are written.
/// grid: a thread a chain in front; its warp reads a column   block: whole warps   shared: none
__global__ void take_from_written_kernel(BitmapWork w, const std::int64_t* col_ptr, const std::int64_t* diag,
                                         const std::int32_t* row_idx) {
  const std::int64_t r = simt::thread_of_grid();
  TreeNode mine = {};
  mine.parent = no_parent;
  if (r < w.first_chain) mine = w.tree.chain[r].node;
  const bool takes = mine.parent >= w.begin && mine.parent < w.end;
  for (std::uint32_t left = __ballot_sync(simt::all_lanes, takes); left != 0; left &= left - 1) {
    const int whose = __ffs(static_cast<int>(left)) - 1;
    const std::int32_t last = __shfl_sync(simt::all_lanes, mine.last, whose),
                       parent = __shfl_sync(simt::all_lanes, mine.parent, whose);
    std::uint32_t* words = w.l + w.tree.node[parent].bits_of(parent);
    for (std::int64_t s = diag[last] + 1 + threadIdx.x % 32; s < col_ptr[last + 1]; s += 32) {
      const std::int32_t row = row_idx[s], depth = w.tree.node[row].depth_of(row);
      // RACE: chains set bits of one word; a later launch reads them
      if (row != parent)
        BitmapWord(words[depth / 32]).fetch_or(std::uint32_t(1) << (depth % 32), cuda::memory_order_relaxed);
    }
  }
}

/// Rows of L of the group's columns.   grid: a warp each   block: whole warps   shared: none
__global__ void write_lower_kernel(BitmapWork w, const std::int64_t* diag, std::int32_t* row_idx) {
  const std::int64_t column = w.begin + simt::thread_of_grid() / 32;
  if (column >= w.end) return;
  const auto j = static_cast<std::int32_t>(column);
  write_lower(w, j, w.tree.node[j], row_idx + diag[j] + 1);
}

/// grid: a warp a node   block: whole warps   shared: none
__global__ void count_below_kernel(BitmapWork w, std::int32_t* counts) {
  const std::int64_t j = simt::thread_of_grid() / 32;
  if (j >= w.b.n) return;
  const auto column = static_cast<std::int32_t>(j);
  const std::int32_t count = simt::warp_sum(count_lower(w, column, w.tree.node[j]));
  if (threadIdx.x % 32 == 0) counts[j] = count;
}

/// grid: a warp for each of the columns   block: whole warps   shared: none
__global__ void write_below_kernel(BitmapWork w, std::int32_t count, const std::int32_t* columns,
                                   const std::int64_t* ptr, std::int32_t* rows) {
  const std::int64_t k = simt::thread_of_grid() / 32;
  if (k < count) write_lower(w, columns[k], w.tree.node[columns[k]], rows + ptr[k]);
}

/// keys[s] = column, row of entry s with the new numbers of both, so that sorted keys are sorted columns.
/// grid: a warp a column   block: whole warps   shared: none
__global__ void renumber_kernel(std::int32_t n, const std::int64_t* col_ptr, const std::int32_t* row_idx,
                                const std::int32_t* row_number, const std::int32_t* column_number, std::int64_t* keys) {
  const std::int64_t j = simt::thread_of_grid() / 32;
  if (j >= n) return;
  const std::int64_t column = std::int64_t{column_number[j]} << 32;
  for (std::int64_t s = col_ptr[j] + threadIdx.x % 32; s < col_ptr[j + 1]; s += 32)
    keys[s] = column | row_number[row_idx[s]];
}

/// What sorted keys say. diag: may be null.   grid: a thread for each entry and each column   shared: none
__global__ void unpack_kernel(std::int32_t n, std::int64_t nnz, const std::int64_t* keys, std::int64_t* col_ptr,
                              std::int64_t* diag, std::int32_t* row_idx) {
  const std::int64_t s = simt::thread_of_grid();
  if (s < nnz) row_idx[s] = static_cast<std::int32_t>(keys[s] & 0xffffffff);
  if (s > n) return;
  const auto first_from = [&](std::int64_t key) {
    std::int64_t low = 0, high = nnz;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      (keys[middle] < key ? low : high) = keys[middle] < key ? middle + 1 : middle;
    }
    return low;
  };
  col_ptr[s] = first_from(s << 32);
  if (diag != nullptr && s < n) diag[s] = first_from(s << 32 | s);
}

template <class T>
Status make_room(simt::DeviceBuffer<T>& buffer, std::int64_t size, simt::Stream& stream) {
  if (size <= buffer.size()) return {};
  LULAB_RETURN_IF_ERROR(stream.wait());  // before the old memory goes
  buffer = {};
  return simt::make(buffer, size);
}

}  // namespace

Status DepthBitmaps::renumber(const DevicePattern& from, const std::int32_t* row_number,
                              const std::int32_t* column_number, std::int64_t* keys, const RenumberedPattern& to,
                              simt::Stream& stream) {
  int bits = 32;
  while ((std::int64_t{1} << (bits - 32)) < from.n) ++bits;
  const simt::LaunchShape columns = {.grid = simt::blocks_for(from.n, bitmap_threads / 32), .block = bitmap_threads};
  const simt::LaunchShape all = {.grid = simt::blocks_for(std::max(from.nnz, from.n + std::int64_t{1}), bitmap_threads),
                                 .block = bitmap_threads};
  std::int64_t* const sorted = keys + from.nnz;
  LULAB_RETURN_IF_ERROR(simt::launch(renumber_kernel, columns, stream, from.n, from.col_ptr, from.row_idx, row_number,
                                     column_number, keys));
  LULAB_RETURN_IF_ERROR(simt::sort_keys(keys, sorted, from.nnz, bits, work_.primitives, stream));
  return simt::launch(unpack_kernel, all, stream, from.n, from.nnz, sorted, to.col_ptr, to.diag, to.row_idx);
}

Result<DepthBitmaps> DepthBitmaps::create(std::int32_t n, std::int64_t nnz, Limits limits, Kernels kernels) {
  DepthBitmaps f;
  f.kernels_ = kernels;
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  f.limits_ = limits;
  if (limits.bytes == 0) f.limits_.bytes = static_cast<std::int64_t>(device.memory_bytes / 8);
  f.sm_count_ = device.sm_count;
  LULAB_ASSIGN_OR_RETURN(f.tree_, DeviceTree::create(n, nnz));
  LULAB_RETURN_IF_ERROR(simt::make(f.d_counts_, n + std::int64_t{1}));
  LULAB_RETURN_IF_ERROR(simt::make(f.d_progress_, 1));
  return f;
}

Status DepthBitmaps::fill(const DevicePattern& b, DeviceFilledPattern& filled, simt::Stream& stream) {
  postordered_ = true;
  groups_ = 0;  // until the bits of this search are there
  if (b.n == 0) {
    filled = {};
    return {};
  }
  LULAB_RETURN_IF_ERROR(tree_.enqueue(b, work_.primitives, stream));
  LULAB_ASSIGN_OR_RETURN(const TreeSizes sizes, tree_.sizes(stream));
  if (sizes.not_postordered == 0) return fill_postordered(b, sizes, filled, stream);
  LULAB_RETURN_IF_ERROR(fill_reordered(b, filled, stream));
  postordered_ = false;
  return {};
}

Result<BitmapGroups> DepthBitmaps::make_groups(std::int32_t n, TreeSizes& sizes, std::int64_t sides,
                                               simt::Stream& stream) {
  const std::int64_t allowed = limits_.bytes / 4 / sides, all = sizes.words;
  if (all <= allowed) return BitmapGroups{.groups = {{0, 0, all}, {sizes.chains, n, 0}}, .words = all};
  BitmapGroups groups = {.groups = {}, .words = all};
  for (const std::int32_t longest : {256, 32}) {  // shorter chains take less memory and more time
    LULAB_RETURN_IF_ERROR(tree_.cut_into_chains(longest, work_.primitives, stream));
    LULAB_ASSIGN_OR_RETURN(sizes, tree_.sizes(stream));
    if (sizes.most_above > walked_chains) break;
    LULAB_ASSIGN_OR_RETURN(groups, group_bitmaps(tree_, sizes, sides == 2, allowed, work_, stream));
    if (groups.words <= allowed) return groups;
  }
  return Status::error(
      StatusCode::out_of_memory,
      fmt::format("a bit for each ancestor of {} nodes takes {} bytes of device memory, or at least {}, one group "
                  "after the other; {} are allowed; allow more, or use symbolic/06_gsofa_sources",
                  n, 4 * sides * all, 4 * sides * groups.words, limits_.bytes));
}

Status DepthBitmaps::climb(const BitmapWork& work, unsigned team, simt::Stream& stream) {
  const simt::LaunchShape entries = {.grid = simt::blocks_for(work.b.nnz, bitmap_threads), .block = bitmap_threads};
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(work.progress, 0, offsetof(BitmapWork::Progress, open), stream));
  if (work.b.nnz > 0) LULAB_RETURN_IF_ERROR(simt::launch(set_bits_kernel, entries, stream, work));

  const auto launch = [&](const BitmapWork& w, unsigned rows) -> Status {
    const bool by_warps = team * rows == 32;
    const Kernel kernel = by_warps ? kernels_.by_warps : kernels_.by_blocks;
    const unsigned teams = by_warps ? 4 : 1, threads = team * rows * teams;
    const std::size_t shared_bytes = teams * TeamMemory::bytes(team * rows);
    LULAB_ASSIGN_OR_RETURN(const int blocks_per_sm,
                           simt::max_resident_blocks_per_sm(kernel, static_cast<int>(threads), shared_bytes));
    const std::int32_t chains_a_ticket = w.second ? 1 : std::clamp(w.b.n / 60000, 1, 16);
    return simt::launch(
        kernel,
        {.grid = simt::blocks_for(w.chains - w.first_chain, teams, std::int64_t{blocks_per_sm} * sm_count_),
         .block = threads,
         .shared_bytes = shared_bytes},
        stream, w, chains_a_ticket);
  };
  const bool many_are_open = work.u != work.l && sizes_.unsymmetric > work.b.nnz / 8;
  const bool nearly_a_path = 32 * sizes_.words > std::int64_t{work.b.n} * work.b.n / 8;
  const std::int32_t chosen = nearly_a_path ? 0 : 64, long_chain = limits_.long_chain > 0 ? limits_.long_chain : chosen;
  if (!many_are_open || work.chains - work.first_chain != sizes_.chains || long_chain == 0) return launch(work, 1);

  const simt::LaunchShape chains = {.grid = simt::blocks_for(work.chains, bitmap_threads), .block = bitmap_threads};
  BitmapWork part = work;
  LULAB_RETURN_IF_ERROR(simt::place_together(second_launch_, stream, simt::Placed{part.in_second, work.chains},
                                             simt::Placed{part.starts, work.chains}));
  LULAB_RETURN_IF_ERROR(
      simt::fill_bytes(part.in_second, 0, sizeof(*part.in_second) * static_cast<std::size_t>(work.chains), stream));
  LULAB_RETURN_IF_ERROR(simt::launch(find_long_chains_kernel, chains, stream, part, long_chain));
  LULAB_RETURN_IF_ERROR(launch(part, 1));
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(&work.progress->next_chain, 0, sizeof(work.progress->next_chain), stream));
  LULAB_RETURN_IF_ERROR(simt::launch(find_starts_kernel, chains, stream, part));
  part.second = true;
  return launch(part, std::clamp(1024 / team, 1u, 8u));
}

Result<unsigned> DepthBitmaps::team_of(const TreeSizes& sizes, std::int64_t sides) {
  const auto team = static_cast<unsigned>(32 * simt::ceil_div(sides * sizes.most_words, 32));
  if (team <= 1024) return team;
  return Status::error(StatusCode::not_implemented,
                       fmt::format("the elimination tree is {} nodes deep, too many for the threads of a block; use "
                                   "symbolic/06_gsofa_sources",
                                   32 * sizes.most_words));
}

BitmapWork DepthBitmaps::all_nodes(const DevicePattern& b, std::int64_t words_a_side, std::int64_t sides) {
  return {.tree = tree_.view(),
          .b = b,
          .first_chain = 0,
          .chains = sizes_.chains,
          .begin = 0,
          .end = b.n,
          .top_words = 0,
          .l = d_words_.data(),
          .u = d_words_.data() + (sides - 1) * words_a_side,
          .progress = d_progress_.data()};
}

Status DepthBitmaps::fill_postordered(const DevicePattern& b, TreeSizes sizes, DeviceFilledPattern& filled,
                                      simt::Stream& stream) {
  if (sizes.most_above > limits_.above)
    return Status::error(StatusCode::not_implemented,
                         fmt::format("the elimination tree has more than {} chains above each other, which would be "
                                     "climbed one after the other; use symbolic/01_gilbert_peierls",
                                     limits_.above));
  const std::int64_t sides = sizes.unsymmetric != 0 ? 2 : 1;
  LULAB_ASSIGN_OR_RETURN(const unsigned team, team_of(sizes, sides));
  LULAB_ASSIGN_OR_RETURN(const BitmapGroups groups, make_groups(b.n, sizes, sides, stream));
  const bool one = groups.size() == 1;
  sizes_ = sizes;
  LULAB_RETURN_IF_ERROR(make_room(d_words_, sides * groups.words, stream));
  LULAB_RETURN_IF_ERROR(d_progress_.fill_bytes(0, stream));
  BitmapWork work = all_nodes(b, groups.words, sides);
  work.top_words = groups.top_words;
  const auto warps = [](std::int64_t columns) {
    return simt::LaunchShape{.grid = simt::blocks_for(columns, bitmap_threads / 32), .block = bitmap_threads};
  };
  const auto for_each_group = [&](const auto& visit) -> Status {
    for (std::int64_t g = 0; g < groups.size(); ++g) {
      const BitmapGroups::Group &group = groups.groups[g], &next = groups.groups[g + 1];
      work.first_chain = group.first_chain;
      work.chains = next.first_chain;
      work.begin = group.first_node;
      work.end = next.first_node;
      LULAB_RETURN_IF_ERROR(visit());
    }
    return {};
  };
  const auto clear = [&]() -> Status {
    const std::int64_t kept = work.begin > 0 ? groups.top_words : 0;
    for (std::int64_t side = 0; side < sides; ++side)
      LULAB_RETURN_IF_ERROR(simt::fill_bytes(work.l + side * groups.words + kept, 0,
                                             4 * static_cast<std::size_t>(groups.words - kept), stream));
    return {};
  };

  const bool symmetric = sides == 1;
  if (symmetric) {
    LULAB_RETURN_IF_ERROR(count_symmetric_fill(tree_.view(), b, d_counts_.data(), work_, stream));
  } else {
    LULAB_RETURN_IF_ERROR(for_each_group([&]() -> Status {
      LULAB_RETURN_IF_ERROR(clear());
      LULAB_RETURN_IF_ERROR(climb(work, team, stream));
      return simt::launch(count_kernel, warps(b.n - work.begin), stream, work, d_counts_.data());
    }));
    if (!one) LULAB_RETURN_IF_ERROR(tree_.count_children(sizes.chains, stream));
  }
  LULAB_RETURN_IF_ERROR(make_room(filled.d_col_ptr, b.n + std::int64_t{1}, stream));
  LULAB_RETURN_IF_ERROR(make_room(filled.d_diag, b.n, stream));
  LULAB_RETURN_IF_ERROR(
      simt::exclusive_sums(d_counts_.data(), filled.d_col_ptr.data(), b.n + std::int64_t{1}, work_.primitives, stream));
  filled.n = b.n;
  filled.nnz = 0;
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(&filled.nnz, filled.d_col_ptr.data() + b.n, sizeof(filled.nnz), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  LULAB_RETURN_IF_ERROR(make_room(filled.d_row_idx, filled.nnz, stream));

  std::int64_t *col_ptr = filled.d_col_ptr.data(), *diag = filled.d_diag.data();
  std::int32_t* row_idx = filled.d_row_idx.data();
  if (symmetric) {
    LULAB_RETURN_IF_ERROR(simt::launch(write_upper_kernel, warps(b.n), stream, work, col_ptr, diag, row_idx));
    LULAB_RETURN_IF_ERROR(for_each_group([&]() -> Status {
      LULAB_RETURN_IF_ERROR(clear());
      if (work.first_chain > 0) {
        const simt::LaunchShape in_front = {.grid = simt::blocks_for(work.first_chain, bitmap_threads),
                                            .block = bitmap_threads};
        LULAB_RETURN_IF_ERROR(simt::launch(take_from_written_kernel, in_front, stream, work, col_ptr, diag, row_idx));
      }
      LULAB_RETURN_IF_ERROR(climb(work, team, stream));
      return simt::launch(write_lower_kernel, warps(work.end - work.begin), stream, work, diag, row_idx);
    }));
  } else {
    LULAB_RETURN_IF_ERROR(for_each_group([&]() -> Status {
      if (!one) {
        LULAB_RETURN_IF_ERROR(clear());
        LULAB_RETURN_IF_ERROR(climb(work, team, stream));
      }
      return simt::launch(write_kernel, warps(b.n - work.begin), stream, work, col_ptr, diag, row_idx);
    }));
  }
  groups_ = groups.size();
  return {};
}

Status DepthBitmaps::fill_in_postorder(const DevicePattern& b, std::int64_t* col_ptr, std::int32_t* row_idx,
                                       Permutation& node, DeviceFilledPattern& filled, simt::Stream& stream) {
  node.clear();
  postordered_ = true;
  groups_ = 0;
  if (b.n == 0) {
    filled = {};
    return {};
  }
  LULAB_RETURN_IF_ERROR(tree_.enqueue(b, work_.primitives, stream));
  LULAB_ASSIGN_OR_RETURN(TreeSizes sizes, tree_.sizes(stream));
  if (sizes.not_postordered != 0) {
    LULAB_ASSIGN_OR_RETURN(sizes, reorder(b, col_ptr, row_idx, node, stream));
  }
  return fill_postordered(b, sizes, filled, stream);
}

/// Renumbers the nodes in postorder, which changes no fill: all inner vertices of a fill-path are of the subtree of its
/// smaller end.
Result<TreeSizes> DepthBitmaps::reorder(const DevicePattern& b, std::int64_t* col_ptr, std::int32_t* row_idx,
                                        Permutation& node, simt::Stream& stream) {
  LULAB_ASSIGN_OR_RETURN(const auto parents, tree_.parents(stream));
  node = postorder(parents);
  const Permutation number = inverse(node);
  std::int32_t* d_number = nullptr;
  std::int64_t* keys = nullptr;
  LULAB_RETURN_IF_ERROR(
      simt::place_together(work_.arrays, stream, simt::Placed{d_number, b.n}, simt::Placed{keys, 2 * b.nnz}));
  LULAB_RETURN_IF_ERROR(simt::copy_to_device(d_number, number.data(), sizeof(number[0]) * number.size(), stream));
  LULAB_RETURN_IF_ERROR(renumber(b, d_number, d_number, keys, {col_ptr, nullptr, row_idx}, stream));
  LULAB_RETURN_IF_ERROR(
      tree_.enqueue({.n = b.n, .nnz = b.nnz, .col_ptr = col_ptr, .row_idx = row_idx}, work_.primitives, stream));
  LULAB_ASSIGN_OR_RETURN(const TreeSizes sizes, tree_.sizes(stream));
  // Of a tree with more chains above each other than are walked it is not known; fill_postordered() refuses it.
  if (sizes.not_postordered != 0 && sizes.most_above <= limits_.above)
    return Status::error(StatusCode::device_error, "a postordered tree came out unordered");
  return sizes;
}

Status DepthBitmaps::fill_reordered(const DevicePattern& b, DeviceFilledPattern& filled, simt::Stream& stream) {
  Reordered& r = reordered_;
  LULAB_RETURN_IF_ERROR(make_room(r.d_node, b.n, stream));
  LULAB_RETURN_IF_ERROR(make_room(r.d_row_idx, b.nnz, stream));
  LULAB_RETURN_IF_ERROR(make_room(r.d_col_ptr, b.n + std::int64_t{1}, stream));
  LULAB_ASSIGN_OR_RETURN(const TreeSizes sizes, reorder(b, r.d_col_ptr.data(), r.d_row_idx.data(), node_, stream));
  LULAB_RETURN_IF_ERROR(r.d_node.upload(node_, stream));
  const DevicePattern ordered = {.n = b.n, .nnz = b.nnz, .col_ptr = r.d_col_ptr.data(), .row_idx = r.d_row_idx.data()};
  LULAB_RETURN_IF_ERROR(fill_postordered(ordered, sizes, filled, stream));
  const DevicePattern found = {
      .n = b.n, .nnz = filled.nnz, .col_ptr = filled.d_col_ptr.data(), .row_idx = filled.d_row_idx.data()};
  std::int64_t* keys = nullptr;
  LULAB_RETURN_IF_ERROR(simt::place_together(work_.arrays, stream, simt::Placed{keys, 2 * found.nnz}));
  return renumber(found, r.d_node.data(), r.d_node.data(), keys,
                  {filled.d_col_ptr.data(), filled.d_diag.data(), filled.d_row_idx.data()}, stream);
}

Result<std::vector<std::int32_t>> DepthBitmaps::parents(simt::Stream& stream) const {
  LULAB_ASSIGN_OR_RETURN(auto found, tree_.parents(stream));
  std::ranges::replace(found, no_parent, -1);
  if (postordered_) return found;
  std::vector<std::int32_t> parent(found.size());
  for (std::size_t k = 0; k < found.size(); ++k) parent[node_[k]] = found[k] < 0 ? -1 : node_[found[k]];
  return parent;
}

Status DepthBitmaps::rows_below(const DevicePattern& b, std::int32_t* d_counts, simt::Stream& stream) {
  if (b.n == 0) return {};
  if (!postordered_ || groups_ != 1)
    return Status::error(StatusCode::not_implemented, "rows of B + Bᵀ filled: not in postorder, or too many bits");
  if (sizes_.unsymmetric != 0 || d_words_.size() == 0) {
    LULAB_ASSIGN_OR_RETURN(const unsigned team, team_of(sizes_, 1));
    LULAB_RETURN_IF_ERROR(tree_.count_children(sizes_.chains, stream));
    LULAB_RETURN_IF_ERROR(make_room(d_words_, sizes_.words, stream));
    LULAB_RETURN_IF_ERROR(simt::fill_bytes(d_words_.data(), 0, 4 * static_cast<std::size_t>(sizes_.words), stream));
    BitmapWork work = all_nodes(b, sizes_.words, 1);
    work.takes_transposed = sizes_.unsymmetric != 0;
    if (Status climbed = climb(work, team, stream); !climbed.ok()) {
      (void)stream.wait();
      d_words_ = {};  // else the next call takes them for those of fill()
      return climbed;
    }
  }
  return simt::launch(count_below_kernel, {.grid = simt::blocks_for(b.n, bitmap_threads / 32), .block = bitmap_threads},
                      stream, all_nodes(b, sizes_.words, 1), d_counts);
}

Status DepthBitmaps::write_below(const DevicePattern& b, std::int32_t count, const std::int32_t* d_columns,
                                 const std::int64_t* d_ptr, std::int32_t* d_rows, simt::Stream& stream) {
  if (count == 0) return {};
  return simt::launch(write_below_kernel,
                      {.grid = simt::blocks_for(count, bitmap_threads / 32), .block = bitmap_threads}, stream,
                      all_nodes(b, sizes_.words, 1), count, d_columns, d_ptr, d_rows);
}

const FillRung fill_rungs::depth_bitmaps = {
    .id = "symbolic/08_depth_bitmaps",
    .paper = "ours, from Liu 1990 and Eisenstat & Liu 1992",
    .idea = "a bit for each ancestor in the elimination tree; from the leaves up, a node gives its bits to its parent",
    .device = Device::gpu,
    .is_fast = true,
    .fill = [](CscPatternView b, const FillLimits& limits, FillWork* work) -> Result<FilledPattern> {
      LULAB_RETURN_IF_ERROR(check_fillable(b));
      LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
      LULAB_ASSIGN_OR_RETURN(const auto d_b, PatternOnDevice::create(b, stream));
      LULAB_ASSIGN_OR_RETURN(auto search,
                             DepthBitmaps::create(b.n_cols, b.nnz(), {.bytes = limits.workspace_bytes}, {}));
      DeviceFilledPattern filled;
      LULAB_RETURN_IF_ERROR(search.fill(d_b.view(), filled, stream));
      if (work != nullptr) *work = {.workspace_bytes = search.bytes()};
      return filled.download(stream);
    }};

}  // namespace lulab
