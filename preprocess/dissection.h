#pragma once
// Nested dissection of a graph: what METIS and SCOTCH do.

#include <cstdint>
#include <span>
#include <string>

#include "core/matrix/csc.h"
#include "core/matrix/permutation.h"
#include "core/status.h"

namespace lulab {

/// Cuts a graph in two, numbers the cut last, and goes on in both halves. Deterministic, also while others dissect.
///
/// graph: symmetric, without loops, rows in any order   weights: (n) of the vertices; none: all alike
/// Shapes    graph: n x n -> (n).
/// Errors    invalid_argument (more edges than the library's integers can count), out_of_memory.
/// Source    Karypis & Kumar 1998 (METIS NodeND).
Result<Permutation> dissect_by_metis(const CscPattern& graph, std::span<const std::int32_t> weights = {});

/// The same on four threads, of a large graph on eight, also where there are fewer cores: the order depends on their
/// number. Where memory or threads are short, SCOTCH says so on stderr, too.
/// Errors    out_of_memory: no threads, either.
/// Source    Pellegrini 2012 (SCOTCH); parts of few vertices: Amestoy 1999 (minimum fill).
Result<Permutation> dissect_by_scotch(const CscPattern& graph, std::span<const std::int32_t> weights = {});

/// "7.0.3"
std::string scotch_version();

constexpr std::int32_t least_for_scotch = 4000;  // vertices: NOTES.md

/// By SCOTCH where the graph is large enough for its threads; else, or where it fails, by METIS.
Result<Permutation> dissect(const CscPattern& graph, std::span<const std::int32_t> weights = {});

}  // namespace lulab
