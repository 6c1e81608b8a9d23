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

/// Chains whose subtree has more words than some limit are the top; the others are whole subtrees, and as many
/// neighbours as fit make a group. The limit is the largest power of two parts of all words that `words` suffice for.
/// A group begins with a chain of no top, so that a chain of the top ends in the group of its last child.
///
/// Requires  chains: of a postordered tree, in the order of their nodes; at least one.
/// Ensures   words <= allowed, or else the fewest there are, and nothing else is meant.
/// Cost      O(chains log(words / allowed)).
BitmapGroups group_bitmaps(std::vector<TreeChain> chains, std::int64_t allowed);

}  // namespace lulab
