// GSOFA, a block a source.                                                                 Gaihre et al. 2021, Fig. 6
//
//   all v: maxId(v) = not reached
//   v in A(src,:): fill(v), maxId(v) = 0, v < src into the queue                         lines 2 to 6
//   until the queue is empty:
//     frontiers of the queue, in parallel:                                               line 7    a warp each
//       newMaxId = max(frontier, maxId(frontier))                                        line 8    leave_queue
//       neighbours in A(frontier,:), in parallel:                                        line 9    a lane each
//         lower maxId, fill, and put into the new queue                                  lines 10 to 15  visit_neighbor
//     swap the queues                                                                    line 16

#include "symbolic/05_gsofa.h"

#include <memory>
#include <utility>

#include "symbolic/rungs.h"

namespace lulab {

Result<GsofaSearch> GsofaSearch::create(std::int32_t n, const FillLimits& limits, Kernel kernel) {
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  LULAB_ASSIGN_OR_RETURN(const auto blocks_per_sm, simt::max_resident_blocks_per_sm(kernel, gsofa_threads));
  return GsofaSearch(n, blocks_per_sm * device.sm_count, limits.passes_found_rows, kernel);
}

std::int64_t GsofaSearch::least_bytes(std::int32_t, std::int32_t count) const {
  return std::int64_t{4} * count * (set_words(n_) + std::int64_t{3} * n_);
}

Status GsofaSearch::enqueue(const SourceBatch& b, std::byte* workspace, std::int64_t, simt::Stream& stream) {
  const std::int64_t vertices = static_cast<std::int64_t>(b.count) * b.n;
  GsofaWork work = {};
  cleared_bytes_ += 4 * (max_id_begin(b.first, b.step, b.count) + static_cast<std::int64_t>(b.count) * b.words);
  work.max_id = reinterpret_cast<std::uint32_t*>(workspace);
  work.waiting = work.max_id + vertices;
  work.queue = reinterpret_cast<std::int32_t*>(work.waiting + static_cast<std::int64_t>(b.count) * b.words);
  return simt::launch(kernel_, {.grid = static_cast<unsigned>(b.count), .block = gsofa_threads}, stream, b, work,
                      passes_found_);
}

static Result<std::unique_ptr<SourceSearch>> make_gsofa(std::int32_t n, const FillLimits& limits) {
  LULAB_ASSIGN_OR_RETURN(auto search, GsofaSearch::create(n, limits));
  return std::unique_ptr<SourceSearch>(std::make_unique<GsofaSearch>(std::move(search)));
}

const FillRung fill_rungs::gsofa = {
    .id = "symbolic/05_gsofa",
    .paper = "Gaihre et al. 2021, Fig. 6",
    .idea = "a block a source; all vertices of a frontier at once, again where a path with smaller vertices is found",
    .device = Device::gpu,
    .fill = [](CscPatternView b, const FillLimits& limits, FillWork* work) -> Result<FilledPattern> {
      LULAB_ASSIGN_OR_RETURN(const auto search, make_gsofa(b.n_cols, limits));
      return download_fill_by_sources(b, limits, *search, work);
    },
    .make_search = make_gsofa};

}  // namespace lulab
