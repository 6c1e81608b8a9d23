#pragma once
// The example of Gaihre et al. 2021.

#include <algorithm>
#include <iterator>
#include <utility>

#include "testing/patterns.h"

namespace lulab::testing {

/// Row 8 has {1,2,7,8,9}; 1, 2, 7 lead to {0}, {3,5,7}, {2,4}; 0 to 5, 3 to 4, 5 to 3; rows 0 to 3 of U have 2, 1, 3
/// and 3 entries right of the diagonal, row 1 of L one in column 0. Figs. 1, 2, 7 and 8, as far as the text tells them.
/// Their rows are columns here.
inline CscPattern gaihre_example() {
  const std::pair<int, int> edges[] = {{0, 5}, {0, 1}, {1, 0}, {2, 3}, {2, 5}, {2, 7}, {3, 4}, {3, 8},
                                       {3, 9}, {5, 3}, {7, 2}, {7, 4}, {8, 1}, {8, 2}, {8, 7}, {8, 9}};
  return pattern_of(10, [&](int i, int j) {
    return i == j || std::find(std::begin(edges), std::end(edges), std::pair(j, i)) != std::end(edges);
  });
}

}  // namespace lulab::testing
