// GSOFA for many sources at once.                                                     Gaihre et al. 2021, sections 4, 6

#include "symbolic/06_gsofa_sources.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "symbolic/rungs.h"

namespace lulab {
namespace {

constexpr std::int64_t least_queue_entries = 32, entry_bytes = 2 * 2 * sizeof(std::int32_t);  // two queues, two arrays
// A frontier rarely holds more of a source's vertices: Gaihre et al., Table 3, .1 % of n on average, 25 % at most.
constexpr std::int64_t useful_entries_a_source = 256;
constexpr int sources_a_multiprocessor = 32;

}  // namespace

Result<GsofaSourcesSearch> GsofaSourcesSearch::create(std::int32_t n, const FillLimits& limits, Kernel kernel,
                                                      std::uint32_t largest_max_id) {
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  LULAB_ASSIGN_OR_RETURN(const auto blocks_per_sm, simt::max_resident_blocks_per_sm(kernel, gsofa_sources_threads));
  GsofaSourcesSearch search;
  search.n_ = n;
  search.most_ = sources_a_multiprocessor * device.sm_count;
  search.blocks_ = static_cast<unsigned>(blocks_per_sm * device.sm_count);
  search.queue_entries_ = limits.queue_entries;
  search.passes_found_ = limits.passes_found_rows;
  search.keeps_bubbles_ = limits.keeps_bubbles;
  search.largest_max_id_ = limits.clears_max_id ? static_cast<std::uint32_t>(n) : largest_max_id;
  search.kernel_ = kernel;
  LULAB_RETURN_IF_ERROR(simt::make(search.d_progress_, 1));
  return search;
}

std::int64_t GsofaSourcesSearch::useful_entries(std::int32_t count) const {
  const std::int64_t at_most = std::max(least_queue_entries, std::int64_t{count} * n_);  // no vertex waits twice
  if (queue_entries_ > 0) return std::min(queue_entries_, at_most);
  return std::max(least_queue_entries, std::int64_t{count} * std::min<std::int64_t>(n_, useful_entries_a_source));
}

/// Of maxId and the sets of what waits.
std::int64_t GsofaSourcesSearch::status_bytes(std::int32_t first, std::int32_t step, std::int64_t count) const {
  return 4 *
         (max_id_values(first, step, count) + count * set_words(first + static_cast<std::int32_t>(count - 1) * step));
}

std::int64_t GsofaSourcesSearch::least_bytes(std::int32_t first, std::int32_t count) const {
  return status_bytes(first, 1, count) + entry_bytes * std::min(least_queue_entries, useful_entries(count));
}

std::int64_t GsofaSourcesSearch::useful_bytes(std::int32_t first, std::int32_t count) const {
  return status_bytes(first, 1, count) + entry_bytes * useful_entries(count);
}

Status GsofaSourcesSearch::enqueue(const SourceBatch& b, std::byte* workspace, std::int64_t bytes,
                                   simt::Stream& stream) {
  GsofaSourcesWork work = {};
  work.max_id = reinterpret_cast<std::uint32_t*>(workspace);
  work.values_of_first = keeps_bubbles_ ? n_ : b.first;
  work.values_step = keeps_bubbles_ ? 0 : b.step;
  const std::int64_t values = max_id_values(b.first, b.step, b.count);
  if ((ranges_used_ + 1) * n_ > largest_max_id_) ranges_used_ = not_reached_ = 0;
  if (values > not_reached_) {
    const std::int64_t bytes_to_clear = 4 * (values - not_reached_);
    LULAB_RETURN_IF_ERROR(
        simt::fill_bytes(work.max_id + not_reached_, 0xFF, static_cast<std::size_t>(bytes_to_clear), stream));
    cleared_bytes_ += bytes_to_clear;
  }
  not_reached_ = values;
  work.base = static_cast<std::uint32_t>(largest_max_id_ - ++ranges_used_ * n_);
  work.waiting = work.max_id + values;
  work.waiting_words = set_words(b.source(b.count - 1));
  work.frontier =
      reinterpret_cast<std::int32_t*>(work.waiting + static_cast<std::int64_t>(b.count) * work.waiting_words);
  cleared_bytes_ += std::int64_t{4} * b.count * work.waiting_words;
  work.capacity = std::min((bytes - status_bytes(b.first, b.step, b.count)) / entry_bytes, useful_entries(b.count));
  work.tracker = work.frontier + 2 * work.capacity;
  work.progress = d_progress_.data();
  LULAB_RETURN_IF_ERROR(d_progress_.fill_bytes(0, stream));
  const auto blocks = std::min(blocks_, simt::blocks_for(n_, gsofa_sources_warps));
  return simt::launch(kernel_, {.grid = blocks, .block = gsofa_sources_threads, .cooperative = true}, stream, b, work,
                      passes_found_);
}

static Result<std::unique_ptr<SourceSearch>> make_gsofa_sources(std::int32_t n, const FillLimits& limits) {
  LULAB_ASSIGN_OR_RETURN(auto search, GsofaSourcesSearch::create(n, limits));
  return std::unique_ptr<SourceSearch>(std::make_unique<GsofaSourcesSearch>(std::move(search)));
}

const FillRung fill_rungs::gsofa_sources = {
    .id = "symbolic/06_gsofa_sources",
    .paper = "Gaihre et al. 2021, sections 4 and 6",
    .idea = "many sources share one frontier and one workspace, which limits how many",
    .device = Device::gpu,
    .fill = [](CscPatternView b, const FillLimits& limits, FillWork* work) -> Result<FilledPattern> {
      LULAB_ASSIGN_OR_RETURN(const auto search, make_gsofa_sources(b.n_cols, limits));
      return download_fill_by_sources(b, limits, *search, work);
    },
    .make_search = make_gsofa_sources};

}  // namespace lulab
