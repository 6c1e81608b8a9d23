#pragma once
// The memory of depth bitmaps (08_depth_bitmaps.h) within a limit: groups of chains share it, one after the other.

#include <cstdint>
#include <vector>

#include "core/simt/workspace.h"
#include "symbolic/tree_on_device.h"

namespace lulab {

struct BitmapGroups {
  struct Group {
    std::int32_t first_chain, first_node;
    std::int64_t words;  // without those of the top
  };
  std::vector<Group> groups = {};  // in the order of their nodes, which are all; then one behind the last
  std::int64_t top_words = 0;      // of the chains that keep theirs, in front of the others
  std::int64_t words = 0;          // and of the largest group

  std::int64_t size() const { return groups.empty() ? 0 : std::ssize(groups) - 1; }
};

/// Neighbouring chains make a group as long as they fit. A chain is then its group's root, TreeChain::next = no_parent,
/// where the next one is in another group.
///
/// With whole_subtrees chains whose subtree has more words than a limit are the top, which keeps its words; the others
/// form whole subtrees, and neighbouring subtrees make a group as long as they fit. The limit is the largest of all
/// words, a half of them, a quarter, ... for which `allowed` suffices. No group begins with a chain of the top: so that
/// one ends in the group of its last child.
///
/// Waits for the stream.
///
/// Requires  a postordered tree of at least one chain, and its sizes; the words of its chains are one behind the other.
/// Ensures   words <= allowed, and the tree is laid out so; or, where no group is small enough, words is the fewest
///           that are, there are no groups, and the tree is as before.
/// Errors    out_of_memory, device_error.
/// Cost      O(chains · chains above each other · log n) work.
Result<BitmapGroups> group_bitmaps(DeviceTree& tree, const TreeSizes& sizes, bool whole_subtrees, std::int64_t allowed,
                                   simt::Workspace& work, simt::Stream& stream);

}  // namespace lulab
