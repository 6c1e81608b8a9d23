#pragma once
// The memory of depth bitmaps (08_depth_bitmaps.h) within a limit: groups of subtrees share it, one after the other.

#include <cstdint>
#include <vector>

#include "symbolic/tree_on_device.h"

namespace lulab {

struct BitmapGroups {
  struct Group {
    std::int32_t first_chain, last_chain;  // from the one up to the other, which is not of the group
  };
  std::vector<Group> groups = {};         // in the order of their nodes, which are all
  std::int64_t top_words = 0;             // of the chains above all groups' subtrees, in front of the others
  std::int64_t words = 0;                 // and of the largest group
  std::vector<TreeChain> chains = {};     // several groups: those that were given
  std::vector<std::int64_t> begins = {};  // likewise: (chains) where the words of each begin
};

/// Chains whose subtree has more words than a limit are the top; the others form whole subtrees, and neighbouring
/// subtrees make a group as long as they fit. The limit is the largest of all words, a half of them, a quarter, ... for
/// which `allowed` suffices. No group begins with a chain of the top: so that one ends in the group of its last child.
///
/// Requires  chains: of a postordered tree, in the order of their nodes; at least one.
/// Ensures   words <= allowed; or, where no limit suffices, words is the fewest of any limit, and there are no groups.
/// Cost      O(chains) for each limit that is tried.
BitmapGroups group_bitmaps(std::vector<TreeChain> chains, std::int64_t allowed);

}  // namespace lulab
