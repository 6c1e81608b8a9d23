#include "symbolic/bitmap_groups.h"

#include <algorithm>
#include <array>

#include "core/simt/device_tools.h"
#include "symbolic/subtrees.h"

namespace lulab {
namespace {

constexpr unsigned group_threads = 256;
constexpr int limits = 64;  // all words, a half, a quarter, ...: none is left behind these
static_assert(limits <= group_threads);

/// Of the chains that are above this limit, but not above the one before.
struct LimitWords {
  std::int64_t top;            // of those chains
  std::int64_t largest_below;  // of the largest subtree within the limit before
};

/// Passed to kernels by value.
struct GroupWork {
  bool whole_subtrees;
  std::int32_t chains;
  TreeChain* chain;      // (chains)
  std::int64_t* begins;  // (chains) DeviceTree::begins()
  std::int64_t words;    // of all chains
  std::int32_t* first;   // (chains) of its subtree, or itself where subtrees need not be whole
  std::int64_t* within;  // (chains + 1) words in front of each chain, of those that are not the top's

  /// Those of its subtree, or its own, while `begins` is as it was.
  __device__ std::int64_t words_up_to(std::int32_t r) const {
    return begins[r] + chain[r].all_words() - begins[first[r]];
  }
  __device__ bool is_top(std::int32_t r) const { return within[r] == within[r + 1]; }
};

/// Writes `first`, adds to found: (limits), zero on entry.
/// grid: a thread a chain, likewise below   block: at least `limits`   shared: LimitWords a limit
__global__ void measure_subtrees_kernel(GroupWork w, LimitWords* found) {
  using BlockWords = cuda::atomic_ref<std::int64_t, cuda::thread_scope_block>;
  using Words = cuda::atomic_ref<std::int64_t, cuda::thread_scope_device>;
  LULAB_SHARED(LimitWords, of_block, limits);
  const auto t = static_cast<int>(threadIdx.x);
  if (t < limits) of_block[t] = {};
  __syncthreads();  // RACE: threads cleared them, all add to them
  if (const std::int64_t k = simt::thread_of_grid(); k < w.chains) {
    const auto r = static_cast<std::int32_t>(k);
    w.first[r] = first_below(r, [&](std::int32_t v) {
      while (w.whole_subtrees && v < r) v = w.chain[v].next;
      return v == r;
    });
    const std::int64_t words = w.words_up_to(r);
    int limit = 0;
    while (w.words >> limit >= words) ++limit;
    // RACE: threads add to the same words; they are read after the barrier
    BlockWords(of_block[limit].top).fetch_add(w.chain[r].all_words(), cuda::memory_order_relaxed);
    BlockWords(of_block[limit].largest_below).fetch_max(words, cuda::memory_order_relaxed);  // RACE: as above
  }
  __syncthreads();  // RACE: threads added, now each reads one
  if (t >= limits || of_block[t].top == 0) return;
  Words(found[t].top).fetch_add(of_block[t].top, cuda::memory_order_relaxed);  // RACE: blocks add to the same words
  Words(found[t].largest_below).fetch_max(of_block[t].largest_below, cuda::memory_order_relaxed);  // RACE: as above
}

/// within[r] = words of chain r, where it is not of the top; within[chains] = 0.   grid: a thread for each of them
__global__ void leave_out_top_kernel(GroupWork w, std::int64_t limit) {
  const std::int64_t k = simt::thread_of_grid();
  if (k > w.chains) return;
  const auto r = static_cast<std::int32_t>(k);
  w.within[r] = r < w.chains && w.words_up_to(r) <= limit ? w.chain[r].all_words() : 0;
}

/// c = the first chain from `begin` on with within[c + 1] > within[begin] + room.   Called by a whole warp.
/// Returns the first chain of the largest subtree within the limit that has c, or c where subtrees need not be whole;
/// w.chains: there is no such c.
__device__ std::int32_t end_of_group(const GroupWork& w, std::int32_t begin, std::int64_t room) {
  const std::int64_t lane = threadIdx.x % 32, most = w.within[begin] + room;
  std::int64_t low = begin, high = w.chains;  // c is in front of `high`, or `high` itself
  while (low < high) {
    const std::int64_t step = simt::ceil_div(high - low, 32);
    const std::int64_t mine = min(low + (lane + 1) * step, high);  // behind the lane's last one
    const std::uint32_t beyond = __ballot_sync(simt::all_lanes, w.within[mine] > most);
    if (beyond == 0) break;
    const int first = __ffs(static_cast<int>(beyond)) - 1;
    high = min(low + (first + 1) * step, high) - 1;
    low = low + first * step;
  }
  if (high == w.chains) return w.chains;
  auto r = static_cast<std::int32_t>(high);
  while (w.whole_subtrees && w.chain[r].next != no_parent && !w.is_top(w.chain[r].next)) r = w.chain[r].next;
  return w.first[r];
}

/// groups: (most + 1), with one behind the last; more than `most` are not made.   grid: a warp   shared: none
__global__ void cut_into_groups_kernel(GroupWork w, std::int64_t room, std::int64_t most, BitmapGroups::Group* groups,
                                       std::int64_t* count) {
  std::int64_t made = 0;
  std::int32_t begin = 0;
  while (begin < w.chains && made < most) {
    const std::int32_t end = end_of_group(w, begin, room);
    if (threadIdx.x == 0) groups[made] = {begin, w.chain[begin].first, w.within[end] - w.within[begin]};
    begin = end;
    ++made;
  }
  if (threadIdx.x == 0) groups[made] = {begin, w.chain[w.chains - 1].node.last + 1, 0}, *count = made;
}

/// begins, the top's in front. Where subtrees are not whole, a chain has no next one in another group.
__global__ void place_words_kernel(GroupWork w, std::int64_t top_words, const BitmapGroups::Group* groups,
                                   const std::int64_t* count) {
  const std::int64_t k = simt::thread_of_grid();
  if (k >= w.chains) return;
  const auto r = static_cast<std::int32_t>(k);
  if (w.is_top(r)) {
    w.begins[r] -= w.within[r];
    return;
  }
  std::int64_t g = 0;
  for (std::int64_t high = *count; high - g > 1;) {
    const std::int64_t middle = g + (high - g) / 2;
    (groups[middle].first_chain <= r ? g : high) = middle;
  }
  w.begins[r] = top_words + w.within[r] - w.within[groups[g].first_chain];
  if (!w.whole_subtrees && w.chain[r].next >= groups[g + 1].first_chain) w.chain[r].next = no_parent;
}

struct Limit {
  std::int64_t words, top_words;
  std::int64_t at_once;  // top_words, and those of the largest subtree
};

/// The largest limit for which `allowed` suffices; where none does, that which needs the fewest words. There is no
/// other limit than all words where subtrees need not be whole.
Limit choose_limit(const std::array<LimitWords, limits>& found, bool whole_subtrees, std::int64_t all,
                   std::int64_t allowed) {
  Limit best = {.words = all, .top_words = 0, .at_once = all};
  std::int64_t top = 0;
  const int most = whole_subtrees ? limits : 1;
  for (int l = 0; l < most && best.at_once > allowed; ++l) {
    top += found[l].top;
    std::int64_t largest = 0;
    for (int m = l + 1; m < limits; ++m) largest = std::max(largest, found[m].largest_below);
    if (top + largest < best.at_once) best = {.words = all >> l, .top_words = top, .at_once = top + largest};
  }
  return best;
}

}  // namespace

Result<BitmapGroups> group_bitmaps(DeviceTree& tree, const TreeSizes& sizes, bool whole_subtrees, std::int64_t allowed,
                                   simt::Workspace& work, simt::Stream& stream) {
  const std::int32_t chains = sizes.chains;
  GroupWork w = {.whole_subtrees = whole_subtrees,
                 .chains = chains,
                 .chain = tree.chains(),
                 .begins = tree.begins(),
                 .words = sizes.words,
                 .first = nullptr,
                 .within = nullptr};
  LimitWords* d_found = nullptr;
  std::int64_t* d_count = nullptr;
  BitmapGroups::Group* d_groups = nullptr;
  LULAB_RETURN_IF_ERROR(simt::place_together(work.arrays, stream, simt::Placed{d_found, limits},
                                             simt::Placed{w.first, chains},
                                             simt::Placed{w.within, chains + std::int64_t{1}}, simt::Placed{d_count, 1},
                                             simt::Placed{d_groups, chains + std::int64_t{1}}));
  const auto threads = [](std::int64_t of) {
    return simt::LaunchShape{.grid = simt::blocks_for(of, group_threads), .block = group_threads};
  };
  std::array<LimitWords, limits> found;
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(d_found, 0, sizeof(found), stream));
  LULAB_RETURN_IF_ERROR(simt::launch(measure_subtrees_kernel, threads(chains), stream, w, d_found));
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(found.data(), d_found, sizeof(found), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  const Limit limit = choose_limit(found, whole_subtrees, sizes.words, allowed);
  BitmapGroups result = {.groups = {}, .top_words = limit.top_words, .words = limit.at_once};
  if (limit.at_once > allowed) return result;

  // Two groups that follow each other have more words than there is room for.
  const std::int64_t room = allowed - limit.top_words;
  const std::int64_t most = std::min(2 * (sizes.words - limit.top_words) / room + 1, std::int64_t{chains});
  LULAB_RETURN_IF_ERROR(simt::launch(leave_out_top_kernel, threads(chains + std::int64_t{1}), stream, w, limit.words));
  LULAB_RETURN_IF_ERROR(simt::exclusive_sums(w.within, w.within, chains + std::int64_t{1}, work.primitives, stream));
  LULAB_RETURN_IF_ERROR(
      simt::launch(cut_into_groups_kernel, {.grid = 1, .block = 32}, stream, w, room, most, d_groups, d_count));
  LULAB_RETURN_IF_ERROR(
      simt::launch(place_words_kernel, threads(chains), stream, w, limit.top_words, d_groups, d_count));
  if (!whole_subtrees) LULAB_RETURN_IF_ERROR(tree.count_children(chains, stream));
  LULAB_RETURN_IF_ERROR(tree.lay_out(stream));
  std::int64_t count = 0;
  result.groups.resize(most + 1);
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(&count, d_count, sizeof(count), stream));
  LULAB_RETURN_IF_ERROR(
      simt::copy_to_host(result.groups.data(), d_groups, sizeof(result.groups[0]) * result.groups.size(), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  result.groups.resize(count + 1);
  if (result.groups.back().first_chain != chains)
    return Status::error(StatusCode::device_error, "groups of bitmaps end in front of the last chain");
  for (const BitmapGroups::Group& group : result.groups)
    result.words = std::max(result.words, limit.top_words + group.words);
  return result;
}

}  // namespace lulab
