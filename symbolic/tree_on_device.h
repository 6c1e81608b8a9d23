#pragma once
// The elimination tree of B + Bᵀ on the device, cut into chains: nodes that follow each other, each the parent of the
// one before. Most trees are few chains deep.

#include <cstdint>
#include <vector>

#include "core/matrix/csc.h"
#include "core/simt/device.h"
#include "core/simt/workspace.h"

namespace lulab {

/// A square CSC pattern in device memory, sorted rows, without duplicates.
struct DevicePattern {
  std::int32_t n = 0;
  std::int64_t nnz = 0;
  const std::int64_t* col_ptr = nullptr;  // (n + 1)
  const std::int32_t* row_idx = nullptr;  // (nnz)
};

/// The memory of one.   Errors of create(): out_of_memory, device_error.
struct PatternOnDevice {
  std::int32_t n = 0;
  simt::DeviceBuffer<std::int64_t> d_col_ptr;  // (n + 1)
  simt::DeviceBuffer<std::int32_t> d_row_idx;  // (nnz)

  /// A copy of a.   Requires a: n x n, sorted rows, until stream.wait().
  static Result<PatternOnDevice> create(CscPatternView a, simt::Stream& stream);
  /// Room for one.
  static Result<PatternOnDevice> create(std::int32_t n, std::int64_t nnz);
  /// Valid as long as the memory.
  DevicePattern view() const { return {n, d_row_idx.size(), d_col_ptr.data(), d_row_idx.data()}; }
};

constexpr std::int32_t no_parent = 0x7f7f7f7f;  // of roots; every byte the same, so that memory is filled with it

/// What a node knows of its chain.
struct alignas(16) TreeNode {
  std::int32_t last;    // node of the chain
  std::int32_t parent;  // of `last`; no_parent: a root
  std::int32_t depth;   // of `last`: how many ancestors it has
  std::int32_t words;   // that hold a bit for each ancestor of the chain's first node; at least 1
  std::int64_t bits;    // where the words of `last` begin; those of the node before end there

  // Of node k of this chain: how many ancestors it has, and where its words begin.
  constexpr std::int32_t depth_of(std::int32_t k) const { return depth + last - k; }
  constexpr std::int64_t bits_of(std::int32_t k) const { return bits - std::int64_t{last - k} * words; }
};

struct alignas(16) TreeChain {
  TreeNode node;             // what its nodes know
  std::int32_t first;        // node
  std::int32_t next;         // the parent's chain; no_parent: none, or it is of another group (bitmap_groups.h)
  std::int64_t parent_bits;  // where the words of the parent begin
  std::int32_t leaf;         // 1: no chain has this one as `next`

  constexpr std::int64_t all_words() const { return std::int64_t{node.words} * (node.last - first + 1); }
};

/// Found on the device.
struct TreeSizes {
  std::int32_t chains = 0;
  std::int32_t most_words = 0;       // TreeNode::words, at most
  std::int32_t most_above = 0;       // chains above a chain, at most; above walked_chains, depths are wrong
  std::int32_t not_postordered = 0;  // else 0: each node follows all of its subtree, which is consecutive
  std::int64_t unsymmetric = 0;      // entries (i,j) of B without (j,i)
  std::int64_t words = 0;            // of all nodes
};

/// No way up is followed further.
constexpr std::int32_t walked_chains = 4096;

/// Passed to kernels by value.
struct TreeView {
  std::int32_t n;
  const TreeNode* node;         // (n)
  const TreeChain* chain;       // (chains) in the order of their nodes
  std::int32_t* children;       // (chains) how many have it as `next`; a climb counts them down
  const std::int32_t* columns;  // (nnz(B)) column of each entry
};

class DeviceTree {
 public:
  /// Errors    out_of_memory, device_error.
  static Result<DeviceTree> create(std::int32_t n, std::int64_t nnz);

  /// Enqueues the search.   Requires b.n = n >= 1, b.nnz <= nnz.
  /// Errors    out_of_memory, device_error.
  /// Cost      O(nnz α + chains · most_above) work. A thread an entry inserts its edge: the smaller of two parents
  ///           stays, the larger one becomes an ancestor of that one.
  /// Source    Liu 1990, section 4 (elimination tree with path compression); the parallel insertion is ours.
  Status enqueue(const DevicePattern& b, simt::Scratch& scratch, simt::Stream& stream);

  /// Cuts the tree of the last enqueue() into chains of at most so many nodes, which makes more of them: a chain's
  /// nodes all have the words of its first one, which is the deepest.   Requires longest >= 1.
  /// Errors    out_of_memory, device_error.
  Status cut_into_chains(std::int32_t longest, simt::Scratch& scratch, simt::Stream& stream);
  /// Where the words of each chain begin, in device memory: one behind the other at first; and the chains.
  /// Shapes    (chains).
  std::int64_t* begins() { return d_counts_; }
  TreeChain* chains() { return d_chain_; }
  /// Tells nodes and chains what begins() and TreeChain::next say now.
  /// Requires  count_children() before, where TreeChain::next has changed.   Errors device_error.
  Status lay_out(simt::Stream& stream);

  /// Makes it known again how many children each chain has, which a climb counts down.   Requires chains as in sizes().
  /// Errors    device_error.
  Status count_children(std::int32_t chains, simt::Stream& stream);

  /// Of the last enqueue() or cut_into_chains(); `words` only before begins() change. Waits for the stream.
  /// Errors    device_error, deadlock.
  Result<TreeSizes> sizes(simt::Stream& stream) const;
  /// Likewise; no_parent: a root.   Shapes (n).
  Result<std::vector<std::int32_t>> parents(simt::Stream& stream) const;
  /// The same in device memory, without waiting.
  const std::int32_t* parents() const { return d_parent_; }
  /// Valid as long as the tree.
  TreeView view() const { return {n_, d_node_, d_chain_, d_children_, d_columns_}; }

 private:
  std::int32_t n_ = 0;
  simt::DeviceBuffer<std::byte> d_memory_;  // of all of these:
  std::int32_t* d_parent_ = nullptr;        // (2 n) parents, then ancestors that are a hint
  std::int32_t* d_columns_ = nullptr;       // (nnz)
  std::int32_t* d_chain_of_ = nullptr;      // (n)
  std::int32_t* d_children_ = nullptr;      // (n) at most
  std::int64_t* d_counts_ = nullptr;        // (n), at the end the words in front of each chain
  TreeChain* d_chain_ = nullptr;            // (n) at most
  TreeNode* d_node_ = nullptr;              // (n)
  TreeSizes* d_sizes_ = nullptr;            // (1)
};

}  // namespace lulab
