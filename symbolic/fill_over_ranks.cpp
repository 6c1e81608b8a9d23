#include "symbolic/fill_over_ranks.h"

#include <algorithm>
#include <new>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/in_parallel.h"
#include "core/large_pages.h"
#include "symbolic/fill.h"
#include "symbolic/fill_sources.h"

namespace lulab {
namespace {

constexpr std::int64_t entries_a_thread = 500'000;  // to place: half a millisecond
constexpr int most_threads = 8;

/// What one rank found.
struct Share {
  simt::Stream stream;
  DeviceFilledPattern columns;
  std::vector<std::int64_t> sizes;  // of its columns
  FillWork work;
};

Result<Share> search_share(CscPatternView b, const FillRung& rung, const FillLimits& limits, SourceShare share) try {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(const auto search, rung.make_search(b.n_cols, limits));
  FillWork work;
  LULAB_ASSIGN_OR_RETURN(auto columns, fill_by_sources(b, limits, *search, stream, &work, share));
  std::vector<std::int64_t> sizes(columns.d_col_ptr.size());
  LULAB_RETURN_IF_ERROR(columns.d_col_ptr.download(sizes, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  std::adjacent_difference(sizes.begin(), sizes.end(), sizes.begin());
  if (!sizes.empty()) sizes.erase(sizes.begin());  // where the first column begins
  return Share{std::move(stream), std::move(columns), std::move(sizes), work};
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

/// work: an entry a rank.
void gather_work(const FillWork& mine, Ranks& ranks, std::vector<FillWork>& work) {
  constexpr std::size_t fields = 6;
  const std::int64_t own[fields] = {mine.edges,          mine.batches,         mine.most_sources,
                                    mine.fewest_sources, mine.workspace_bytes, mine.cleared_bytes};
  std::vector<std::int64_t> all(fields * static_cast<std::size_t>(ranks.count()));
  ranks.all_gather(own, all);
  work.clear();
  for (const std::int64_t* f = all.data(); f != all.data() + all.size(); f += fields)
    work.push_back({.edges = f[0],
                    .batches = f[1],
                    .most_sources = static_cast<std::int32_t>(f[2]),
                    .fewest_sources = static_cast<std::int32_t>(f[3]),
                    .workspace_bytes = f[4],
                    .cleared_bytes = f[5]});
}

/// Allocates empty `values` on every rank, or on none.
template <class T, class Allocator>
Status resize(Ranks& ranks, std::vector<T, Allocator>& values, std::int64_t size) {
  Status status;
  try {
    resize_in_large_pages(values, size);
  } catch (const std::bad_alloc&) {
    status = no_memory_for_fill();
  }
  return agree(ranks, std::move(status));
}

SourceShare share_of(int rank, const Ranks& ranks) { return {.first = rank, .step = ranks.count()}; }

/// f.col_ptr from the sizes of everyone's columns.
Status gather_sizes(const std::vector<std::int64_t>& mine, Ranks& ranks, FilledPattern& f) {
  const std::int32_t longest = share_of(0, ranks).size(f.n);  // shares differ by one column at most
  std::vector<std::int64_t> own, all;                         // (longest), (ranks, longest)
  LULAB_RETURN_IF_ERROR(resize(ranks, own, longest));
  LULAB_RETURN_IF_ERROR(resize(ranks, all, std::int64_t{longest} * ranks.count()));
  LULAB_RETURN_IF_ERROR(resize(ranks, f.col_ptr, std::int64_t{f.n} + 1));
  std::ranges::copy(mine, own.begin());
  ranks.all_gather(own, all);
  for (std::int32_t j = 0; j < f.n; ++j)
    f.col_ptr[j + 1] = f.col_ptr[j] + all[std::int64_t{j % ranks.count()} * longest + j / ranks.count()];
  return {};
}

/// Takes the columns of one share from `rows`, where they follow each other, to their places.
/// begin: (columns of the share) where they begin in `rows` is written to it
void place_columns(SourceShare share, const std::vector<std::int32_t>& rows, std::vector<std::int64_t>& begin,
                   FilledPattern& f) {
  const std::int32_t columns = share.size(f.n);
  std::int64_t entries = 0;
  for (std::int32_t k = 0; k < columns; ++k) {
    begin[k] = entries;
    entries += f.col_ptr[share.source(k) + 1] - f.col_ptr[share.source(k)];
  }
  const int threads = threads_for(entries, entries_a_thread, most_threads), items = 8 * threads;
  share_out(items, threads, [&](std::int32_t item, int) {
    const auto from = [&](std::int64_t at) { return static_cast<std::int32_t>(columns * at / items); };
    for (std::int32_t k = from(item); k < from(item + 1); ++k) {
      const std::int32_t j = share.source(k);
      const auto to = f.row_idx.begin() + f.col_ptr[j], end = f.row_idx.begin() + f.col_ptr[j + 1];
      std::copy_n(rows.begin() + begin[k], end - to, to);
      f.diag[j] = std::lower_bound(to, end, j) - f.row_idx.begin();
    }
  });
}

/// f.row_idx and f.diag from everyone's columns, a share after the other.
Status gather_columns(Share& mine, Ranks& ranks, FilledPattern& f) {
  std::vector<std::int64_t> entries(ranks.count());
  for (std::int32_t j = 0; j < f.n; ++j) entries[j % ranks.count()] += f.col_ptr[j + 1] - f.col_ptr[j];
  std::vector<std::int32_t> rows;   // of one share
  std::vector<std::int64_t> begin;  // of its columns
  LULAB_RETURN_IF_ERROR(resize(ranks, rows, std::ranges::max(entries)));
  LULAB_RETURN_IF_ERROR(resize(ranks, begin, share_of(0, ranks).size(f.n)));
  LULAB_RETURN_IF_ERROR(resize(ranks, f.row_idx, f.col_ptr.back()));
  LULAB_RETURN_IF_ERROR(resize(ranks, f.diag, f.n));
  Status status;
  for (int rank = 0; rank < ranks.count(); ++rank) {
    const std::span<std::int32_t> to(rows.data(), static_cast<std::size_t>(entries[rank]));
    Status copied =
        ranks.broadcast_from_device(mine.columns.d_row_idx.data(), std::as_writable_bytes(to), rank, mine.stream);
    if (status.ok()) status = std::move(copied);
    place_columns(share_of(rank, ranks), rows, begin, f);
  }
  return agree(ranks, std::move(status));
}

}  // namespace

Result<FilledPattern> fill_over_ranks(CscPatternView b, const FillRung& rung, const FillLimits& limits, Ranks& ranks,
                                      std::vector<FillWork>* work) {
  if (rung.make_search == nullptr)
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("{} does not search from each column on its own, as ranks need it", rung.id));
  auto mine = search_share(b, rung, limits, share_of(ranks.rank(), ranks));
  LULAB_RETURN_IF_ERROR(agree(ranks, mine.status()));
  FilledPattern f;
  f.n = b.n_cols;
  LULAB_RETURN_IF_ERROR(gather_sizes(mine->sizes, ranks, f));
  LULAB_RETURN_IF_ERROR(gather_columns(*mine, ranks, f));
  if (work != nullptr) gather_work(mine->work, ranks, *work);
  return f;
}

}  // namespace lulab
