#include "symbolic/fronts.h"

#include <utility>

#include "core/in_parallel.h"

namespace lulab {
namespace {

constexpr std::int64_t entries_a_tile_thread = 500'000;  // of L+U: about a millisecond
constexpr int max_tile_threads = 16;

}  // namespace

Fronts Fronts::of(AssemblyTree tree, std::int64_t nnz) {
  Fronts fronts = {.tree = std::move(tree), .cuts = {}, .column_ptr = {0}};
  fronts.cuts.reserve(fronts.size());
  fronts.column_ptr.reserve(fronts.size() + std::size_t(1));
  std::int64_t entries = 0;
  for (std::int32_t s = 0; s < fronts.size(); ++s) {
    const FrontCuts cuts = FrontCuts::of(fronts.tree.pivots(s), fronts.tree.rows(s));
    fronts.cuts.push_back(cuts);
    fronts.column_ptr.push_back(fronts.column_ptr.back() + std::int64_t(front_tile) * cuts.slots());
    entries += std::int64_t(cuts.pivots) * (2 * std::int64_t(cuts.rows) - cuts.pivots);
  }
  if (nnz > 0) fronts.padding = static_cast<double>(entries) / static_cast<double>(nnz);
  return fronts;
}

Fronts find_fronts(const FilledPattern& filled, const RelaxedSupernodes& panels, const FrontCosts& costs) {
  return Fronts::of(find_assembly_tree(filled, panels, costs), filled.nnz());
}

Fronts find_fronts(const Analysis& analysis, const FrontCosts& costs) {
  return analysis.supernodes ? find_fronts(analysis.filled, *analysis.supernodes, costs)
                             : find_fronts(analysis.filled, find_relaxed_supernodes(analysis.filled, {}), costs);
}

std::vector<FrontColumn> find_front_columns(const FilledPattern& filled, const Fronts& fronts) {
  std::vector<FrontColumn> columns(fronts.column_ptr.back());
  const int threads = threads_for(filled.nnz(), entries_a_tile_thread, max_tile_threads);
  share_out(fronts.size(), threads, [&](std::int32_t s, int) {
    const FrontPlace front = fronts.place(s);
    FrontColumn* column = columns.data() + fronts.column_ptr[s];
    for (std::int32_t slot = 0; slot < front.cuts.slots(); ++slot)
      for (std::int32_t c = 0; c < front_tile; ++c)
        *column++ = front.column(slot, c, filled.col_ptr.data(), filled.row_idx.data());
  });
  return columns;
}

Result<DeviceFrontColumns> front_columns_on_device(const FilledPattern& filled, const Fronts& fronts,
                                                   simt::Stream& stream) {
  if (fronts.d_columns) return fronts.d_columns;
  const std::vector<FrontColumn> columns = find_front_columns(filled, fronts);
  simt::DeviceBuffer<FrontColumn> d_columns;
  LULAB_RETURN_IF_ERROR(simt::make(d_columns, columns, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());  // columns is a local
  return std::make_shared<const simt::DeviceBuffer<FrontColumn>>(std::move(d_columns));
}

}  // namespace lulab
