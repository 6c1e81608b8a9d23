#pragma once
// The fronts of a pattern, cut into tiles: what the multifrontal rung and solves by fronts share.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/plan.h"
#include "core/simt/device.h"
#include "symbolic/assembly_tree.h"
#include "symbolic/front_tiles.h"

namespace lulab {

constexpr double max_front_padding = 8;  // of fronts that are worth it; see Fronts::padding

using DeviceFrontColumns = std::shared_ptr<const simt::DeviceBuffer<FrontColumn>>;

struct Fronts {
  AssemblyTree tree;
  std::vector<FrontCuts> cuts;           // (size)
  std::vector<std::int64_t> column_ptr;  // (size + 1) first FrontColumn of each front's slot 0
  double padding = 1;                    // (entries of L and U in all fronts, with their zeros) / nnz(L+U)
  DeviceFrontColumns d_columns = {};     // where the analysis made them: on the device of its thread

  static Fronts of(AssemblyTree tree, std::int64_t nnz);
  std::int32_t size() const { return tree.size(); }
  FrontPlace place(std::int32_t s) const { return {cuts[s], tree.first[s], tree.others.data() + tree.others_ptr[s]}; }
};

/// panels: of `filled`.   Without columns on the device.
/// Requires  a valid FilledPattern.   Cost as find_assembly_tree().
Fronts find_fronts(const FilledPattern& filled, const RelaxedSupernodes& panels, const FrontCosts& costs = {});
/// With the panels of the analysis, or else the usual ones.
Fronts find_fronts(const Analysis& analysis, const FrontCosts& costs);

/// The columns of all tiles with pivots: front by front, in each front by slots, in each slot front_tile of them, of
/// which those beyond the tile have no entries.
///
/// fronts: of `filled`.
/// Requires  nnz(L+U) < 2^32.
/// Cost      O(entries of the fronts, with their zeros), by several threads.
std::vector<FrontColumn> find_front_columns(const FilledPattern& filled, const Fronts& fronts);
/// Those in device memory, or else the same uploaded. Waits for the stream.   Errors out_of_memory, device_error.
Result<DeviceFrontColumns> front_columns_on_device(const FilledPattern& filled, const Fronts& fronts,
                                                   simt::Stream& stream);

}  // namespace lulab
