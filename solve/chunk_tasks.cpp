#include "solve/chunk_tasks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "solve/by_rows.h"

namespace lulab {
namespace {

constexpr std::uint16_t no_row = 0xffff, partial_sum = 0x8000;

/// As or its transpose by rows. The entries before the diagonal are the first triangle's.
struct Rows {
  CscMatrix<std::int64_t> t;       // column i: row i; values: position in As
  std::vector<std::int64_t> diag;  // (n) of row i in t
  bool lower_has_pivots;

  Rows(const FilledPattern& f, bool transposed) : lower_has_pivots(transposed) {
    if (transposed) {
      t.n_rows = t.n_cols = f.n;
      t.col_ptr = f.col_ptr;
      t.row_idx = f.row_idx;
      t.values.resize(f.nnz());
      for (std::int64_t k = 0; k < f.nnz(); ++k) t.values[k] = k;
      diag = f.diag;
      return;
    }
    t = by_rows(f.view());
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
};

class Builder {
 public:
  Builder(const FilledPattern& f, const Chunks& chunks, const ChunkTaskOptions& options)
      : n_(f.n), options_(options), chunks_(chunks), rows_(f, options.transposed), position_(f.n), index_of_(f.n, -1) {}

  Status build() {
    place();
    plan_.n_words = 2 * std::int64_t(n_);
    plan_.moves.reserve(rows_.t.nnz());
    plan_.entries.reserve(rows_.t.nnz());
    plan_.inverses.reserve(rows_.t.nnz());
    plan_.tasks.reserve(rows_.t.nnz() * (options_.scalar_bytes + 6));
    depth_.assign(plan_.n_words, 0);
    for (const Bundle& b : bundles_) emit(b, true);
    plan_.n_first_moves = static_cast<std::int64_t>(plan_.moves.size());
    std::for_each(bundles_.rbegin(), bundles_.rend(), [&](const Bundle& b) { emit(b, false); });
    std::ranges::stable_sort(plan_.triangles, std::greater{}, &ChunkTriangle::size);
    if (plan_.tasks.size() / options_.scalar_bytes > std::numeric_limits<std::uint32_t>::max() ||
        plan_.n_words > std::numeric_limits<std::int32_t>::max() ||
        rows_.t.nnz() > std::int64_t(std::numeric_limits<std::uint32_t>::max()))
      return Status::error(StatusCode::not_implemented, "a solve by chunks counts its entries in 32 bits");
    deal();
    return {};
  }
  ChunkTasks take() { return std::move(plan_); }

 private:
  /// Chunks by layer, neighbours of a layer in one bundle as long as its blocks get equal shares.
  void place() {
    const std::int32_t n_chunks = chunks_.size();
    std::vector<std::int32_t> column_ptr(n_chunks + 1, 0), layer_ptr(chunks_.n_layers + 1, 0);
    for (const std::int32_t c : chunks_.of) ++column_ptr[c + 1];
    for (std::int32_t c = 0; c < n_chunks; ++c) column_ptr[c + 1] += column_ptr[c];
    std::vector<std::int32_t> columns(n_), next(column_ptr.begin(), column_ptr.end() - 1);
    for (std::int32_t j = 0; j < n_; ++j) columns[next[chunks_.of[j]]++] = j;
    for (const std::int32_t l : chunks_.layer) ++layer_ptr[l + 1];
    for (std::int32_t l = 0; l < chunks_.n_layers; ++l) layer_ptr[l + 1] += layer_ptr[l];
    chunk_order_.resize(n_chunks);
    next.assign(layer_ptr.begin(), layer_ptr.end() - 1);
    for (std::int32_t c = 0; c < n_chunks; ++c) chunk_order_[next[chunks_.layer[c]]++] = c;

    std::vector<double> work(n_chunks, 0);
    for (std::int32_t i = 0; i < n_; ++i) {
      const std::int32_t c = chunks_.of[i], size = column_ptr[c + 1] - column_ptr[c];
      work[c] += 2.0 + double(rows_.t.col_ptr[i + 1] - rows_.t.col_ptr[i]) + 0.5 * size;
    }
    for (std::int32_t l = 0; l < chunks_.n_layers; ++l) {
      double all = 0, taken = 0;
      for (std::int32_t q = layer_ptr[l]; q < layer_ptr[l + 1]; ++q) all += work[chunk_order_[q]];
      const double share = std::max(2.0 * options_.threads, 1.3 * all / options_.workers);
      for (std::int32_t q = layer_ptr[l]; q < layer_ptr[l + 1]; ++q) {
        const std::int32_t c = chunk_order_[q], size = column_ptr[c + 1] - column_ptr[c];
        if (q == layer_ptr[l] || taken + work[c] > share || bundles_.back().size + size > 4 * options_.threads) {
          bundles_.push_back({static_cast<std::int32_t>(plan_.column_at.size()), 0, q, 0});
          taken = 0;
        }
        for (std::int32_t k = column_ptr[c]; k < column_ptr[c + 1]; ++k) {
          position_[columns[k]] = static_cast<std::int32_t>(plan_.column_at.size());
          plan_.column_at.push_back(columns[k]);
        }
        bundles_.back().size += size;
        ++bundles_.back().n_chunks;
        taken += work[c];
      }
    }
    chunk_size_.resize(n_chunks);
    for (std::int32_t c = 0; c < n_chunks; ++c) chunk_size_[c] = column_ptr[c + 1] - column_ptr[c];
  }

  bool inside(const Bundle& b, std::int32_t j) const {
    return position_[j] >= b.first && position_[j] < b.first + b.size;
  }

  /// The rows of the inverses of a bundle's chunks, sources counted from the bundle's first row. Row i of an inverse
  /// has the columns that i reaches.
  void invert(const Bundle& b, bool lower, EntryRows& inverse) {
    inverse.clear();
    std::int32_t first = b.first;
    for (std::int32_t q = b.first_chunk; q < b.first_chunk + b.n_chunks; ++q) {
      const std::int32_t size = chunk_size_[chunk_order_[q]];
      ChunkTriangle t = {static_cast<std::uint32_t>(plan_.entries.size()),
                         0,
                         static_cast<std::uint32_t>(plan_.inverses.size()),
                         0,
                         size,
                         lower};
      const auto turned = [=](std::int32_t i) { return static_cast<std::uint8_t>(lower ? i : size - 1 - i); };
      const auto add = [&](std::int64_t k, std::int32_t i, std::int32_t j) {
        plan_.entries.push_back({static_cast<std::uint32_t>(rows_.t.values[k]), turned(i), turned(j)});
      };
      if (rows_.has_pivots(lower))
        for (std::int32_t i = 0; i < size; ++i) add(rows_.diag[plan_.column_at[first + i]], i, i);
      std::uint64_t reached[max_chunk_columns] = {};
      for (std::int32_t step = 0; step < size; ++step) {
        const std::int32_t i = lower ? step : size - 1 - step, row = plan_.column_at[first + i];
        reached[i] = std::uint64_t(1) << i;
        for (std::int64_t k = rows_.begin(row, lower); k < rows_.end(row, lower); ++k) {
          const std::int32_t j = position_[rows_.t.row_idx[k]] - first;
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
          inverse.entries.push_back({first - b.first + j, inverse_origin + std::int64_t(plan_.inverses.size())});
          plan_.inverses.push_back({0, turned(i), turned(j)});
        }
        inverse.end_row();
      }
      t.entry_end = static_cast<std::uint32_t>(plan_.entries.size());
      t.inverse_end = static_cast<std::uint32_t>(plan_.inverses.size());
      if (t.inverse_end > t.inverse)
        plan_.triangles.push_back(t);
      else
        plan_.entries.resize(t.entry);
      first += size;
    }
  }

  /// Rows first .. first + count - 1 without what is inside their chunks. inputs_: the words of its sources.
  void gather(const Bundle& b, bool lower, std::int32_t first, std::int32_t count) {
    outer_.clear();
    inputs_.clear();
    const auto each = [&](const auto& visit) {
      for (std::int32_t p = first; p < first + count; ++p) {
        const std::int32_t row = plan_.column_at[p];
        for (std::int64_t k = rows_.begin(row, lower); k < rows_.end(row, lower); ++k)
          if (!inside(b, rows_.t.row_idx[k])) visit(k, rows_.t.row_idx[k]);
        outer_.end_row();
      }
    };
    each([&](std::int64_t, std::int32_t j) {
      if (index_of_[j] < 0) {
        index_of_[j] = 0;
        inputs_.push_back(position_[j]);
      }
    });
    std::ranges::sort(inputs_);  // neighbours are read together
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      index_of_[plan_.column_at[inputs_[k]]] = static_cast<std::int32_t>(k);
    outer_.clear();
    each([&](std::int64_t k, std::int32_t j) { outer_.entries.push_back({index_of_[j], rows_.t.values[k]}); });
    for (std::int32_t& position : inputs_) {
      index_of_[plan_.column_at[position]] = -1;
      if (!lower) position += n_;
    }
  }

  std::int64_t outer_entries(const Bundle& b, bool lower, std::int32_t p) const {
    const std::int32_t row = plan_.column_at[p];
    std::int64_t count = 0;
    for (std::int64_t k = rows_.begin(row, lower); k < rows_.end(row, lower); ++k)
      count += !inside(b, rows_.t.row_idx[k]);
    return count;
  }

  void emit(const Bundle& b, bool lower) {
    invert(b, lower, inverse_);
    std::int64_t entries = static_cast<std::int64_t>(inverse_.entries.size());
    for (std::int32_t p = b.first; p < b.first + b.size; ++p) entries += outer_entries(b, lower, p);
    const std::int32_t out = (lower ? 0 : n_) + b.first, solution = lower ? -1 : b.first;
    const ChunkTask::Start start = lower ? ChunkTask::right_side : ChunkTask::word;
    if (entries <= options_.max_entries) {
      gather(b, lower, b.first, b.size);
      add_task(start, b.first, out, solution, lower, &inverse_);
      return;
    }
    const std::int32_t s = new_words(b.size);
    for (std::int32_t p = b.first; p < b.first + b.size;) {
      std::int64_t together = outer_entries(b, lower, p);
      std::int32_t count = 1;
      if (together > options_.max_entries) {
        emit_long_row(b, lower, p, s + p - b.first);
      } else {
        while (p + count < b.first + b.size && together < options_.max_entries / 2) {
          const std::int64_t more = outer_entries(b, lower, p + count);
          if (together + more > options_.max_entries) break;
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
      while (end < b.size &&
             (end == first || static_cast<std::int32_t>(outer_.entries.size()) < options_.max_entries / 2)) {
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

  /// A row in slices, whose sums another task adds up.
  void emit_long_row(const Bundle& b, bool lower, std::int32_t p, std::int32_t out) {
    gather(b, lower, p, 1);
    const EntryRows whole = outer_;
    const std::vector<std::int32_t> words = inputs_;
    const auto slices =
        static_cast<std::int32_t>((whole.entries.size() + options_.max_entries - 1) / options_.max_entries);
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
    const std::int64_t first = plan_.n_words;
    plan_.n_words += count;
    depth_.resize(plan_.n_words, 0);
    return static_cast<std::int32_t>(first);
  }

  std::uint32_t room(std::size_t bytes) {
    const std::size_t at = plan_.tasks.size() - static_cast<std::size_t>(plan_.begin.back());
    plan_.tasks.resize(plan_.tasks.size() + (bytes + 15) / 16 * 16);
    return static_cast<std::uint32_t>(at);
  }
  template <class V>
  std::uint32_t put(const std::vector<V>& values) {
    const std::uint32_t at = room(values.size() * sizeof(V));
    if (!values.empty())
      std::memcpy(plan_.tasks.data() + plan_.begin.back() + at, values.data(), values.size() * sizeof(V));
    return at;
  }
  /// In units of the scalar.
  std::uint32_t in_tasks(std::uint32_t offset, std::size_t index) const {
    return static_cast<std::uint32_t>((plan_.begin.back() + offset) / options_.scalar_bytes + index);
  }

  /// Rows by length, so that those that share a pass are of one length; a hub's row in several pieces.
  ChunkRows pack(const EntryRows& rows) {
    ChunkRows packed = {};
    const auto all = static_cast<std::int64_t>(rows.entries.size());
    const auto most_steps =
        static_cast<std::int32_t>(std::clamp<std::int64_t>((all + options_.threads - 1) / options_.threads, 2, 8));
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
    plan_.max_partial_sums = std::max(plan_.max_partial_sums, partial_sums);
    std::ranges::stable_sort(pieces_, std::greater{}, &Piece::size);

    passes_.clear();
    row_of_.clear();
    sources_.clear();
    origins_.clear();
    for (std::size_t k = 0; k < pieces_.size();) {
      std::uint16_t log_lanes = 0;
      while (log_lanes < 5 && pieces_[k].size > (most_steps << log_lanes)) ++log_lanes;
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
    packed.values = room(sources_.size() * options_.scalar_bytes);
    packed.sources = put(sources_);
    packed.passes = put(passes_);
    packed.rows = put(row_of_);
    packed.long_rows = put(long_rows_);
    padded_ += sources_.size();
    for (const auto& [at, origin] : origins_) {
      const std::uint32_t to = in_tasks(packed.values, at);
      if (origin >= inverse_origin)
        plan_.inverses[origin - inverse_origin].at = to;
      else if (origin != one_origin)
        plan_.moves.push_back({to, static_cast<std::uint32_t>(origin)});
      else if (options_.scalar_bytes == 8)
        set(to, 1.0);
      else
        set(to, 1.0f);
    }
    return packed;
  }
  template <class V>
  void set(std::uint32_t to, V value) {
    std::memcpy(plan_.tasks.data() + std::size_t(to) * sizeof(V), &value, sizeof(V));
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
    if (completes_rows && rows_.has_pivots(lower)) {
      task.pivots = room(std::size_t(task.n_rows) * options_.scalar_bytes);
      for (std::int32_t i = 0; i < task.n_rows; ++i)
        plan_.moves.push_back({in_tasks(task.pivots, i),
                               static_cast<std::uint32_t>(rows_.t.values[rows_.diag[plan_.column_at[first + i]]])});
    }
    std::memcpy(plan_.tasks.data() + plan_.begin.back(), &task, sizeof task);
    plan_.begin.push_back(static_cast<std::int64_t>(plan_.tasks.size()));
    plan_.max_rows = std::max(plan_.max_rows, task.n_rows);
    plan_.max_inputs = std::max(plan_.max_inputs, task.n_inputs);
    plan_.max_bytes = std::max(plan_.max_bytes, plan_.begin.back() - plan_.begin[plan_.begin.size() - 2]);
    work_.push_back(double(padded_ + task.n_inputs) / options_.threads + 10);

    std::int32_t depth = 0;
    for (const std::int32_t word : inputs_) depth = std::max(depth, depth_[word]);
    if (start == ChunkTask::word)
      for (std::int32_t i = 0; i < task.n_rows; ++i) depth = std::max(depth, depth_[first + i]);
    for (std::int32_t i = 0; i < task.n_rows; ++i) depth_[out + i] = depth + 1;
    plan_.hops = std::max(plan_.hops, depth + 1);
  }

  /// Tasks in their order, each to the worker that has the least to do.
  void deal() {
    using Load = std::pair<double, std::int32_t>;
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (std::int32_t w = 0; w < options_.workers; ++w) loads.emplace(0, w);
    std::vector<std::vector<std::int32_t>> of(options_.workers);
    for (std::int32_t t = 0; t < plan_.size(); ++t) {
      const auto [load, worker] = loads.top();
      loads.pop();
      of[worker].push_back(t);
      loads.emplace(load + work_[t], worker);
    }
    plan_.worker_ptr = {0};
    for (const auto& tasks : of) {
      plan_.worker_task.insert(plan_.worker_task.end(), tasks.begin(), tasks.end());
      plan_.worker_ptr.push_back(static_cast<std::int32_t>(plan_.worker_task.size()));
    }
  }

  const std::int32_t n_;
  const ChunkTaskOptions options_;
  const Chunks& chunks_;
  const Rows rows_;
  ChunkTasks plan_;
  std::vector<std::int32_t> position_;     // (n) of each column
  std::vector<std::int32_t> index_of_;     // (n) scratch of gather(), -1 between calls
  std::vector<std::int32_t> chunk_order_;  // (chunks) by layer
  std::vector<std::int32_t> chunk_size_;
  std::vector<Bundle> bundles_;
  std::vector<double> work_;         // (tasks)
  std::vector<std::int32_t> depth_;  // (words) tasks up to each word
  struct Piece {                     // of a row, or all of it
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

}  // namespace

Result<ChunkTasks> make_chunk_tasks(const FilledPattern& filled, const Chunks& chunks,
                                    const ChunkTaskOptions& options) {
  Builder builder(filled, chunks, options);
  LULAB_RETURN_IF_ERROR(builder.build());
  return builder.take();
}

}  // namespace lulab
