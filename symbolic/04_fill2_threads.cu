// Rose & Tarjan's second search with a thread a source, as Gaihre et al. 2021 describe the program that they compare
// theirs with (section 7, Fig. 10). What was found is kept as bits, and 32 thresholds are passed over at once where
// none was visited; of neither the paper tells. 03_fill2.cpp is the same for one thread of the CPU.

#include <algorithm>
#include <memory>

#include "symbolic/fill_sources.h"
#include "symbolic/row_sets.h"
#include "symbolic/rungs.h"

namespace lulab {
namespace {

constexpr int fill2_block = 64;

struct Fill2Work {
  std::uint32_t* visited;  // (count, words)
  std::int32_t* queue;     // (count, n) every vertex joins it once at most
};

/// Equivalent to   for src = b.source(0) .. b.source(b.count - 1):  Fill2::search(src) of 03_fill2.cpp
/// A thread a source.
/// grid: ceil(count / fill2_block)   block: fill2_block   shared: none
__global__ void fill2_kernel(SourceBatch b, Fill2Work w) {
  const std::int64_t k = simt::thread_of_grid();
  if (k >= b.count) return;
  const std::int32_t src = b.source(k);
  std::uint32_t* visited = w.visited + k * b.words;
  std::uint32_t* found = b.found + k * b.words;
  std::int32_t* queue = w.queue + k * b.n;
  unsigned long long edges = 0;
  for (std::int32_t v = 0; v < b.words; ++v) visited[v] = 0;
  const auto for_neighbors = [&](std::int32_t v, const auto& visit) {
    for (std::int64_t s = b.b_col_ptr[v]; s < b.b_col_ptr[v + 1]; ++s, ++edges) {
      const std::int32_t neighbor = b.b_row_idx[s];
      if (visited[neighbor / 32] & bit_of(neighbor)) continue;
      visited[neighbor / 32] |= bit_of(neighbor);
      visit(neighbor);
    }
  };
  const auto find = [&](std::int32_t row) { found[row / 32] |= bit_of(row); };

  visited[src / 32] |= bit_of(src);
  find(src);
  for_neighbors(src, find);
  for (std::int32_t threshold = 0; threshold < src; ++threshold) {
    const std::uint32_t rest = visited[threshold / 32] >> (threshold % 32);
    if (rest == 0) threshold = threshold / 32 * 32 + 31;  // the last of this word
    if ((rest & 1) == 0) continue;
    queue[0] = threshold;
    for (std::int32_t head = 0, tail = 1; head < tail; ++head)
      for_neighbors(queue[head], [&](std::int32_t neighbor) {
        if (neighbor > threshold)
          find(neighbor);
        else
          queue[tail++] = neighbor;
      });
  }
  atomicAdd(b.edges, edges);  // RACE: all threads add to the sum
}

class Fill2Threads final : public SourceSearch {
 public:
  Fill2Threads(std::int32_t n, std::int32_t most) : n_(n), most_(most) {}
  std::int32_t most_sources() const override { return most_; }
  std::int64_t least_bytes(std::int32_t, std::int32_t count) const override {
    return std::int64_t{4} * count * (set_words(n_) + n_);
  }
  Status enqueue(const SourceBatch& b, std::byte* workspace, std::int64_t, simt::Stream& stream) override {
    auto* visited = reinterpret_cast<std::uint32_t*>(workspace);
    cleared_bytes_ += std::int64_t{4} * b.count * b.words;
    const Fill2Work work = {visited,
                            reinterpret_cast<std::int32_t*>(visited + static_cast<std::int64_t>(b.count) * b.words)};
    return simt::launch(fill2_kernel, {.grid = simt::blocks_for(b.count, fill2_block), .block = fill2_block}, stream, b,
                        work);
  }

 private:
  std::int32_t n_, most_;
};

Result<std::unique_ptr<SourceSearch>> make_fill2_threads(std::int32_t n, const FillLimits&) {
  LULAB_ASSIGN_OR_RETURN(const auto device, simt::device_properties());
  return std::unique_ptr<SourceSearch>(std::make_unique<Fill2Threads>(n, device.sm_count * device.max_threads_per_sm));
}

}  // namespace

const FillRung fill_rungs::fill2_threads = {
    .id = "symbolic/04_fill2_threads",
    .paper = "Rose & Tarjan 1978; Gaihre et al. 2021, Fig. 3(b) and section 7",
    .idea = "the same with a thread of the GPU a source, as many as memory allows",
    .device = Device::gpu,
    .fill = [](CscPatternView b, const FillLimits& limits, FillWork* work) -> Result<FilledPattern> {
      LULAB_ASSIGN_OR_RETURN(const auto search, make_fill2_threads(b.n_cols, limits));
      return download_fill_by_sources(b, limits, *search, work);
    },
    .make_search = make_fill2_threads};

}  // namespace lulab
