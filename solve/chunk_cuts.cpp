#include "solve/chunk_cuts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace lulab {
namespace {

/// Appends the tasks of bundles to cuts.tasks.
class Cutter {
 public:
  Cutter(const ChunkPlaces& places, std::span<const ChunkRowCounts> counts, const ChunkTaskOptions& options,
         ChunkCuts& cuts)
      : n_(static_cast<std::int32_t>(places.position.size())), counts_(counts), options_(options), cuts_(cuts) {}

  /// Where there are too many entries for one task, the rows' tasks come first, and those of the inverse take their
  /// words.
  void cut(const ChunkBundle& b, bool is_lower) {
    is_lower_ = is_lower;
    std::int64_t entries = 0;
    for (std::int32_t p = b.first; p < b.end; ++p) entries += outer(p) + 1 + count(p).inverse;
    ChunkCut all = {};
    all.is_lower = is_lower;
    all.out = (is_lower ? 0 : n_) + b.first;
    all.solution = is_lower ? -1 : b.first;
    if (entries <= options_.max_entries) {
      all.has_inverse = 1;
      add_rows(b, b.first, b.end - b.first, all);
      return;
    }
    const std::int32_t s = new_words(b.end - b.first);
    for (std::int32_t p = b.first; p < b.end;) {
      ChunkCut rows = all;
      rows.out = s + p - b.first;
      rows.solution = -1;
      std::int64_t together = outer(p);
      std::int32_t size = 1;
      if (together > options_.max_entries) {
        add_long_row(b, p, rows);
      } else {
        for (; p + size < b.end && together < b.piece / 2 && together + outer(p + size) <= b.piece; ++size)
          together += outer(p + size);
        add_rows(b, p, size, rows);
      }
      p += size;
    }
    for (std::int32_t p = b.first; p < b.end;) {
      ChunkCut product = all;
      product.entries = ChunkCut::inverse;
      product.first = p;
      for (std::int64_t together = 0; p < b.end && (p == product.first || together < b.piece / 2); ++p)
        together += 1 + count(p).inverse;
      product.count = p - product.first;
      product.start = ChunkTask::zero;
      product.least_source = b.first;
      product.end_source = b.end;
      product.first_word = s - b.first;
      product.out += product.first - b.first;
      if (product.solution >= 0) product.solution += product.first - b.first;
      add(product);
    }
  }

 private:
  const ChunkRowCounts& count(std::int32_t p) const { return counts_[(is_lower_ ? 0 : std::size_t(n_)) + p]; }
  std::int32_t outer(std::int32_t p) const { return count(p).outer; }

  void add_rows(const ChunkBundle& b, std::int32_t first, std::int32_t count, ChunkCut cut) {
    cut.entries = ChunkCut::outer;
    cut.first = first;
    cut.count = count;
    take_solution(b, cut);
    start_from_right_side(cut);
    add(cut);
  }

  /// In slices, whose sums another task adds up.
  void add_long_row(const ChunkBundle& b, std::int32_t p, const ChunkCut& row) {
    const std::int64_t entries = outer(p);
    const auto slices = static_cast<std::int32_t>((entries + options_.max_entries - 1) / options_.max_entries);
    const std::int32_t words = new_words(slices);
    for (std::int32_t q = 0; q < slices; ++q) {
      ChunkCut slice = row;
      slice.entries = ChunkCut::slice;
      slice.first = p;
      slice.count = 1;
      slice.from = static_cast<std::int32_t>(entries * q / slices);
      slice.end = static_cast<std::int32_t>(entries * (q + 1) / slices);
      slice.start = ChunkTask::zero;
      slice.out = words + q;
      take_solution(b, slice);
      add(slice);
    }
    ChunkCut sums = row;
    sums.entries = ChunkCut::sums;
    sums.first = p;
    sums.count = 1;
    sums.end = sums.end_source = slices;
    sums.first_word = words;
    start_from_right_side(sums);
    add(sums);
  }

  /// Its sources are what this triangle's solution has by then.
  void take_solution(const ChunkBundle& b, ChunkCut& cut) const {
    cut.least_source = is_lower_ ? 0 : b.end;
    cut.end_source = is_lower_ ? b.first : n_;
    cut.first_word = is_lower_ ? 0 : n_;
  }

  /// Of the rows' own b, or of the first triangle's solution.
  void start_from_right_side(ChunkCut& cut) {
    cut.start = is_lower_ ? ChunkTask::right_side : ChunkTask::word;
    cut.start_at = cut.first;
    cut.has_pivots = is_lower_ == options_.transposed;
  }

  std::int32_t new_words(std::int32_t count) {
    const std::int64_t first = cuts_.n_words;
    cuts_.n_words += count;
    return static_cast<std::int32_t>(first);
  }

  void add(ChunkCut cut) {
    std::int32_t sums = 0;
    if (cut.entries == ChunkCut::outer)
      for (std::int32_t p = cut.first; p < cut.first + cut.count; ++p) sums += partial_sums_of(outer(p));
    else if (cut.entries != ChunkCut::inverse)
      sums = partial_sums_of(cut.end - cut.from);
    cut.outer_pieces = cut.count + sums;
    cut.inverse_pieces = cut.has_inverse ? cut.count : 0;
    cut.first_piece = static_cast<std::uint32_t>(cuts_.n_pieces);
    cuts_.n_pieces += cut.outer_pieces + cut.inverse_pieces;
    cuts_.max_rows = std::max(cuts_.max_rows, cut.count);
    cuts_.max_pieces = std::max(cuts_.max_pieces, cut.outer_pieces);
    cuts_.max_partial_sums = std::max(cuts_.max_partial_sums, sums);
    cuts_.tasks.push_back(cut);
  }

  const std::int32_t n_;
  const std::span<const ChunkRowCounts> counts_;
  const ChunkTaskOptions& options_;
  ChunkCuts& cuts_;
  bool is_lower_ = true;
};

/// Where what the entries of each row become is among all of it.
void number_entries(const ChunkPlaces& places, std::span<const ChunkRowCounts> counts, bool transposed,
                    ChunkCuts& cuts) {
  const auto n = static_cast<std::int32_t>(places.position.size());
  for (const bool is_lower : {true, false}) {
    const int side = is_lower ? 0 : 1;
    const auto of_side = counts.subspan(std::size_t(side) * n, n);
    const bool has_pivots = is_lower == transposed;
    cuts.move[side].resize(n);
    cuts.entry[side].assign(n, no_entry);
    cuts.inverse[side].assign(n, no_entry);
    for (std::int32_t p = 0; p < n; ++p) {
      cuts.move[side][p] = cuts.n_moves;
      cuts.n_moves += of_side[p].outer;
    }
    if (has_pivots) {
      cuts.pivot_move[side] = cuts.n_moves;
      cuts.n_moves += n;
    }
    if (is_lower) cuts.n_first_moves = cuts.n_moves;
    for (std::size_t c = 0; c + 1 < places.chunk_ptr.size(); ++c) {
      const std::int32_t first = places.chunk_ptr[c], end = places.chunk_ptr[c + 1];
      ChunkTriangle t = {static_cast<std::uint32_t>(cuts.n_entries),
                         0,
                         static_cast<std::uint32_t>(cuts.n_inverses),
                         0,
                         end - first,
                         is_lower};
      if (std::ranges::all_of(of_side.subspan(first, end - first), [](const auto& row) { return row.inverse == 0; }))
        continue;
      if (has_pivots) cuts.n_entries += end - first;
      for (std::int32_t p = first; p < end; ++p) {
        cuts.entry[side][p] = static_cast<std::uint32_t>(cuts.n_entries);
        cuts.inverse[side][p] = static_cast<std::uint32_t>(cuts.n_inverses);
        cuts.n_entries += of_side[p].inner;
        cuts.n_inverses += of_side[p].inverse;
      }
      t.entry_end = static_cast<std::uint32_t>(cuts.n_entries);
      t.inverse_end = static_cast<std::uint32_t>(cuts.n_inverses);
      cuts.triangles.push_back(t);
    }
  }
  std::ranges::stable_sort(cuts.triangles, std::less{}, [](const ChunkTriangle& t) {
    return std::tuple(t.size <= small_chunk_columns, t.is_first, -t.size);
  });
}

}  // namespace

ChunkPlaces place_chunks(const Chunks& chunks, std::span<const std::int64_t> row_ptr, const ChunkTaskOptions& options) {
  const auto n = static_cast<std::int32_t>(chunks.of.size()), n_chunks = chunks.size();
  ChunkPlaces places;
  std::vector<std::int32_t> layer_ptr(chunks.n_layers + 1, 0), size(n_chunks, 0), place(n_chunks), next(n_chunks);
  std::vector<double> work(n_chunks, 0), work_of_layer(chunks.n_layers, 0);
  for (const std::int32_t c : chunks.of) ++size[c];
  for (const std::int32_t l : chunks.layer) ++layer_ptr[l + 1];
  for (std::int32_t l = 0; l < chunks.n_layers; ++l) layer_ptr[l + 1] += layer_ptr[l];
  std::vector<std::int32_t> next_of_layer(layer_ptr.begin(), layer_ptr.end() - 1);
  for (std::int32_t c = 0; c < n_chunks; ++c) place[c] = next_of_layer[chunks.layer[c]]++;
  places.chunk_ptr.assign(n_chunks + 1, 0);
  for (std::int32_t c = 0; c < n_chunks; ++c) places.chunk_ptr[place[c] + 1] = size[c];
  for (std::int32_t k = 0; k < n_chunks; ++k) places.chunk_ptr[k + 1] += places.chunk_ptr[k];
  for (std::int32_t c = 0; c < n_chunks; ++c) next[c] = places.chunk_ptr[place[c]];
  places.column_at.resize(n);
  places.position.resize(n);
  for (std::int32_t j = 0; j < n; ++j) {
    const std::int32_t c = chunks.of[j], p = next[c]++;
    places.column_at[p] = j;
    places.position[j] = p;
    work[place[c]] += 2.0 + double(row_ptr[j + 1] - row_ptr[j]) + 0.5 * size[c];
  }
  for (std::int32_t l = 0; l < chunks.n_layers; ++l) {
    double all = 0, taken = 0;
    for (std::int32_t k = layer_ptr[l]; k < layer_ptr[l + 1]; ++k) all += work[k];
    const double share = std::max(2.0 * options.threads, 1.3 * all / options.workers);
    // Pieces for all workers (H100, 32 right-hand sides, memplus 6.0 -> 4.0 µs each, ACTIVSg10k 7.8 -> 6.9).
    const auto piece = static_cast<std::int64_t>(std::min<double>(share, options.max_entries));
    for (std::int32_t k = layer_ptr[l]; k < layer_ptr[l + 1]; ++k) {
      const std::int32_t first = places.chunk_ptr[k], end = places.chunk_ptr[k + 1];
      if (k == layer_ptr[l] || taken + work[k] > share || end - places.bundles.back().first > 4 * options.threads) {
        places.bundles.push_back({first, first, piece});
        taken = 0;
      }
      places.bundles.back().end = end;
      taken += work[k];
    }
  }
  return places;
}

Result<ChunkCuts> cut_into_tasks(const ChunkPlaces& places, std::span<const ChunkRowCounts> counts,
                                 const ChunkTaskOptions& options) {
  ChunkCuts cuts;
  number_entries(places, counts, options.transposed, cuts);
  cuts.n_words = 2 * static_cast<std::int64_t>(places.position.size());
  Cutter cutter(places, counts, options, cuts);
  for (const ChunkBundle& b : places.bundles) cutter.cut(b, true);
  std::for_each(places.bundles.rbegin(), places.bundles.rend(), [&](const ChunkBundle& b) { cutter.cut(b, false); });
  constexpr std::int64_t most = no_entry, most_slices = 0xffff;
  const auto longest = std::ranges::max_element(counts, {}, &ChunkRowCounts::outer);
  const bool has_slices_too_many = longest != counts.end() && longest->outer / options.max_entries >= most_slices;
  if (cuts.n_words > std::numeric_limits<std::int32_t>::max() || cuts.n_entries >= most || cuts.n_inverses >= most ||
      cuts.n_pieces >= most || has_slices_too_many)
    return Status::error(StatusCode::not_implemented, "a solve by chunks counts its entries in 32 bits");
  return cuts;
}

ChunkWorkers deal_tasks(std::span<const double> work, std::int32_t first, std::int32_t workers) {
  using Load = std::pair<double, std::int32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int32_t w = 0; w < workers; ++w) loads.emplace(0, w);
  std::vector<std::vector<std::int32_t>> of(workers);
  for (auto t = static_cast<std::size_t>(first); t < work.size(); ++t) {
    const auto [load, worker] = loads.top();
    loads.pop();
    of[worker].push_back(static_cast<std::int32_t>(t));
    loads.emplace(load + work[t], worker);
  }
  ChunkWorkers dealt = {{0}, {}};
  for (const auto& tasks : of) {
    dealt.task.insert(dealt.task.end(), tasks.begin(), tasks.end());
    dealt.ptr.push_back(static_cast<std::int32_t>(dealt.task.size()));
  }
  return dealt;
}

}  // namespace lulab
