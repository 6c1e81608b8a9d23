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
  // Of L; as many of U, where that is kept, too.
  std::int64_t top_words = 0;  // of the chains that keep theirs, in front of the others
  std::int64_t words = 0;      // and of the largest group

  std::int64_t size() const { return groups.empty() ? 0 : std::ssize(groups) - 1; }
};

/// Neighbouring chains make a group as long as they fit. Where the parent's chain is in another group,
/// TreeChain::next becomes no_parent.
///
/// With whole_subtrees chains whose subtree has more words than a limit are the top, which keeps its words; the others
/// form whole subtrees, and neighbouring subtrees make a group as long as they fit. The limit is the largest of all
/// words, a half of them, a quarter, ... for which `allowed` suffices. No group but the first begins with a chain of
/// the top: so that one ends in the group of its last child. Links to the top stay.
///
/// Waits for the stream.
///
/// Units     allowed: words of 32 bits.
/// Requires  a postordered tree of at least one chain, and its sizes; the words of its chains are one behind the other.
/// Ensures   words <= allowed, and the tree is laid out so; or, where that is too few, words is the fewest that any
///           limit needs, there are no groups, and the tree is as before.
/// Errors    out_of_memory, device_error.
/// Cost      O(n + chains · chains above each other · log n) work; a warp ends the groups, one after the other.
Result<BitmapGroups> group_bitmaps(DeviceTree& tree, const TreeSizes& sizes, bool whole_subtrees, std::int64_t allowed,
                                   simt::Workspace& work, simt::Stream& stream);

}  // namespace lulab
