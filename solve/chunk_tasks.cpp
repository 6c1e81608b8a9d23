#include "solve/chunk_tasks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "core/in_parallel.h"
#include "solve/by_rows.h"

namespace lulab {
namespace {

constexpr std::int64_t entries_per_thread = 50000;  // of L+U: about 2 ms
constexpr int max_threads = 16;

constexpr std::uint16_t no_row = 0xffff, partial_sum = 0x8000;

/// As or its transpose by rows. The entries before the diagonal are the first triangle's.
struct Rows {
  CscMatrix<std::int64_t> t;       // column i: row i; values: position in As
  std::vector<std::int64_t> diag;  // (n) of row i in t
  bool lower_has_pivots;

  Rows(const FilledPattern& f, bool transposed, int host_threads) : lower_has_pivots(transposed) {
    if (transposed) {
      t.n_rows = t.n_cols = f.n;
      t.col_ptr = f.col_ptr;
      t.row_idx.assign(f.row_idx.begin(), f.row_idx.end());
      t.values.resize(f.nnz());
      for (std::int64_t k = 0; k < f.nnz(); ++k) t.values[k] = k;
      diag = f.diag;
      return;
    }
    t = by_rows(f.view(), host_threads);
    diag.resize(f.n);
    for (std::int32_t i = 0; i < f.n; ++i)
      for (std::int64_t k = t.col_ptr[i]; k < t.col_ptr[i + 1]; ++k)
        if (t.row_idx[k] == i) diag[i] = k;
  }
  std::int64_t begin(std::int32_t i, bool lower) const { return lower ? t.col_ptr[i] : diag[i] + 1; }
  std::int64_t end(std::int32_t i, bool lower) const { return lower ? diag[i] : t.col_ptr[i + 1]; }
  bool has_pivots(bool lower) const { return lower == lower_has_pivots; }
};

/// Where an entry's value comes from: a position in As, an entry of an inverse (from inverse_origin on), or it is 1.
using Origin = std::int64_t;
constexpr Origin inverse_origin = std::int64_t(1) << 40, one_origin = -1;

struct Entry {
  std::int32_t source;
  Origin origin;
};

/// Rows whose entries lie one after the other.
struct EntryRows {
  std::vector<Entry> entries;
  std::vector<std::int64_t> ptr = {0};

  std::int32_t size() const { return static_cast<std::int32_t>(ptr.size()) - 1; }
  void end_row() { ptr.push_back(static_cast<std::int64_t>(entries.size())); }
  void clear() {
    entries.clear();
    ptr.assign(1, 0);
  }
};

/// Columns of chunks of one layer, at neighbouring positions.
struct Bundle {
  std::int32_t first, size;            // positions
  std::int32_t first_chunk, n_chunks;  // in the order of chunk_order
  std::int64_t piece;                  // entries of a task, where it is cut into several
};

/// What all tasks read: the rows, and where the columns of each chunk are.
struct Layout {
  Layout(const FilledPattern& f, const Chunks& the_chunks, const ChunkTaskOptions& the_options, int host_threads)
      : n(f.n), options(the_options), rows(f, the_options.transposed, host_threads), position(f.n) {
    place(the_chunks);
  }

  const std::int32_t n;
  const ChunkTaskOptions options;
  const Rows rows;
  std::vector<std::int32_t> column_at;    // (n) at each position
  std::vector<std::int32_t> position;     // (n) of each column
  std::vector<std::int32_t> chunk_order;  // (chunks) by layer
  std::vector<std::int32_t> chunk_size;
  std::vector<Bundle> bundles;

 private:
  /// Chunks by layer, neighbours of a layer in one bundle as long as its blocks get equal shares.
  void place(const Chunks& chunks) {
    const std::int32_t n_chunks = chunks.size();
    std::vector<std::int32_t> column_ptr(n_chunks + 1, 0), layer_ptr(chunks.n_layers + 1, 0);
    for (const std::int32_t c : chunks.of) ++column_ptr[c + 1];
    for (std::int32_t c = 0; c < n_chunks; ++c) column_ptr[c + 1] += column_ptr[c];
    std::vector<std::int32_t> columns(n), next(column_ptr.begin(), column_ptr.end() - 1);
    for (std::int32_t j = 0; j < n; ++j) columns[next[chunks.of[j]]++] = j;
    for (const std::int32_t l : chunks.layer) ++layer_ptr[l + 1];
    for (std::int32_t l = 0; l < chunks.n_layers; ++l) layer_ptr[l + 1] += layer_ptr[l];
    chunk_order.resize(n_chunks);
    next.assign(layer_ptr.begin(), layer_ptr.end() - 1);
    for (std::int32_t c = 0; c < n_chunks; ++c) chunk_order[next[chunks.layer[c]]++] = c;

    std::vector<double> work(n_chunks, 0);
    for (std::int32_t i = 0; i < n; ++i) {
      const std::int32_t c = chunks.of[i], size = column_ptr[c + 1] - column_ptr[c];
      work[c] += 2.0 + double(rows.t.col_ptr[i + 1] - rows.t.col_ptr[i]) + 0.5 * size;
    }
    for (std::int32_t l = 0; l < chunks.n_layers; ++l) {
      double all = 0, taken = 0;
      for (std::int32_t q = layer_ptr[l]; q < layer_ptr[l + 1]; ++q) all += work[chunk_order[q]];
      const double share = std::max(2.0 * options.threads, 1.3 * all / options.workers);
      // Pieces for all workers (H100, 32 right-hand sides, memplus 6.0 -> 4.0 µs each, ACTIVSg10k 7.8 -> 6.9).
      const auto piece = static_cast<std::int64_t>(std::min<double>(share, options.max_entries));
      for (std::int32_t q = layer_ptr[l]; q < layer_ptr[l + 1]; ++q) {
        const std::int32_t c = chunk_order[q], size = column_ptr[c + 1] - column_ptr[c];
        if (q == layer_ptr[l] || taken + work[c] > share || bundles.back().size + size > 4 * options.threads) {
          bundles.push_back({static_cast<std::int32_t>(column_at.size()), 0, q, 0, piece});
          taken = 0;
        }
        for (std::int32_t k = column_ptr[c]; k < column_ptr[c + 1]; ++k) {
          position[columns[k]] = static_cast<std::int32_t>(column_at.size());
          column_at.push_back(columns[k]);
        }
        bundles.back().size += size;
        ++bundles.back().n_chunks;
        taken += work[c];
      }
    }
    chunk_size.resize(n_chunks);
    for (std::int32_t c = 0; c < n_chunks; ++c) chunk_size[c] = column_ptr[c + 1] - column_ptr[c];
  }
};

/// The tasks of some bundles. Words from 2n on, offsets and entries of inverses are counted from the first one of this
/// part; there is no worker yet.
class Part {
 public:
  Part(const Layout& layout, std::int64_t entries) : l_(layout), index_of_(layout.n, -1) {
    plan.n_words = 2 * std::int64_t(l_.n);
    plan.moves.reserve(entries);
    plan.entries.reserve(entries);
    plan.inverses.reserve(entries);
    plan.tasks.reserve(entries * (l_.options.scalar_bytes + 6));
  }

  ChunkTasks plan;
  std::vector<double> work;  // (tasks)

  void emit(const Bundle& b, bool lower) {
    invert(b, lower, inverse_);
    std::int64_t entries = static_cast<std::int64_t>(inverse_.entries.size());
    for (std::int32_t p = b.first; p < b.first + b.size; ++p) entries += outer_entries(b, lower, p);
    const std::int32_t out = (lower ? 0 : l_.n) + b.first, solution = lower ? -1 : b.first;
    const ChunkTask::Start start = lower ? ChunkTask::right_side : ChunkTask::word;
    if (entries <= l_.options.max_entries) {
      gather(b, lower, b.first, b.size);
      add_task(start, b.first, out, solution, lower, &inverse_);
      return;
    }
    const std::int32_t s = new_words(b.size);
    for (std::int32_t p = b.first; p < b.first + b.size;) {
      std::int64_t together = outer_entries(b, lower, p);
      std::int32_t count = 1;
      if (together > l_.options.max_entries) {
        emit_long_row(b, lower, p, s + p - b.first);
      } else {
        while (p + count < b.first + b.size && together < b.piece / 2) {
          const std::int64_t more = outer_entries(b, lower, p + count);
          if (together + more > b.piece) break;
          together += more;
          ++count;
        }
        gather(b, lower, p, count);
        add_task(start, p, s + p - b.first, -1, lower, nullptr);
      }
      p += count;
    }
    for (std::int32_t first = 0; first < b.size;) {
      outer_.clear();
      inputs_.clear();
      std::int32_t end = first;
      while (end < b.size && (end == first || static_cast<std::int64_t>(outer_.entries.size()) < b.piece / 2)) {
        for (std::int64_t k = inverse_.ptr[end]; k < inverse_.ptr[end + 1]; ++k) {
          outer_.entries.push_back(inverse_.entries[k]);
          inputs_.push_back(inverse_.entries[k].source);
        }
        outer_.end_row();
        ++end;
      }
      std::ranges::sort(inputs_);
      inputs_.erase(std::unique(inputs_.begin(), inputs_.end()), inputs_.end());
      for (Entry& e : outer_.entries)
        e.source = static_cast<std::int32_t>(std::ranges::lower_bound(inputs_, e.source) - inputs_.begin());
      for (std::int32_t& word : inputs_) word += s;
      add_task(ChunkTask::zero, 0, out + first, solution < 0 ? -1 : solution + first, lower, nullptr, false);
      first = end;
    }
  }

 private:
  bool inside(const Bundle& b, std::int32_t j) const {
    return l_.position[j] >= b.first && l_.position[j] < b.first + b.size;
  }

  /// The rows of the inverses of a bundle's chunks, sources counted from the bundle's first row. Row i of an inverse
  /// has the columns that i reaches.
  void invert(const Bundle& b, bool lower, EntryRows& inverse) {
    inverse.clear();
    std::int32_t first = b.first;
    for (std::int32_t q = b.first_chunk; q < b.first_chunk + b.n_chunks; ++q) {
      const std::int32_t size = l_.chunk_size[l_.chunk_order[q]];
      ChunkTriangle t = {static_cast<std::uint32_t>(plan.entries.size()),
                         0,
                         static_cast<std::uint32_t>(plan.inverses.size()),
                         0,
                         size,
                         lower};
      const auto turned = [=](std::int32_t i) { return static_cast<std::uint8_t>(lower ? i : size - 1 - i); };
      const auto add = [&](std::int64_t k, std::int32_t i, std::int32_t j) {
        plan.entries.push_back({static_cast<std::uint32_t>(l_.rows.t.values[k]), turned(i), turned(j)});
      };
      if (l_.rows.has_pivots(lower))
        for (std::int32_t i = 0; i < size; ++i) add(l_.rows.diag[l_.column_at[first + i]], i, i);
      std::uint64_t reached[max_chunk_columns] = {};
      for (std::int32_t step = 0; step < size; ++step) {
        const std::int32_t i = lower ? step : size - 1 - step, row = l_.column_at[first + i];
        reached[i] = std::uint64_t(1) << i;
        for (std::int64_t k = l_.rows.begin(row, lower); k < l_.rows.end(row, lower); ++k) {
          const std::int32_t j = l_.position[l_.rows.t.row_idx[k]] - first;
          if (j < 0 || j >= size) continue;
          add(k, i, j);
          reached[i] |= reached[j];
        }
      }
      for (std::int32_t i = 0; i < size; ++i) {
        for (std::uint64_t left = reached[i]; left != 0; left &= left - 1) {
          const int j = std::countr_zero(left);
          if (j == i) {
            inverse.entries.push_back({first - b.first + j, one_origin});
            continue;
          }
          inverse.entries.push_back({first - b.first + j, inverse_origin + std::int64_t(plan.inverses.size())});
          plan.inverses.push_back({0, turned(i), turned(j)});
        }
        inverse.end_row();
      }
      t.entry_end = static_cast<std::uint32_t>(plan.entries.size());
      t.inverse_end = static_cast<std::uint32_t>(plan.inverses.size());
      if (t.inverse_end > t.inverse)
        plan.triangles.push_back(t);
      else
        plan.entries.resize(t.entry);
      first += size;
    }
  }

  /// Rows first .. first + count - 1 without what is inside their chunks. inputs_: the words of its sources.
  void gather(const Bundle& b, bool lower, std::int32_t first, std::int32_t count) {
    outer_.clear();
    inputs_.clear();
    const auto each = [&](const auto& visit) {
      for (std::int32_t p = first; p < first + count; ++p) {
        const std::int32_t row = l_.column_at[p];
        for (std::int64_t k = l_.rows.begin(row, lower); k < l_.rows.end(row, lower); ++k)
          if (!inside(b, l_.rows.t.row_idx[k])) visit(k, l_.rows.t.row_idx[k]);
        outer_.end_row();
      }
    };
    each([&](std::int64_t, std::int32_t j) {
      if (index_of_[j] < 0) {
        index_of_[j] = 0;
        inputs_.push_back(l_.position[j]);
      }
    });
    std::ranges::sort(inputs_);  // neighbours are read together
    for (std::size_t k = 0; k < inputs_.size(); ++k) index_of_[l_.column_at[inputs_[k]]] = static_cast<std::int32_t>(k);
    outer_.clear();
    each([&](std::int64_t k, std::int32_t j) { outer_.entries.push_back({index_of_[j], l_.rows.t.values[k]}); });
    for (std::int32_t& position : inputs_) {
      index_of_[l_.column_at[position]] = -1;
      if (!lower) position += l_.n;
    }
  }

  std::int64_t outer_entries(const Bundle& b, bool lower, std::int32_t p) const {
    const std::int32_t row = l_.column_at[p];
    std::int64_t count = 0;
    for (std::int64_t k = l_.rows.begin(row, lower); k < l_.rows.end(row, lower); ++k)
      count += !inside(b, l_.rows.t.row_idx[k]);
    return count;
  }

  /// A row in slices, whose sums another task adds up.
  void emit_long_row(const Bundle& b, bool lower, std::int32_t p, std::int32_t out) {
    gather(b, lower, p, 1);
    const EntryRows whole = outer_;
    const std::vector<std::int32_t> words = inputs_;
    const auto slices =
        static_cast<std::int32_t>((whole.entries.size() + l_.options.max_entries - 1) / l_.options.max_entries);
    const std::int32_t sums = new_words(slices);
    for (std::int32_t q = 0; q < slices; ++q) {
      outer_.clear();
      inputs_.clear();
      const std::size_t begin = whole.entries.size() * q / slices, end = whole.entries.size() * (q + 1) / slices;
      for (std::size_t k = begin; k < end; ++k) {
        outer_.entries.push_back({static_cast<std::int32_t>(k - begin), whole.entries[k].origin});
        inputs_.push_back(words[whole.entries[k].source]);
      }
      outer_.end_row();
      add_task(ChunkTask::zero, 0, sums + q, -1, lower, nullptr, false);
    }
    outer_.clear();
    inputs_.clear();
    for (std::int32_t q = 0; q < slices; ++q) {
      outer_.entries.push_back({q, one_origin});
      inputs_.push_back(sums + q);
    }
    outer_.end_row();
    add_task(lower ? ChunkTask::right_side : ChunkTask::word, p, out, -1, lower, nullptr);
  }

  std::int32_t new_words(std::int32_t count) {
    const std::int64_t first = plan.n_words;
    plan.n_words += count;
    return static_cast<std::int32_t>(first);
  }

  /// Zeros.
  std::uint32_t room(std::size_t bytes) {
    const std::size_t at = plan.tasks.size() - static_cast<std::size_t>(plan.begin.back());
    plan.tasks.resize(plan.tasks.size() + (bytes + 15) / 16 * 16, std::byte(0));
    return static_cast<std::uint32_t>(at);
  }
  template <class V>
  std::uint32_t put(const std::vector<V>& values) {
    const std::uint32_t at = room(values.size() * sizeof(V));
    if (!values.empty())
      std::memcpy(plan.tasks.data() + plan.begin.back() + at, values.data(), values.size() * sizeof(V));
    return at;
  }
  /// In units of the scalar.
  std::uint32_t in_tasks(std::uint32_t offset, std::size_t index) const {
    return static_cast<std::uint32_t>((plan.begin.back() + offset) / l_.options.scalar_bytes + index);
  }

  static std::uint16_t log_lanes_for(std::int32_t size, std::int32_t most_steps) {
    std::uint16_t log_lanes = 0;
    while (log_lanes < 5 && size > (most_steps << log_lanes)) ++log_lanes;
    return log_lanes;
  }

  /// Most steps of a pass, so that the warp with the longest passes is done first. More make fewer passes: a second one
  /// for a warp takes longer than some steps.
  std::int32_t steps_of_passes(std::int64_t entries) const {
    constexpr std::int64_t steps_of_one = 4;  // what a pass takes besides its steps: .5 and .13 µs on an H200
    const std::int64_t warps = l_.options.threads / 32;
    const auto fewest = static_cast<std::int32_t>(std::max<std::int64_t>(entries / l_.options.threads, 2));
    std::int32_t best = fewest;
    std::int64_t best_cost = std::numeric_limits<std::int64_t>::max();
    for (std::int32_t steps = fewest; steps <= fewest + 8; ++steps) {
      std::int64_t cost = 0, passes = 0;
      for (std::size_t k = 0; k < pieces_.size(); ++passes) {
        const std::uint16_t log_lanes = log_lanes_for(pieces_[k].size, steps);
        const std::int32_t lanes = 1 << log_lanes, size = pieces_[k].size;
        if (passes % warps == 0) cost += steps_of_one + (size + lanes - 1) / lanes;
        for (int g = 0; g < 32 / lanes && k < pieces_.size() && (pieces_[k].size > 0 || size == 0); ++g) ++k;
      }
      if (cost < best_cost) {
        best = steps;
        best_cost = cost;
      }
      if (passes <= warps) break;
    }
    return best;
  }

  /// Rows by length, so that those that share a pass are of one length; a hub's row in several pieces.
  ChunkRows pack(const EntryRows& rows) {
    ChunkRows packed = {};
    const std::int32_t most = 32 * 8;
    pieces_.clear();
    long_rows_.clear();
    std::int32_t partial_sums = 0;
    for (std::int32_t i = 0; i < rows.size(); ++i) {
      const std::int64_t begin = rows.ptr[i];
      const auto size = static_cast<std::int32_t>(rows.ptr[i + 1] - begin);
      if (size <= 2 * most) {
        pieces_.push_back({static_cast<std::uint16_t>(i), begin, size});
        continue;
      }
      const std::int32_t parts = (size + most - 1) / most;
      long_rows_.push_back({static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(partial_sums),
                            static_cast<std::uint16_t>(partial_sums + parts), 0});
      for (std::int32_t q = 0; q < parts; ++q) {
        const std::int64_t from = std::int64_t(size) * q / parts, end = std::int64_t(size) * (q + 1) / parts;
        pieces_.push_back({static_cast<std::uint16_t>(partial_sum + partial_sums++), begin + from,
                           static_cast<std::int32_t>(end - from)});
      }
    }
    plan.max_partial_sums = std::max(plan.max_partial_sums, partial_sums);
    std::ranges::stable_sort(pieces_, std::greater{}, &Piece::size);
    const std::int32_t most_steps = steps_of_passes(static_cast<std::int64_t>(rows.entries.size()));

    passes_.clear();
    row_of_.clear();
    sources_.clear();
    origins_.clear();
    for (std::size_t k = 0; k < pieces_.size();) {
      const std::uint16_t log_lanes = log_lanes_for(pieces_[k].size, most_steps);
      const std::int32_t lanes = 1 << log_lanes, groups = 32 >> log_lanes;
      const ChunkPass pass = {static_cast<std::uint32_t>(sources_.size()),
                              static_cast<std::uint16_t>((pieces_[k].size + lanes - 1) / lanes), log_lanes,
                              static_cast<std::uint32_t>(row_of_.size())};
      sources_.resize(sources_.size() + 32 * std::size_t(pass.steps), 0);
      for (std::int32_t g = 0; g < groups; ++g) {
        // An empty row has no source that a gap could take, so it does not share a pass that has entries.
        if (k == pieces_.size() || (pieces_[k].size == 0 && pass.steps > 0)) {
          row_of_.push_back(no_row);
          continue;
        }
        const Piece& piece = pieces_[k++];
        row_of_.push_back(piece.row);
        for (std::int32_t e = 0; e < pass.steps * lanes; ++e)  // a gap multiplies zero by a factor of its own row
          sources_[pass.first + 32 * (e >> log_lanes) + g * lanes + e % lanes] =
              static_cast<std::uint16_t>(rows.entries[piece.begin + std::min(e, piece.size - 1)].source);
        for (std::int32_t e = 0; e < piece.size; ++e) {
          const auto at = static_cast<std::uint32_t>(pass.first + 32 * (e >> log_lanes) + g * lanes + e % lanes);
          origins_.emplace_back(at, rows.entries[piece.begin + e].origin);
        }
      }
      passes_.push_back(pass);
    }
    packed.n_passes = static_cast<std::uint32_t>(passes_.size());
    packed.n_long_rows = static_cast<std::uint32_t>(long_rows_.size());
    packed.values = room(sources_.size() * l_.options.scalar_bytes);
    packed.sources = put(sources_);
    packed.passes = put(passes_);
    packed.rows = put(row_of_);
    packed.long_rows = put(long_rows_);
    padded_ += sources_.size();
    for (const auto& [at, origin] : origins_) {
      const std::uint32_t to = in_tasks(packed.values, at);
      if (origin >= inverse_origin)
        plan.inverses[origin - inverse_origin].at = to;
      else if (origin != one_origin)
        plan.moves.push_back({to, static_cast<std::uint32_t>(origin)});
      else if (l_.options.scalar_bytes == 8)
        set(to, 1.0);
      else
        set(to, 1.0f);
    }
    return packed;
  }
  template <class V>
  void set(std::uint32_t to, V value) {
    std::memcpy(plan.tasks.data() + std::size_t(to) * sizeof(V), &value, sizeof(V));
  }

  /// A task with the rows outer_ over the words inputs_.
  void add_task(ChunkTask::Start start, std::int32_t first, std::int32_t out, std::int32_t solution, bool lower,
                const EntryRows* inverse, bool completes_rows = true) {
    ChunkTask task = {};
    task.n_rows = outer_.size();
    task.n_inputs = static_cast<std::int32_t>(inputs_.size());
    task.start = start;
    task.first = first;
    task.out = out;
    task.solution = solution;
    padded_ = 0;
    room(sizeof task);
    task.inputs = put(inputs_);
    task.outer = pack(outer_);
    task.has_inverse = inverse != nullptr;
    if (inverse) task.inverse = pack(*inverse);
    if (completes_rows && l_.rows.has_pivots(lower)) {
      task.pivots = room(std::size_t(task.n_rows) * l_.options.scalar_bytes);
      for (std::int32_t i = 0; i < task.n_rows; ++i)
        plan.moves.push_back({in_tasks(task.pivots, i),
                              static_cast<std::uint32_t>(l_.rows.t.values[l_.rows.diag[l_.column_at[first + i]]])});
    }
    std::memcpy(plan.tasks.data() + plan.begin.back(), &task, sizeof task);
    plan.begin.push_back(static_cast<std::int64_t>(plan.tasks.size()));
    plan.max_rows = std::max(plan.max_rows, task.n_rows);
    plan.max_inputs = std::max(plan.max_inputs, task.n_inputs);
    plan.max_bytes = std::max(plan.max_bytes, plan.begin.back() - plan.begin[plan.begin.size() - 2]);
    work.push_back(double(padded_ + task.n_inputs) / l_.options.threads + 10);
  }

  const Layout& l_;
  std::vector<std::int32_t> index_of_;  // (n) scratch of gather(), -1 between calls
  struct Piece {                        // of a row, or all of it
    std::uint16_t row;
    std::int64_t begin;
    std::int32_t size;
  };
  std::vector<Piece> pieces_;  // scratch of pack()
  std::vector<ChunkLongRow> long_rows_;
  std::vector<ChunkPass> passes_;
  std::vector<std::uint16_t> row_of_, sources_;
  std::vector<std::pair<std::uint32_t, Origin>> origins_;
  EntryRows outer_, inverse_;
  std::vector<std::int32_t> inputs_;  // words
  std::size_t padded_ = 0;            // entries of the task with its gaps
};

/// Bundles of both triangles in the order of their tasks.
struct Step {
  const Bundle& bundle;
  bool lower;
};

std::vector<Step> steps_of(const Layout& l) {
  std::vector<Step> steps;
  steps.reserve(2 * l.bundles.size());
  for (const Bundle& b : l.bundles) steps.push_back({b, true});
  std::for_each(l.bundles.rbegin(), l.bundles.rend(), [&](const Bundle& b) { steps.push_back({b, false}); });
  return steps;
}

/// (parts + 1) first steps of parts with about equal numbers of entries.
std::vector<std::size_t> equal_parts(const Layout& l, const std::vector<Step>& steps, int parts) {
  std::vector<std::int64_t> until = {0};
  for (const auto& [bundle, lower] : steps) {
    std::int64_t entries = 0;
    for (std::int32_t p = bundle.first; p < bundle.first + bundle.size; ++p)
      entries += 1 + l.rows.end(l.column_at[p], lower) - l.rows.begin(l.column_at[p], lower);
    until.push_back(until.back() + entries);
  }
  std::vector<std::size_t> first = {0};
  for (int part = 1; part <= parts; ++part)
    first.push_back(std::ranges::lower_bound(until, until.back() * part / parts) - until.begin());
  return first;
}

/// Where a part's tasks begin among all.
struct Offsets {
  std::size_t bytes = 0, tasks = 0, moves = 0, triangles = 0, entries = 0, inverses = 0;
  std::int64_t words = 0;

  void skip(const ChunkTasks& plan, std::int64_t shared_words) {
    bytes += plan.tasks.size();
    tasks += plan.size();
    moves += plan.moves.size();
    triangles += plan.triangles.size();
    entries += plan.entries.size();
    inverses += plan.inverses.size();
    words += plan.n_words - shared_words;
  }
};

/// Copies a part to its place, where its own counts become those of all.
void copy_part(const Layout& l, const ChunkTasks& part, const Offsets& at, ChunkTasks& all) {
  const std::int32_t shared_words = 2 * l.n;
  const auto word = [&](std::int32_t w) { return w < shared_words ? w : static_cast<std::int32_t>(w + at.words); };
  std::ranges::copy(part.tasks, all.tasks.begin() + at.bytes);
  for (std::int32_t t = 0; t < part.size(); ++t) {
    all.begin[at.tasks + t + 1] = static_cast<std::int64_t>(at.bytes) + part.begin[t + 1];
    std::byte* const bytes = all.tasks.data() + at.bytes + part.begin[t];
    ChunkTask task;
    std::memcpy(&task, bytes, sizeof task);
    task.out = word(task.out);
    std::memcpy(bytes, &task, sizeof task);
    auto* const inputs = reinterpret_cast<std::int32_t*>(bytes + task.inputs);
    std::transform(inputs, inputs + task.n_inputs, inputs, word);
  }
  const auto scalars = static_cast<std::uint32_t>(at.bytes / l.options.scalar_bytes);
  const auto entries = static_cast<std::uint32_t>(at.entries), inverses = static_cast<std::uint32_t>(at.inverses);
  std::ranges::transform(part.moves, all.moves.begin() + at.moves,
                         [&](ChunkMove move) { return move.to += scalars, move; });
  std::ranges::transform(part.inverses, all.inverses.begin() + at.inverses,
                         [&](ChunkEntry entry) { return entry.at += scalars, entry; });
  std::ranges::copy(part.entries, all.entries.begin() + at.entries);
  std::ranges::transform(part.triangles, all.triangles.begin() + at.triangles, [&](ChunkTriangle t) {
    return t.entry += entries, t.entry_end += entries, t.inverse += inverses, t.inverse_end += inverses, t;
  });
}

/// Tasks on the longest path.
std::int32_t count_hops(const ChunkTasks& plan) {
  std::vector<std::int32_t> hops_to(plan.n_words, 0);
  std::int32_t longest = 0;
  for (std::int32_t t = 0; t < plan.size(); ++t) {
    const std::byte* const bytes = plan.tasks.data() + plan.begin[t];
    ChunkTask task;
    std::memcpy(&task, bytes, sizeof task);
    std::int32_t hops = 0;
    const auto* const inputs = reinterpret_cast<const std::int32_t*>(bytes + task.inputs);
    for (std::int32_t k = 0; k < task.n_inputs; ++k) hops = std::max(hops, hops_to[inputs[k]]);
    if (task.start == ChunkTask::word)
      for (std::int32_t i = 0; i < task.n_rows; ++i) hops = std::max(hops, hops_to[task.first + i]);
    for (std::int32_t i = 0; i < task.n_rows; ++i) hops_to[task.out + i] = hops + 1;
    longest = std::max(longest, hops + 1);
  }
  return longest;
}

/// Tasks in their order, each to the worker that has the least to do.
void deal(const std::vector<double>& work, std::int32_t workers, ChunkTasks& plan) {
  using Load = std::pair<double, std::int32_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (std::int32_t w = 0; w < workers; ++w) loads.emplace(0, w);
  std::vector<std::vector<std::int32_t>> of(workers);
  for (std::int32_t t = 0; t < plan.size(); ++t) {
    const auto [load, worker] = loads.top();
    loads.pop();
    of[worker].push_back(t);
    loads.emplace(load + work[t], worker);
  }
  plan.worker_ptr = {0};
  for (const auto& tasks : of) {
    plan.worker_task.insert(plan.worker_task.end(), tasks.begin(), tasks.end());
    plan.worker_ptr.push_back(static_cast<std::int32_t>(plan.worker_task.size()));
  }
}

/// One after the other, as if one part had made all tasks.
Result<ChunkTasks> join(Layout& l, std::vector<Part>& parts) {
  ChunkTasks all;
  std::vector<double> work;
  std::vector<Offsets> offsets(parts.size() + 1);
  const std::int64_t shared_words = 2 * std::int64_t(l.n);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const ChunkTasks& part = parts[p].plan;
    offsets[p + 1] = offsets[p];
    offsets[p + 1].skip(part, shared_words);
    all.n_first_moves += part.n_first_moves;
    all.max_rows = std::max(all.max_rows, part.max_rows);
    all.max_inputs = std::max(all.max_inputs, part.max_inputs);
    all.max_partial_sums = std::max(all.max_partial_sums, part.max_partial_sums);
    all.max_bytes = std::max(all.max_bytes, part.max_bytes);
    work.insert(work.end(), parts[p].work.begin(), parts[p].work.end());
  }
  const Offsets& end = offsets.back();
  all.n_words = shared_words + end.words;
  if (end.bytes / l.options.scalar_bytes > std::numeric_limits<std::uint32_t>::max() ||
      all.n_words > std::numeric_limits<std::int32_t>::max() ||
      l.rows.t.nnz() > std::int64_t(std::numeric_limits<std::uint32_t>::max()))
    return Status::error(StatusCode::not_implemented, "a solve by chunks counts its entries in 32 bits");
  if (parts.size() == 1) {
    all.tasks = std::move(parts[0].plan.tasks);
    all.begin = std::move(parts[0].plan.begin);
    all.moves = std::move(parts[0].plan.moves);
    all.triangles = std::move(parts[0].plan.triangles);
    all.entries = std::move(parts[0].plan.entries);
    all.inverses = std::move(parts[0].plan.inverses);
  } else {
    all.tasks.resize(end.bytes);
    all.begin.resize(end.tasks + 1);
    all.moves.resize(end.moves);
    all.triangles.resize(end.triangles);
    all.entries.resize(end.entries);
    all.inverses.resize(end.inverses);
    in_parallel(static_cast<int>(parts.size()), [&](int p) {
      copy_part(l, parts[p].plan, offsets[p], all);
      parts[p].plan = {};
    });
  }
  all.column_at = std::move(l.column_at);
  all.hops = count_hops(all);
  std::ranges::stable_sort(all.triangles, std::greater{}, &ChunkTriangle::size);
  deal(work, l.options.workers, all);
  return all;
}

}  // namespace

Result<ChunkTasks> make_chunk_tasks(const FilledPattern& filled, const Chunks& chunks, const ChunkTaskOptions& options,
                                    int host_threads) {
  const int count = host_threads > 0 ? host_threads : threads_for(filled.nnz(), entries_per_thread, max_threads);
  Layout layout(filled, chunks, options, count);
  const std::vector<Step> steps = steps_of(layout);
  const std::vector<std::size_t> first = equal_parts(layout, steps, count);
  std::vector<Part> parts;
  parts.reserve(count);
  for (int p = 0; p < count; ++p) parts.emplace_back(layout, layout.rows.t.nnz() / count);
  in_parallel(count, [&](int p) {
    for (std::size_t s = first[p]; s < first[p + 1]; ++s) {
      parts[p].emit(steps[s].bundle, steps[s].lower);
      if (steps[s].lower) parts[p].plan.n_first_moves = static_cast<std::int64_t>(parts[p].plan.moves.size());
    }
  });
  return join(layout, parts);
}

}  // namespace lulab
