#include "symbolic/bitmap_groups.h"

#include <algorithm>
#include <utility>

namespace lulab {
namespace {

std::int64_t words_of(const TreeChain& chain) {
  return std::int64_t{chain.node.words} * (chain.node.last - chain.first + 1);
}

}  // namespace

BitmapGroups group_bitmaps(std::vector<TreeChain> chains, std::int64_t allowed) {
  const auto count = static_cast<std::int32_t>(chains.size());
  struct Subtree {
    std::int64_t words = 0;
    std::int32_t chains = 0;
  };
  std::vector<Subtree> below(count);  // each chain's, itself included; a chain follows those below it
  std::int64_t all = 0;
  for (std::int32_t c = 0; c < count; ++c) {
    below[c].words += words_of(chains[c]);
    ++below[c].chains;
    all += words_of(chains[c]);
    if (chains[c].next == no_parent) continue;
    below[chains[c].next].words += below[c].words;
    below[chains[c].next].chains += below[c].chains;
  }

  BitmapGroups result;
  std::int64_t limit = all;
  result.words = all;
  const auto is_top = [&](std::int32_t c) { return below[c].words > limit; };
  for (std::int64_t part = all; part > 0 && result.words > allowed; part /= 2) {
    std::int64_t top = 0, largest = 0;
    for (std::int32_t c = 0; c < count; ++c) {
      if (below[c].words > part)
        top += words_of(chains[c]);
      else
        largest = std::max(largest, below[c].words);
    }
    if (top + largest >= result.words) continue;
    result.words = top + largest;
    result.top_words = top;
    limit = part;
  }
  if (result.words > allowed) return result;

  const std::int64_t room = allowed - result.top_words;
  std::int64_t top = 0, used = 0;
  result.begins.resize(count);
  result.groups = {{0, count}};
  for (std::int32_t c = 0; c < count; ++c) {
    if (is_top(c)) {
      result.begins[c] = top;
      top += words_of(chains[c]);
    } else if (chains[c].next == no_parent || is_top(chains[c].next)) {  // the top of a subtree
      const std::int32_t first = c + 1 - below[c].chains;
      if (used > 0 && used + below[c].words > room) {
        result.groups.back().last_chain = first;
        result.groups.push_back({first, count});
        used = 0;
      }
      for (std::int32_t placed = first; placed <= c; ++placed) {
        result.begins[placed] = result.top_words + used;
        used += words_of(chains[placed]);
      }
      result.words = std::max(result.words, result.top_words + used);
    }
  }
  result.chains = std::move(chains);
  return result;
}

}  // namespace lulab
