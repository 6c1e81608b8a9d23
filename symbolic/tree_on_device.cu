#include "symbolic/tree_on_device.h"

#include <limits>

#include "core/simt/device_tools.h"

namespace lulab {
namespace {

constexpr unsigned tree_threads = 256;

template <class T>
constexpr std::size_t bytes_of(std::int32_t count) {
  return sizeof(T) * static_cast<std::size_t>(count);
}

using Node = cuda::atomic_ref<std::int32_t, cuda::thread_scope_device>;

__device__ void raise(std::int32_t& flag) {
  Node(flag).store(1, cuda::memory_order_relaxed);  // RACE: every writer stores 1; a later launch reads it
}

__device__ void raise_to(std::int32_t& largest, std::int32_t value) {
  // RACE: the largest wins; the look before spares most threads the atomic, which is one for all
  if (Node(largest).load(cuda::memory_order_relaxed) < value) atomicMax(&largest, value);
}

/// i becomes an ancestor of v < i; so does every ancestor of v that was known before.
/// hint[v]: some ancestor of v, which saves the way there. v grows in every round, so there are at most n.
__device__ void insert_edge(std::int32_t* parent, std::int32_t* hint, std::int32_t v, std::int32_t i) {
  for (;;) {
    // RACE: any thread may lower a parent or change a hint meanwhile; whatever value is seen is an ancestor of v in the
    // tree that results once all threads are done
    const std::int32_t up = Node(parent[v]).load(cuda::memory_order_relaxed);
    const std::int32_t far = Node(hint[v]).load(cuda::memory_order_relaxed);  // RACE: as above
    if (up == i || far == i) return;
    if (far < i) {
      const std::int32_t farther = Node(hint[far]).load(cuda::memory_order_relaxed);  // RACE: as above
      if (farther == i) return;
      if (farther < i) Node(hint[v]).store(farther, cuda::memory_order_relaxed);  // RACE: as above
      v = farther < i ? farther : far;
    } else if (up < i) {
      v = up;
    } else {
      // RACE: threads lower the parent; each gets to see the one that it displaces, and inserts that above the new one
      const std::int32_t displaced = Node(parent[v]).fetch_min(i, cuda::memory_order_relaxed);
      if (displaced == i) return;
      if (displaced < i) {
        v = displaced;
        continue;
      }
      Node(hint[v]).store(i, cuda::memory_order_relaxed);  // RACE: as above
      if (displaced == no_parent) return;
      v = i;
      i = displaced;
    }
  }
}

/// grid: a thread an entry of B   block: tree_threads   shared: none
__global__ void insert_edges_kernel(DevicePattern b, std::int32_t* columns, std::int32_t* parent, std::int32_t* hint,
                                    TreeSizes* sizes) {
  const std::int64_t s = simt::thread_of_grid();
  if (s >= b.nnz) return;
  std::int32_t j = 0;
  for (std::int32_t high = b.n; high - j > 1;) {
    const std::int32_t middle = j + (high - j) / 2;
    (b.col_ptr[middle] <= s ? j : high) = middle;
  }
  columns[s] = j;
  const std::int32_t i = b.row_idx[s];
  if (i == j) return;
  const std::int64_t end = b.col_ptr[i + 1], mirrored = simt::find_row(b.row_idx, b.col_ptr[i], end, j);
  if (mirrored == end || b.row_idx[mirrored] != j) {
    const unsigned counted = __activemask();  // lanes together, where they are: one address is slow for millions
    if (static_cast<int>(threadIdx.x % 32) == __ffs(static_cast<int>(counted)) - 1)
      // RACE: entries count themselves
      cuda::atomic_ref<std::int64_t, cuda::thread_scope_device>(sizes->unsymmetric)
          .fetch_add(__popc(counted), cuda::memory_order_relaxed);
  } else if (i < j) {
    return;  // the other one of the two is inserted
  }
  if (i < j) {
    insert_edge(parent, hint, i, j);
  } else {
    // Row h < i of the column, too, makes i an ancestor of h: a shorter way than from j.
    const std::int32_t h = s > b.col_ptr[j] ? b.row_idx[s - 1] : j;
    insert_edge(parent, hint, max(h, j), i);
  }
}

/// Node k is the first of a chain.
__device__ bool is_head(const std::int32_t* parent, std::int32_t k, std::int32_t longest) {
  return k % longest == 0 || parent[k - 1] != k;
}

/// heads[k] = 1: node k is the first of a chain.   grid: a thread a node; likewise below
__global__ void find_heads_kernel(std::int32_t n, const std::int32_t* parent, std::int32_t longest,
                                  std::int64_t* heads) {
  const auto k = static_cast<std::int32_t>(simt::thread_of_grid());
  if (k < n) heads[k] = is_head(parent, k, longest);
}

/// before: (n) heads in front of each node
__global__ void place_chains_kernel(std::int32_t n, const std::int32_t* parent, std::int32_t longest,
                                    const std::int64_t* before, std::int32_t* chain_of, TreeChain* chain,
                                    std::int32_t* children, TreeSizes* sizes) {
  const auto k = static_cast<std::int32_t>(simt::thread_of_grid());
  if (k >= n) return;
  const bool head = is_head(parent, k, longest);
  const auto r = static_cast<std::int32_t>(before[k]) + head - 1;
  chain_of[k] = r;
  if (head) chain[r].first = k, children[r] = 0;
  if (k + 1 == n || is_head(parent, k + 1, longest)) chain[r].node.last = k, chain[r].node.parent = parent[k];
  if (k == n - 1) sizes->chains = r + 1;
}

/// words[r]: of all nodes of chain r; 0 where there is no such chain.   grid: a thread for each possible chain
__global__ void measure_chains_kernel(std::int32_t n, const std::int32_t* chain_of, TreeChain* chain,
                                      std::int32_t* children, std::int64_t* words, TreeSizes* sizes) {
  const auto r = static_cast<std::int32_t>(simt::thread_of_grid());
  if (r >= n) return;
  words[r] = 0;
  if (r >= sizes->chains) return;
  TreeChain& mine = chain[r];
  const std::int32_t first = mine.first, last = mine.node.last, parent = mine.node.parent;
  std::int32_t depth = 0, chains_above = 0;
  for (std::int32_t v = parent; v != no_parent && chains_above <= walked_chains; ++chains_above) {
    const TreeNode& above = chain[chain_of[v]].node;
    depth += above.last - v + 1;
    v = above.parent;
  }
  const std::int32_t width = max(1, simt::ceil_div(depth + last - first, 32));
  mine.node.depth = depth;
  mine.node.words = width;
  mine.next = parent == no_parent ? no_parent : chain_of[parent];
  words[r] = mine.all_words();
  if (parent != no_parent) {
    atomicAdd(&children[mine.next], 1);  // RACE: the chains below one count themselves
    // A forest is postordered if the parent of each node is an ancestor of the node behind it, or that node itself:
    // then all nodes up to the parent are of its subtree.
    std::int32_t v = last + 1;
    for (int walked = 0; v < parent && walked <= walked_chains; ++walked) {
      const TreeNode& above = chain[chain_of[v]].node;
      v = above.last >= parent ? parent : above.parent;
    }
    if (v != parent) raise(sizes->not_postordered);
  }
  raise_to(sizes->most_words, width);
  raise_to(sizes->most_above, chains_above);
}

/// children: zero on entry   grid: a thread a chain
__global__ void count_children_kernel(std::int32_t chains, const TreeChain* chain, std::int32_t* children) {
  const std::int64_t r = simt::thread_of_grid();
  if (r >= chains) return;
  const std::int32_t next = chain[r].next;
  if (next != no_parent) atomicAdd(&children[next], 1);  // RACE: the chains below one count themselves
}

/// before: (n) words in front of each chain
__global__ void fill_nodes_kernel(std::int32_t n, const std::int32_t* chain_of, const std::int64_t* before,
                                  const std::int32_t* children, TreeChain* chain, TreeNode* node, TreeSizes* sizes) {
  const auto k = static_cast<std::int32_t>(simt::thread_of_grid());
  if (k >= n) return;
  const std::int32_t r = chain_of[k];
  TreeChain& mine = chain[r];
  const auto bits_of = [&](std::int32_t v, std::int32_t of) {
    return before[of] + static_cast<std::int64_t>(v - chain[of].first) * chain[of].node.words;
  };
  const TreeNode of_chain = {mine.node.last, mine.node.parent, mine.node.depth, mine.node.words,
                             bits_of(mine.node.last, r)};
  node[k] = of_chain;
  if (k == mine.first) {
    mine.node.bits = of_chain.bits;
    mine.leaf = children[r] == 0;
    mine.parent_bits = mine.next == no_parent ? 0 : bits_of(of_chain.parent, mine.next);
  }
  if (k == n - 1) sizes->words = of_chain.bits + of_chain.words;
}

}  // namespace

Result<PatternOnDevice> PatternOnDevice::create(CscPatternView a, simt::Stream& stream) {
  LULAB_ASSIGN_OR_RETURN(auto p, create(a.n_cols, a.nnz()));
  LULAB_RETURN_IF_ERROR(p.d_col_ptr.upload(a.col_ptr, stream));
  LULAB_RETURN_IF_ERROR(p.d_row_idx.upload(a.row_idx, stream));
  return p;
}

Result<PatternOnDevice> PatternOnDevice::create(std::int32_t n, std::int64_t nnz) {
  PatternOnDevice p = {.n = n, .d_col_ptr = {}, .d_row_idx = {}};
  LULAB_RETURN_IF_ERROR(simt::make(p.d_col_ptr, n + std::int64_t{1}));
  LULAB_RETURN_IF_ERROR(simt::make(p.d_row_idx, nnz));
  return p;
}

Result<DeviceTree> DeviceTree::create(std::int32_t n, std::int64_t nnz) {
  DeviceTree tree;
  tree.n_ = n;
  using simt::Placed;
  LULAB_RETURN_IF_ERROR(
      simt::place_together(tree.d_memory_, Placed{tree.d_parent_, 2 * std::int64_t{n}}, Placed{tree.d_columns_, nnz},
                           Placed{tree.d_chain_of_, n}, Placed{tree.d_children_, n}, Placed{tree.d_counts_, n},
                           Placed{tree.d_chain_, n}, Placed{tree.d_node_, n}, Placed{tree.d_sizes_, 1}));
  return tree;
}

Status DeviceTree::enqueue(const DevicePattern& b, simt::Scratch& scratch, simt::Stream& stream) {
  const simt::LaunchShape entries = {.grid = simt::blocks_for(b.nnz, tree_threads), .block = tree_threads};
  std::int32_t *parent = d_parent_, *hint = parent + n_;
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(parent, no_parent & 0xff, 2 * bytes_of<std::int32_t>(n_), stream));
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(d_sizes_, 0, sizeof(TreeSizes), stream));
  if (b.nnz > 0)
    LULAB_RETURN_IF_ERROR(simt::launch(insert_edges_kernel, entries, stream, b, d_columns_, parent, hint, d_sizes_));
  return cut_into_chains(std::numeric_limits<std::int32_t>::max(), scratch, stream);
}

Status DeviceTree::cut_into_chains(std::int32_t longest, simt::Scratch& scratch, simt::Stream& stream) {
  const simt::LaunchShape nodes = {.grid = simt::blocks_for(n_, tree_threads), .block = tree_threads};
  const std::int32_t* parent = d_parent_;
  std::int64_t* counts = d_counts_;
  LULAB_RETURN_IF_ERROR(simt::launch(find_heads_kernel, nodes, stream, n_, parent, longest, counts));
  LULAB_RETURN_IF_ERROR(simt::exclusive_sums(counts, counts, n_, scratch, stream));
  LULAB_RETURN_IF_ERROR(simt::launch(place_chains_kernel, nodes, stream, n_, parent, longest, counts, d_chain_of_,
                                     d_chain_, d_children_, d_sizes_));
  LULAB_RETURN_IF_ERROR(
      simt::launch(measure_chains_kernel, nodes, stream, n_, d_chain_of_, d_chain_, d_children_, counts, d_sizes_));
  LULAB_RETURN_IF_ERROR(simt::exclusive_sums(counts, counts, n_, scratch, stream));
  return lay_out(stream);
}

Status DeviceTree::lay_out(simt::Stream& stream) {
  const simt::LaunchShape nodes = {.grid = simt::blocks_for(n_, tree_threads), .block = tree_threads};
  return simt::launch(fill_nodes_kernel, nodes, stream, n_, d_chain_of_, d_counts_, d_children_, d_chain_, d_node_,
                      d_sizes_);
}

Status DeviceTree::count_children(std::int32_t chains, simt::Stream& stream) {
  LULAB_RETURN_IF_ERROR(simt::fill_bytes(d_children_, 0, bytes_of<std::int32_t>(chains), stream));
  return simt::launch(count_children_kernel, {.grid = simt::blocks_for(chains, tree_threads), .block = tree_threads},
                      stream, chains, d_chain_, d_children_);
}

Result<TreeSizes> DeviceTree::sizes(simt::Stream& stream) const {
  TreeSizes sizes;
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(&sizes, d_sizes_, sizeof(sizes), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return sizes;
}

Result<std::vector<std::int32_t>> DeviceTree::parents(simt::Stream& stream) const {
  std::vector<std::int32_t> parent(n_);
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(parent.data(), d_parent_, bytes_of<std::int32_t>(n_), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return parent;
}

}  // namespace lulab
