#include "symbolic/sorted_columns.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/in_parallel.h"

namespace lulab {

namespace {

/// Sorts different numbers below n: sets a bit for each, and one for each word that has some.
class BitSorter {
 public:
  explicit BitSorter(std::int32_t n) : few_(std::max(16, n / 65536)), words_(n / 64 + 1), has_some_(n / 4096 + 1) {}

  /// Requires  room for them at `to`.
  void sort(std::span<const std::int32_t> from, std::int32_t* to) {
    if (std::ssize(from) <= few_) {
      std::sort(to, std::ranges::copy(from, to).out);
      return;
    }
    std::uint32_t first = ~0U, last = 0;
    for (const std::int32_t number : from) {
      const auto k = static_cast<std::uint32_t>(number);
      words_[k / 64] |= std::uint64_t(1) << (k % 64);
      has_some_[k / 4096] |= std::uint64_t(1) << (k / 64 % 64);
      first = std::min(first, k);
      last = std::max(last, k);
    }
    for (std::uint32_t s = first / 4096; s <= last / 4096; ++s)
      for (std::uint64_t some = std::exchange(has_some_[s], 0); some != 0; some &= some - 1) {
        const std::uint32_t w = 64 * s + std::countr_zero(some);
        for (std::uint64_t bits = std::exchange(words_[w], 0); bits != 0; bits &= bits - 1)
          *to++ = static_cast<std::int32_t>(64 * w + std::countr_zero(bits));
      }
  }

 private:
  std::int32_t few_;                             // numbers: to compare these is faster
  std::vector<std::uint64_t> words_, has_some_;  // zero between calls
};

}  // namespace

FilledPattern sorted_columns(CscPattern unsorted, int host_threads) {
  constexpr std::int64_t entries_a_thread = 250'000;  // a millisecond
  constexpr std::int32_t columns_at_once = 256;
  FilledPattern f;
  f.n = unsorted.n_cols;
  f.col_ptr = std::move(unsorted.col_ptr);
  f.row_idx.resize(unsorted.row_idx.size());
  f.diag.resize(f.n);
  const int threads = host_threads > 0 ? host_threads : threads_for(f.nnz(), entries_a_thread, 16);
  std::vector<BitSorter> sorters(threads, BitSorter(f.n));
  const auto parts = static_cast<std::int32_t>((std::int64_t{f.n} + columns_at_once - 1) / columns_at_once);
  share_out(parts, threads, [&](std::int32_t part, int thread) {
    const std::int32_t first = part * columns_at_once, end = first + std::min(columns_at_once, f.n - first);
    for (std::int32_t j = first; j < end; ++j) {
      const std::int64_t at = f.col_ptr[j], size = f.col_ptr[j + 1] - at;
      std::int32_t* const rows = f.row_idx.data() + at;
      sorters[thread].sort(std::span(unsorted.row_idx).subspan(at, size), rows);
      f.diag[j] = at + (std::lower_bound(rows, rows + size, j) - rows);
    }
  });
  return f;
}

}  // namespace lulab
