#include "symbolic/symmetric_counts.h"

#include "core/simt/device_tools.h"
#include "symbolic/subtrees.h"

namespace lulab {
namespace {

constexpr unsigned count_threads = 256;

using Count = cuda::atomic_ref<std::int64_t, cuda::thread_scope_device>;

/// counts[j] = rows of U(:,j) above the diagonal. changes[k]: paths that start at node k less those that end below it.
/// Both zero on entry.   grid: a thread an entry of B   shared: none
__global__ void count_paths_kernel(TreeView tree, DevicePattern b, std::int64_t* counts, std::int64_t* changes) {
  const std::int64_t s = simt::thread_of_grid();
  if (s >= b.nnz) return;
  const std::int32_t j = tree.columns[s], v = b.row_idx[s];
  if (v >= j) return;
  const std::int32_t next = s + 1 < b.col_ptr[j + 1] ? min(b.row_idx[s + 1], j) : j;
  const TreeNode start = tree.node[v];
  std::int32_t end = v;  // then where the path ends: the first ancestor of v that is not in front of `next`
  for (TreeNode chain = start; chain.last < next && (end = chain.parent) < next;) chain = tree.node[end];
  end = max(end, next);
  const std::int32_t nodes = start.depth_of(v) - tree.node[end].depth_of(end);
  // RACE: entries add to the same sums; a later launch reads them; likewise below
  Count(counts[j]).fetch_add(nodes, cuda::memory_order_relaxed);
  Count(changes[v]).fetch_add(1, cuda::memory_order_relaxed);     // RACE: as above
  Count(changes[end]).fetch_add(-1, cuda::memory_order_relaxed);  // RACE: as above
}

/// counts[j] gets the diagonal and the rows of L(:,j).   before: (n + 1) changes in front of each node
/// grid: a thread a node   shared: none
__global__ void count_crossings_kernel(TreeView tree, const std::int64_t* before, std::int64_t* counts) {
  const std::int64_t k = simt::thread_of_grid();
  if (k >= tree.n) return;
  const auto j = static_cast<std::int32_t>(k);
  const std::int32_t first = first_below(j, [&](std::int32_t v) { return reaches(tree.node, v, j); });
  counts[j] += 1 + before[j + 1] - before[first];
}

}  // namespace

Status count_symmetric_fill(const TreeView& tree, const DevicePattern& b, std::int64_t* d_counts, simt::Workspace& work,
                            simt::Stream& stream) {
  const std::int64_t columns = b.n + std::int64_t{1};
  const std::size_t bytes = sizeof(std::int64_t) * static_cast<std::size_t>(columns);
  const auto threads = [](std::int64_t of) {
    return simt::LaunchShape{.grid = simt::blocks_for(of, count_threads), .block = count_threads};
  };
  std::int64_t* changes = nullptr;
  LULAB_RETURN_IF_ERROR(simt::place_together(work.arrays, stream, simt::Placed{changes, columns}));
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(d_counts, 0, bytes, stream));
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(changes, 0, bytes, stream));
  if (b.nnz > 0)
    LULAB_RETURN_IF_ERROR(simt::launch(count_paths_kernel, threads(b.nnz), stream, tree, b, d_counts, changes));
  LULAB_RETURN_IF_ERROR(simt::exclusive_sums(changes, changes, columns, work.primitives, stream));
  return simt::launch(count_crossings_kernel, threads(b.n), stream, tree, changes, d_counts);
}

}  // namespace lulab
