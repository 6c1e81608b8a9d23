#include "sparse_syncfree/11_fan_in_plan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <span>
#include <utility>

#include "core/in_parallel.h"
#include "core/uninitialized_vector.h"
#include "sparse_syncfree/11_fan_in_chunks.h"
#include "sparse_syncfree/11_fan_in_tables.h"

namespace lulab::sparse_syncfree {
namespace {

// Estimates, on an H200.   Unit µs.
constexpr double hop = 0.7, task_start = 2, sparse_level = 0.3, products_per_us = 4000, words_per_us = 4000,
                 dense_pivot = 0.13, split_start = 5;
/// How long before the last words of a task those of its stages are expected, from the last stage on.
constexpr double stage_gaps[] = {2, 6, 14, 30, 62};
static_assert(std::size(stage_gaps) == max_fan_in_stages - 1);

/// Levels of sparse chunks have few rows, so with fewer dense ones than this small blocks are faster.
constexpr double few_dense = 0.05;

constexpr std::int64_t max_products = 60000;
constexpr std::int64_t entries_per_thread = 20000;  // of L+U: about 2 ms
constexpr int max_threads = 16;

std::int64_t bytes_of_words(const FanInPlan& plan, std::int32_t scalar_bytes) {
  return scalar_bytes * 2 * plan.n_words;
}

/// The products of a sparse task for one entry, at `position` of As, end here.
struct Target {
  std::uint32_t position, end;
};

/// A word that a chunk publishes for the entry at `position` of As; word and task are counted from the chunk's first.
struct Output {
  std::uint32_t position, word;
  std::int32_t task;
};
/// begin .. end - 1 of the outputs of a chunk, all for one other chunk.
struct Run {
  std::int32_t chunk;
  std::uint32_t begin, end;
};

/// A word that a task awaits, for this place in X.
struct Input {
  std::uint16_t place;
  std::uint32_t word;
  std::int32_t producer;  // task
};

/// Some of the rows, or columns, beside the pivots.
struct Part {
  std::int32_t begin, end;
  std::int32_t size() const { return end - begin; }
};
struct Parts {
  std::int32_t size = 0, parts = 1;

  Part operator[](std::int32_t part) const { return {cut(part), cut(part + 1)}; }
  std::int32_t cut(std::int32_t part) const { return static_cast<std::int32_t>(std::int64_t(size) * part / parts); }
  /// (size) the part of each rank
  std::vector<std::int32_t> of_ranks() const {
    std::vector<std::int32_t> of(size);
    for (std::int32_t part = 0; part < parts; ++part)
      std::fill(of.begin() + cut(part), of.begin() + cut(part + 1), part);
    return of;
  }
};

struct ChunkPlan {
  bool is_sparse = false;
  std::int64_t products_expected = 0;
  UninitializedVector<FanInProduct> products;  // of a sparse one, by target
  std::vector<Target> targets;                 // of these, by columns
  std::vector<std::int32_t> rows, columns;     // of a dense one, beside its pivots, ascending
  Parts row_parts, column_parts;               // of these
  std::vector<Output> outputs;                 // by the chunk that reads them
  std::vector<Run> readers;                    // of the outputs
  std::vector<Run> sources;                    // outputs of other chunks that it reads, by their layers
  std::int64_t n_words = 0, first_word = 0;
  std::int32_t n_tasks = 1, first_task = 0;
  double work_us = 0, inputs_us = 0, end_us = 0;  // estimates: without its words, when these have arrived, its end

  /// Of the fronts before this one, which go by rows of parts.
  std::int64_t words_before(std::int32_t front) const {
    const std::int32_t a = front / column_parts.parts, b = front % column_parts.parts;
    return std::int64_t(row_parts[a].begin) * column_parts.size +
           std::int64_t(row_parts[a].size()) * column_parts[b].begin;
  }
};

/// A task at work.
struct Draft {
  FanInTask task = {};
  FanInBytes bytes;
  double work = task_start;
  std::vector<std::int32_t> producers;
  bool fits = true;
};

/// What a task awaits.
struct Inputs {
  std::vector<Input> stages[max_fan_in_stages];

  std::size_t size() const {
    std::size_t sum = 0;
    for (const std::vector<Input>& stage : stages) sum += stage.size();
    return sum;
  }
};

/// Entries in memory, and their places in X.
struct Copies {
  std::vector<std::uint32_t> positions;
  std::vector<std::uint16_t> places;

  void add(std::int64_t position, std::int32_t place) {
    positions.push_back(static_cast<std::uint32_t>(position));
    places.push_back(static_cast<std::uint16_t>(place));
  }
  FanInEntries put(FanInBytes& bytes) const {
    return {static_cast<std::uint32_t>(positions.size()), bytes.put(positions), bytes.put(places)};
  }
};

/// A front of a dense chunk.
struct Front {
  Part rows, columns;
  std::int32_t pivots, size, stride;  // in memory (size, stride)
  Inputs inputs;
  Copies load, store;

  std::int32_t place(std::int32_t row, std::int32_t column) const {
    return (row < pivots ? row : row - rows.begin) * stride + (column < pivots ? column : column - columns.begin);
  }
};

/// An entry of U in a sparse chunk.
struct EntryOfU {
  std::int32_t k;
  std::uint32_t p;
  std::int32_t next;  // of its column, by rows; -1: none
};

constexpr std::int32_t max_places =
    std::max(FanInShape{}.max_front() * FanInShape::stride_of(FanInShape{}.max_front()), max_sparse_entries + 1);

/// Of a host thread.
struct Workspace {
  std::vector<std::int32_t> row_rank, column_rank;  // (n) beside the pivots of the chunk at work; -1: not there
  std::vector<std::uint32_t> products_of;           // (n) 0
  std::vector<std::uint32_t> count;                 // (chunks) 0
  std::vector<std::pair<std::int32_t, Output>> outputs;
  std::vector<EntryOfU> of_u;
  std::vector<std::int32_t> columns, rows;
  std::vector<std::uint32_t> words_of;   // (places) 0
  std::vector<std::uint64_t> has_words;  // (places / 64) 0

  Workspace(std::int32_t n, std::int32_t chunks)
      : row_rank(n, -1),
        column_rank(n, -1),
        products_of(n, 0),
        count(chunks, 0),
        words_of(max_places, 0),
        has_words(max_places / 64 + 1, 0) {}
};

class Planner {
 public:
  Planner(const FilledPattern& f, std::span<const std::int64_t> a_to_filled, const FanInOptions& options)
      : f_(f), a_to_filled_(a_to_filled), o_(options) {
    const std::int64_t share = std::max<std::int64_t>(entries_per_thread, f.n);  // no less than its workspace has
    const int threads = o_.host_threads > 0 ? o_.host_threads : threads_for(f.nnz(), share, max_threads);
    RowsOfL l;
    share_out(3, std::min(threads, 3), [&](std::int32_t item, int) {
      if (item == 0) u_ = rows_of_u(f);
      if (item == 1) l = rows_of_l(f);
      if (item == 2) describe_entries();
    });
    chunks_ = find_fan_in_chunks(f, l, u_, options);
    plans_.resize(chunks_.size());
    workspaces_.resize(threads);
  }

  Result<FanInPlan> make() {
    describe_chunks();
    for_each_chunk([&](std::int32_t c, Workspace& w) { choose_kind(c, w); });
    if (!count_chunks()) return refuse();
    if (o_.may_shrink_blocks && plan_.n_dense + plan_.n_split < few_dense * chunks_.size()) {
      Result<FanInPlan> small = make_fan_in_plan(f_, a_to_filled_, with_small_blocks(o_));
      if (small.ok()) return small;
    }
    for_each_chunk([&](std::int32_t c, Workspace& w) { plans_[c].is_sparse ? list_products(c, w) : list_words(c, w); });
    number_tasks();
    if (too_large()) return refuse();
    for_each_chunk([&](std::int32_t c, Workspace& w) { plans_[c].is_sparse ? make_sparse(c, w) : make_fronts(c, w); });
    for (const Made& made : made_) {
      bytes_ += std::ssize(made.bytes);
      if (!made.fits) return refuse();
    }
    if (too_large()) return refuse();
    put_in_order();
    plan_.n_layers = chunks_.n_layers;
    plan_.shape = o_.shape;
    return std::move(plan_);
  }

 private:
  template <class Work>
  void for_each(std::int32_t count, const Work& work) {
    share_out(count, static_cast<int>(workspaces_.size()), [&](std::int32_t item, int thread) {
      if (!workspaces_[thread]) workspaces_[thread].emplace(f_.n, chunks_.size());
      work(item, *workspaces_[thread]);
    });
  }
  /// The last ones, which take longest, first.
  template <class Work>
  void for_each_chunk(const Work& work) {
    for_each(chunks_.size(), [&](std::int32_t item, Workspace& w) { work(chunks_.size() - 1 - item, w); });
  }

  std::span<const std::int32_t> columns_of(std::int32_t c) const {
    return std::span(columns_).subspan(column_ptr_[c], column_ptr_[c + 1] - column_ptr_[c]);
  }
  std::int32_t row_of(std::uint32_t p) const { return f_.row_idx[p]; }
  std::int32_t owner(std::uint32_t p) const { return chunks_.of[std::min(row_of(p), column_of_[p])]; }
  bool too_large() const {
    return bytes_of_words(plan_, o_.scalar_bytes) + bytes_ > o_.max_bytes ||
           plan_.n_words > std::numeric_limits<std::int32_t>::max();
  }
  Status refuse() const {
    return Status::error(
        StatusCode::not_implemented,
        "fan-in would take more memory, send more words, or split chunks into more fronts, than it may");
  }

  void describe_entries() {
    a_of_.assign(f_.nnz(), -1);
    for (std::size_t k = 0; k < a_to_filled_.size(); ++k) a_of_[a_to_filled_[k]] = static_cast<std::int32_t>(k);
    column_of_.resize(f_.nnz());
    for (std::int32_t j = 0; j < f_.n; ++j)
      std::fill(column_of_.begin() + f_.col_ptr[j], column_of_.begin() + f_.col_ptr[j + 1], j);
    entry_of_.resize(f_.nnz());
  }

  void describe_chunks() {
    column_ptr_.assign(chunks_.size() + std::size_t(1), 0);
    for (const std::int32_t c : chunks_.of) ++column_ptr_[c + 1];
    std::partial_sum(column_ptr_.begin(), column_ptr_.end(), column_ptr_.begin());
    columns_.resize(f_.n);
    number_in_chunk_.resize(f_.n);
    std::vector<std::int32_t> next(column_ptr_.begin(), column_ptr_.end() - 1);
    for (std::int32_t j = 0; j < f_.n; ++j) {
      number_in_chunk_[j] = next[chunks_.of[j]] - column_ptr_[chunks_.of[j]];
      columns_[next[chunks_.of[j]]++] = j;
    }
    level_.assign(f_.n, 0);
  }

  /// Sparse or dense; levels of its columns; rows of L and columns of U of a dense one that are not its own.
  void choose_kind(std::int32_t c, Workspace& w) {
    ChunkPlan& plan = plans_[c];
    std::int64_t entries = 0, products = 0;
    std::int32_t levels = 0;
    const auto columns = columns_of(c);
    for (const std::int32_t k : columns) {
      const std::int64_t l = f_.col_ptr[k + 1] - f_.diag[k] - 1, u = u_.ptr[k + 1] - u_.ptr[k];
      entries += l + u + 1;
      products += l * u;
      levels = std::max(levels, level_[k] + 1);
      const auto visit = [&](std::int32_t i, std::vector<std::int32_t>& rank, std::vector<std::int32_t>& others) {
        if (chunks_.of[i] == c)
          level_[i] = std::max(level_[i], level_[k] + 1);
        else if (std::exchange(rank[i], 0) < 0)
          others.push_back(i);
      };
      for (std::int64_t p = f_.diag[k] + 1; p < f_.col_ptr[k + 1]; ++p) visit(f_.row_idx[p], w.row_rank, plan.rows);
      for (std::int64_t q = u_.ptr[k]; q < u_.ptr[k + 1]; ++q) visit(u_.cols[q], w.column_rank, plan.columns);
    }
    for (const std::int32_t i : plan.rows) w.row_rank[i] = -1;
    for (const std::int32_t j : plan.columns) w.column_rank[j] = -1;
    const std::int64_t s = std::ssize(columns), n_rows = std::ssize(plan.rows), n_columns = std::ssize(plan.columns);
    const bool is_whole = s + std::max(n_rows, n_columns) <= o_.max_front;
    const double by_products = sparse_level * levels + double(products) / products_per_us;
    const double by_fronts = dense_pivot * double(s) + (is_whole ? 1 : split_start);
    const bool may_be_sparse =
        s <= o_.shape.max_sparse_pivots() && entries <= max_sparse_entries && products <= max_products;
    const bool may_be_dense = s <= o_.max_front / 2 || is_whole;
    plan.is_sparse = may_be_sparse && (!may_be_dense || by_products <= by_fronts);
    plan.work_us = task_start + (plan.is_sparse ? by_products : by_fronts);
    if (plan.is_sparse) {
      plan.products_expected = products;
      plan.rows = plan.columns = {};
      return;
    }
    const auto room = static_cast<std::int32_t>(std::max<std::int64_t>(o_.max_front - s, 1));
    const auto parts = [&](std::vector<std::int32_t>& of) {
      std::ranges::sort(of);
      const auto size = static_cast<std::int32_t>(of.size());
      return Parts{size, std::max(1, (size + room - 1) / room)};
    };
    plan.row_parts = parts(plan.rows);
    plan.column_parts = parts(plan.columns);
    plan.n_words = n_rows * n_columns;
    plan.n_tasks = may_be_dense ? plan.row_parts.parts * plan.column_parts.parts : 0;
  }

  /// Can each be a task, in memory enough, and do words not outweigh what they spare?
  bool count_chunks() {
    std::int64_t least_bytes = 0, tasks = 0, words = 0;
    for (const ChunkPlan& plan : plans_) {
      if (plan.n_tasks == 0) return false;
      tasks += plan.n_tasks;
      words += plan.n_words;
      least_bytes += 4 * plan.products_expected + 2 * o_.scalar_bytes * plan.n_words;
      ++(plan.is_sparse ? plan_.n_sparse : plan.n_tasks > 1 ? plan_.n_split : plan_.n_dense);
    }
    return words <= o_.max_words * double(f_.nnz()) && least_bytes <= o_.max_bytes &&
           double(tasks) <= o_.max_fronts * double(chunks_.size());
  }

  /// visit(position in As) for the entries of a chunk: column k of L from its diagonal on, then row k of U.
  template <class Visit>
  void for_each_entry(std::int32_t c, const Visit& visit) const {
    for (const std::int32_t k : columns_of(c)) {
      for (std::int64_t p = f_.diag[k]; p < f_.col_ptr[k + 1]; ++p) visit(static_cast<std::uint32_t>(p));
      for (std::int64_t q = u_.ptr[k]; q < u_.ptr[k + 1]; ++q) visit(static_cast<std::uint32_t>(u_.pos[q]));
    }
  }

  /// Products of a sparse chunk, and the words of those that change entries of others.
  void list_products(std::int32_t c, Workspace& w) {
    ChunkPlan& plan = plans_[c];
    std::uint16_t next = 0;
    for_each_entry(c, [&](std::uint32_t p) { entry_of_[p] = next++; });
    plan.products.resize(plan.products_expected);
    w.of_u.clear();
    w.columns.clear();
    const auto columns = columns_of(c);
    for (auto k = columns.rbegin(); k != columns.rend(); ++k) {
      if (f_.diag[*k] + 1 == f_.col_ptr[*k + 1]) continue;
      for (std::int64_t q = u_.ptr[*k]; q < u_.ptr[*k + 1]; ++q) {
        std::int32_t& first = w.column_rank[u_.cols[q]];
        if (first < 0) w.columns.push_back(u_.cols[q]);
        w.of_u.push_back({*k, static_cast<std::uint32_t>(u_.pos[q]), first});
        first = static_cast<std::int32_t>(w.of_u.size()) - 1;
      }
    }
    std::ranges::sort(w.columns);
    std::uint32_t end = 0;
    for (const std::int32_t j : w.columns) end = list_products_of(j, std::exchange(w.column_rank[j], -1), end, plan, w);
    w.outputs.clear();
    for (const Target& t : plan.targets)
      if (const std::int32_t to = owner(t.position); to != c)
        w.outputs.push_back({to, {t.position, static_cast<std::uint32_t>(plan.n_words++), 0}});
    group_outputs(plan, w);
  }

  /// Those of column j, with the entries of U from `first` on, go behind the `at` that are there. Returns their end.
  std::uint32_t list_products_of(std::int32_t j, std::int32_t first, std::uint32_t at, ChunkPlan& plan, Workspace& w) {
    const auto for_each_product = [&](const auto& visit) {
      for (std::int32_t e = first; e >= 0; e = w.of_u[e].next) {
        const std::int32_t k = w.of_u[e].k;
        const std::uint32_t of_pivot = std::uint32_t(entry_of_[w.of_u[e].p]) << 12 | std::uint32_t(number_in_chunk_[k])
                                                                                         << 24;
        for (std::int64_t q = f_.diag[k] + 1; q < f_.col_ptr[k + 1]; ++q) visit(f_.row_idx[q], entry_of_[q] | of_pivot);
      }
    };
    const std::size_t targets = plan.targets.size();
    w.rows.clear();
    for_each_product([&](std::int32_t i, FanInProduct) {
      if (w.products_of[i]++ == 0) w.rows.push_back(i);
    });
    const auto take = [&](std::int64_t p) {
      const std::uint32_t begin = std::exchange(at, at + w.products_of[row_of(static_cast<std::uint32_t>(p))]);
      w.products_of[f_.row_idx[p]] = begin;
      plan.targets.push_back({static_cast<std::uint32_t>(p), at});
    };
    const std::int64_t begin = w.of_u[first].p, end = f_.col_ptr[j + 1];
    if (end - begin <= 8 * std::ssize(w.rows)) {
      for (std::int64_t p = begin; p < end; ++p)
        if (w.products_of[f_.row_idx[p]] > 0) take(p);
    } else {  // a hub's column
      std::ranges::sort(w.rows);
      auto found = f_.row_idx.begin() + begin;
      for (const std::int32_t i : w.rows) {
        found = std::lower_bound(found, f_.row_idx.begin() + end, i);
        take(found - f_.row_idx.begin());
      }
    }
    for_each_product([&](std::int32_t i, FanInProduct product) { plan.products[w.products_of[i]++] = product; });
    for (const Target& t : std::span(plan.targets).subspan(targets)) w.products_of[row_of(t.position)] = 0;
    return at;
  }

  /// visit(target, products) for the targets of a sparse chunk.
  template <class Visit>
  static void for_each_target(const ChunkPlan& plan, const Visit& visit) {
    std::uint32_t begin = 0;
    for (const Target& t : plan.targets) {
      visit(t.position, std::span(plan.products).subspan(begin, t.end - begin));
      begin = t.end;
    }
  }

  /// Ranks of the rows and columns of a dense chunk, its pivots first; forgotten at the end.
  class Ranks {
   public:
    Ranks(std::span<const std::int32_t> pivots, const ChunkPlan& plan, Workspace& w)
        : pivots_(pivots), plan_(plan), w_(w) {
      const auto s = static_cast<std::int32_t>(pivots.size());
      for (std::int32_t k = 0; k < s; ++k) w.row_rank[pivots[k]] = w.column_rank[pivots[k]] = k;
      for (std::int32_t r = 0; r < std::ssize(plan.rows); ++r) w.row_rank[plan.rows[r]] = s + r;
      for (std::int32_t r = 0; r < std::ssize(plan.columns); ++r) w.column_rank[plan.columns[r]] = s + r;
    }
    ~Ranks() {
      for (const std::int32_t k : pivots_) w_.row_rank[k] = w_.column_rank[k] = -1;
      for (const std::int32_t i : plan_.rows) w_.row_rank[i] = -1;
      for (const std::int32_t j : plan_.columns) w_.column_rank[j] = -1;
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

   private:
    std::span<const std::int32_t> pivots_;
    const ChunkPlan& plan_;
    Workspace& w_;
  };

  /// The words of a dense chunk: of each front a rectangle by rows.
  void list_words(std::int32_t c, Workspace& w) {
    ChunkPlan& plan = plans_[c];
    w.outputs.clear();
    if (plan.n_words > 0) {
      const Ranks ranks(columns_of(c), plan, w);
      const auto s = static_cast<std::int32_t>(columns_of(c).size());
      const std::vector<std::int32_t> part_of_row = plan.row_parts.of_ranks();
      std::vector<std::int32_t> owner_of_row;
      for (const std::int32_t i : plan.rows) owner_of_row.push_back(chunks_.of[i]);
      std::vector<std::int64_t> words_before(plan.row_parts.parts);
      for (std::int32_t b = 0; b < plan.column_parts.parts; ++b) {
        const Part columns = plan.column_parts[b];
        for (std::int32_t a = 0; a < plan.row_parts.parts; ++a)
          words_before[a] = plan.words_before(a * plan.column_parts.parts + b) -
                            std::int64_t(plan.row_parts[a].begin) * columns.size();
        for (std::int32_t q = columns.begin; q < columns.end; ++q) {
          const std::int32_t j = plan.columns[q], owner_of_column = chunks_.of[j];
          const auto begin = f_.row_idx.begin() + f_.col_ptr[j], end = f_.row_idx.begin() + f_.col_ptr[j + 1];
          for (auto i = std::lower_bound(begin, end, plan.rows.front()); i != end && *i <= plan.rows.back(); ++i) {
            const std::int32_t r = w.row_rank[*i] - s;
            if (r < 0) continue;
            const std::int64_t word =
                words_before[part_of_row[r]] + std::int64_t(r) * columns.size() + q - columns.begin;
            w.outputs.push_back({*i < j ? owner_of_row[r] : owner_of_column,
                                 {static_cast<std::uint32_t>(i - f_.row_idx.begin()), static_cast<std::uint32_t>(word),
                                  part_of_row[r] * plan.column_parts.parts + b}});
          }
        }
      }
    }
    group_outputs(plan, w);
  }

  /// w.outputs by the chunks that read them.
  static void group_outputs(ChunkPlan& plan, Workspace& w) {
    for (const auto& [owner, output] : w.outputs)
      if (w.count[owner]++ == 0) plan.readers.push_back({owner, 0, 0});
    std::uint32_t at = 0;
    for (Run& run : plan.readers) {
      run = {run.chunk, at, at + w.count[run.chunk]};
      at = run.end;
      w.count[run.chunk] = run.begin;
    }
    plan.outputs.resize(w.outputs.size());
    for (const auto& [owner, output] : w.outputs) plan.outputs[w.count[owner]++] = output;
    for (const Run& run : plan.readers) w.count[run.chunk] = 0;
  }

  /// By layers, so that tasks come after those that they await; tells each chunk whose words it reads.
  void number_tasks() {
    std::vector<std::int32_t> by_layer(chunks_.size());
    std::iota(by_layer.begin(), by_layer.end(), 0);
    std::ranges::stable_sort(by_layer, {}, [&](std::int32_t c) { return chunks_.layer[c]; });
    for (const std::int32_t c : by_layer) {
      ChunkPlan& plan = plans_[c];
      plan.first_word = plan_.n_words;
      plan.first_task = static_cast<std::int32_t>(chunk_of_task_.size());
      plan_.n_words += plan.n_words;
      chunk_of_task_.resize(chunk_of_task_.size() + plan.n_tasks, c);
      std::uint32_t words = 0;
      for (const Run& run : plan.sources) {
        words += run.end - run.begin;
        plan.inputs_us = std::max(plan.inputs_us, plans_[run.chunk].end_us + hop);
      }
      plan.end_us = plan.inputs_us + double(words) / words_per_us + plan.work_us;
      for (const Run& run : plan.readers) plans_[run.chunk].sources.push_back({c, run.begin, run.end});
    }
    made_.resize(chunk_of_task_.size());
  }

  /// visit(position, word with its task, stage) for the words that a chunk reads.
  template <class Visit>
  void for_each_input(std::int32_t c, const Visit& visit) const {
    for (const Run& run : plans_[c].sources) {
      const ChunkPlan& source = plans_[run.chunk];
      const double gap = plans_[c].inputs_us - source.end_us - hop;
      const auto stage = std::ranges::find_if(stage_gaps, [&](double of_stage) { return gap < of_stage; });
      const auto s = static_cast<int>(std::end(stage_gaps) - stage);  // the last one has gap 0
      for (std::uint32_t q = run.begin; q < run.end; ++q) {
        const Output& o = source.outputs[q];
        const auto word = static_cast<std::uint32_t>(source.first_word + o.word);
        visit(o.position, Input{0, word, source.first_task + o.task}, s);
      }
    }
  }

  /// The tables of the words that a task awaits.
  void put_inputs(Draft& d, Inputs& inputs, Workspace& w) const {
    for (int s = 0; s + 1 < max_fan_in_stages; ++s)
      if (std::vector<Input>& stage = inputs.stages[s]; std::cmp_less(stage.size(), o_.stage_words)) {
        std::vector<Input>& next = inputs.stages[s + 1];
        next.insert(next.begin(), stage.begin(), stage.end());
        stage.clear();
      }
    for (const std::vector<Input>& stage : inputs.stages) d.task.n_stages += stage.empty() ? 0 : 1;
    std::uint32_t at = d.task.n_stages;
    for (int s = max_fan_in_stages - 1; s >= 0; --s)  // those that are needed at once come first, to lie on chip
      if (!inputs.stages[s].empty()) d.task.stages[--at] = put_stage(d, inputs.stages[s], w);
  }
  FanInStage put_stage(Draft& d, std::span<const Input> inputs, Workspace& w) const {
    std::vector<std::pair<std::int32_t, std::uint32_t>> last_of;  // word of each producer, which follow each other
    for (const Input& i : inputs) {
      if (last_of.empty() || last_of.back().first != i.producer) last_of.emplace_back(i.producer, i.word);
      last_of.back().second = std::max(last_of.back().second, i.word);
      ++w.words_of[i.place];
      w.has_words[i.place / 64] |= std::uint64_t(1) << i.place % 64;
    }
    std::ranges::sort(last_of);
    UninitializedVector<std::uint32_t> words;  // by places
    words.resize(inputs.size());
    std::vector<FanInSum> sums;
    std::uint32_t end = 0;
    for (std::size_t k = 0; k < w.has_words.size(); ++k)
      for (std::uint64_t places = std::exchange(w.has_words[k], 0); places != 0; places &= places - 1) {
        const auto place = static_cast<std::uint16_t>(64 * k + std::countr_zero(places));
        const std::uint32_t begin = std::exchange(end, end + w.words_of[place]);
        sums.push_back({place, 0, std::span<const std::uint32_t>(words).subspan(begin, end - begin)});
        w.words_of[place] = begin;
      }
    for (const Input& i : inputs) words[w.words_of[i.place]++] = i.word;
    for (const FanInSum& sum : sums) w.words_of[sum.place] = 0;
    FanInRows rows(o_.shape.threads);
    d.work += 0.3 + 0.1 * rows.add(sums, true);
    d.fits = d.fits && rows.fits();
    std::vector<std::uint32_t> last;
    for (std::size_t q = 0; q < last_of.size(); ++q)
      if (q + 1 == last_of.size() || last_of[q + 1].first != last_of[q].first) {
        last.push_back(last_of[q].second);
        d.producers.push_back(last_of[q].first);
      }
    const std::uint32_t last_words = d.bytes.put(last);
    const FanInTable table = rows.put(d.bytes);
    return {static_cast<std::uint32_t>(last.size()), last_words, table, d.bytes.size()};
  }

  void put_pivots(Draft& d, std::span<const std::int32_t> columns) const {
    d.task.pivot_columns = d.bytes.put(std::vector<std::uint32_t>(columns.begin(), columns.end()));
  }

  void finish_task(Draft&& d, std::int32_t task) {
    const std::int64_t room =
        o_.shared_bytes - std::int64_t(o_.scalar_bytes) * (o_.shape.scratch() + std::int64_t(d.task.x_scalars));
    made_[task] = {d.bytes.finish(d.task, room), d.work, std::move(d.producers),
                   d.fits && room >= std::int64_t(sizeof(FanInTask)), std::int64_t(o_.scalar_bytes) * d.task.x_scalars};
  }

  void make_sparse(std::int32_t c, Workspace& w) {
    const ChunkPlan& plan = plans_[c];
    const auto columns = columns_of(c);
    Draft d;
    std::vector<std::uint32_t> positions;
    std::vector<std::uint16_t> divisors;
    std::uint16_t pivot = 0;
    for (const std::int32_t k : columns) {
      for (std::int64_t p = f_.diag[k]; p < f_.col_ptr[k + 1]; ++p) {
        positions.push_back(static_cast<std::uint32_t>(p));
        divisors.push_back(p == f_.diag[k] ? no_pivot : pivot);
      }
      for (std::int64_t q = u_.ptr[k]; q < u_.ptr[k + 1]; ++q) {
        positions.push_back(static_cast<std::uint32_t>(u_.pos[q]));
        divisors.push_back(no_pivot);
      }
      ++pivot;
    }
    d.task.pivots = static_cast<std::uint32_t>(columns.size());
    d.task.x_scalars = static_cast<std::uint32_t>((positions.size() + 3) / 4 * 4);
    d.task.words = static_cast<std::uint32_t>(plan.first_word);
    d.task.counts_pivots = 1;
    Copies load;
    for (const std::uint32_t p : positions)
      if (a_of_[p] >= 0) load.add(a_of_[p], entry_of_[p]);
    d.task.load = load.put(d.bytes);
    Inputs inputs;
    for_each_input(c, [&](std::uint32_t p, Input input, int stage) {
      input.place = entry_of_[p];
      inputs.stages[stage].push_back(input);
    });
    d.bytes.reserve(16 * positions.size() + 12 * (inputs.size() + plan.targets.size()) + 4 * plan.products.size());
    put_inputs(d, inputs, w);

    std::vector<std::vector<FanInSum>> by_level(1);
    std::vector<FanInSum> published;
    std::vector<std::uint32_t> pivot_of_entry(positions.size(), no_pivot);
    for (std::uint32_t k = 0; k < columns.size(); ++k) pivot_of_entry[entry_of_[f_.diag[columns[k]]]] = k;
    const auto add_own = [&](std::uint32_t p, std::span<const FanInProduct> items) {
      const std::int32_t level = level_[std::min(row_of(p), column_of_[p])];
      if (std::ssize(by_level) <= level) by_level.resize(level + std::size_t(1));
      by_level[level].push_back({entry_of_[p], pivot_of_entry[entry_of_[p]], items});
    };
    std::vector<bool> has_products(positions.size(), false);
    for_each_target(plan, [&](std::uint32_t p, std::span<const FanInProduct> items) {
      if (owner(p) != c) {
        published.push_back({static_cast<std::uint16_t>(published.size()), 0, items});
      } else {
        has_products[entry_of_[p]] = true;
        add_own(p, items);
      }
    });
    for (const std::int32_t k : columns)
      if (!has_products[entry_of_[f_.diag[k]]]) add_own(static_cast<std::uint32_t>(f_.diag[k]), {});
    FanInRows levels(o_.shape.threads), sums(o_.shape.threads);
    for (auto& level : by_level) d.work += 0.1 + 0.02 * levels.add(level, true);
    if (!published.empty()) d.work += 0.02 * sums.add(published, false);
    d.fits = d.fits && levels.fits() && sums.fits();
    d.task.levels = levels.put(d.bytes);
    put_pivots(d, columns);
    d.task.sums = sums.put(d.bytes);
    d.task.store = {static_cast<std::uint32_t>(positions.size()), d.bytes.put(positions), d.bytes.put(divisors)};
    finish_task(std::move(d), plan.first_task);
  }

  /// All fronts of a dense chunk: what it loads, awaits and stores goes to those that have it.
  void make_fronts(std::int32_t c, Workspace& w) {
    const ChunkPlan& plan = plans_[c];
    const auto columns = columns_of(c);
    const auto s = static_cast<std::int32_t>(columns.size());
    const Ranks ranks(columns, plan, w);
    std::vector<Front> fronts(plan.n_tasks);
    for (std::int32_t t = 0; t < plan.n_tasks; ++t) {
      fronts[t].rows = plan.row_parts[t / plan.column_parts.parts];
      fronts[t].columns = plan.column_parts[t % plan.column_parts.parts];
      fronts[t].pivots = s;
      constexpr std::int32_t step = FanInShape::size_step;
      fronts[t].size = (s + std::max(fronts[t].rows.size(), fronts[t].columns.size()) + step - 1) / step * step;
      fronts[t].stride = FanInShape::stride_of(fronts[t].size);
    }
    const std::vector<std::int32_t> part_of_row = plan.row_parts.of_ranks(),
                                    part_of_column = plan.column_parts.of_ranks();
    const std::int32_t across = plan.column_parts.parts;
    const auto for_each_front_with = [&](std::int32_t row, std::int32_t column, const auto& visit) {
      const std::int32_t a = row < s ? 0 : part_of_row[row - s], last_a = row < s ? plan.row_parts.parts - 1 : a;
      const std::int32_t b = column < s ? 0 : part_of_column[column - s], last_b = column < s ? across - 1 : b;
      for (std::int32_t t = a * across; t <= last_a * across; t += across)
        for (std::int32_t part = b; part <= last_b; ++part) visit(fronts[t + part], t + part == a * across + b);
    };
    for_each_entry(c, [&](std::uint32_t p) {
      const std::int32_t row = w.row_rank[row_of(p)], column = w.column_rank[column_of_[p]];
      for_each_front_with(row, column, [&](Front& front, bool stores) {
        const std::int32_t place = front.place(row, column);
        if (a_of_[p] >= 0) front.load.add(a_of_[p], place);
        if (stores) front.store.add(p, place);
      });
    });
    for_each_input(c, [&](std::uint32_t p, Input input, int stage) {
      const std::int32_t row = w.row_rank[row_of(p)], column = w.column_rank[column_of_[p]];
      for_each_front_with(row, column, [&](Front& front, bool) {
        input.place = static_cast<std::uint16_t>(front.place(row, column));
        front.inputs.stages[stage].push_back(input);
      });
    });
    for (std::int32_t t = 0; t < plan.n_tasks; ++t) make_front(c, t, fronts[t], w);
  }

  void make_front(std::int32_t c, std::int32_t t, Front& front, Workspace& w) {
    const ChunkPlan& plan = plans_[c];
    Draft d;
    d.task.is_dense = 1;
    d.task.pivots = static_cast<std::uint32_t>(front.pivots);
    d.task.rows = static_cast<std::uint32_t>(front.pivots + front.rows.size());
    d.task.columns = static_cast<std::uint32_t>(front.pivots + front.columns.size());
    d.task.stride = static_cast<std::uint32_t>(front.stride);
    d.task.x_scalars = static_cast<std::uint32_t>(front.size * front.stride);
    d.task.words = static_cast<std::uint32_t>(plan.first_word + plan.words_before(t));
    d.task.counts_pivots = front.rows.begin == 0 && front.columns.begin == 0;
    d.work += dense_pivot * (1 + double(front.size) / 96) * front.pivots;
    d.bytes.reserve(12 * (front.load.positions.size() + front.store.positions.size() + front.inputs.size()));
    d.task.load = front.load.put(d.bytes);
    put_inputs(d, front.inputs, w);
    put_pivots(d, columns_of(c));
    d.task.store = front.store.put(d.bytes);
    finish_task(std::move(d), plan.first_task + t);
  }

  /// In the order in which o_.workers blocks would start them, which always take, of the tasks with nothing left to
  /// await, the one with the longest chain of tasks after it.
  std::vector<std::int32_t> order_of_starts(const std::vector<double>& rest) const {
    const auto first_is_shorter = [&](std::int32_t a, std::int32_t b) {
      return std::pair(rest[a], -a) < std::pair(rest[b], -b);
    };
    std::priority_queue<std::int32_t, std::vector<std::int32_t>, decltype(first_is_shorter)> ready(first_is_shorter);
    using Event = std::pair<double, std::int32_t>;  // a task's end
    std::priority_queue<Event, std::vector<Event>, std::greater<>> at_work;
    std::vector<std::vector<std::int32_t>> readers(made_.size());
    std::vector<std::size_t> awaited(made_.size());
    for (std::int32_t t = 0; t < n_tasks(); ++t) {
      awaited[t] = made_[t].producers.size();
      for (const std::int32_t p : made_[t].producers) readers[p].push_back(t);
      if (awaited[t] == 0) ready.push(t);
    }
    std::vector<std::int32_t> order;
    for (double now = 0;;) {
      for (; !ready.empty() && std::ssize(at_work) < std::max(o_.workers, 1); ready.pop()) {
        order.push_back(ready.top());
        at_work.emplace(now + made_[ready.top()].work, ready.top());
      }
      if (at_work.empty()) return order;
      const auto [end, t] = at_work.top();
      at_work.pop();
      now = end;
      for (const std::int32_t r : readers[t])
        if (--awaited[r] == 0) ready.push(r);
    }
  }

  std::int32_t n_tasks() const { return static_cast<std::int32_t>(made_.size()); }

  void put_in_order() {
    std::vector<double> rest(made_.size());
    for (std::int32_t t = n_tasks() - 1; t >= 0; --t) {  // tasks that await it have larger numbers
      rest[t] += made_[t].work + hop;
      plan_.chain_us = std::max(plan_.chain_us, rest[t]);
      for (const std::int32_t p : made_[t].producers) rest[p] = std::max(rest[p], rest[t]);
    }
    const std::vector<std::int32_t> order = order_of_starts(rest);
    std::int64_t needed = 0;
    for (const std::int32_t t : order) {
      needed = std::max(needed, made_[t].x_bytes + std::ssize(made_[t].bytes));
      plan_.begin.push_back(plan_.begin.back() + static_cast<std::uint32_t>(made_[t].bytes.size() / 16));
    }
    plan_.tasks.resize(16 * std::size_t(plan_.begin.back()));
    for_each(n_tasks(), [&](std::int32_t q, Workspace&) {
      const UninitializedVector<std::byte>& bytes = made_[order[q]].bytes;
      std::memcpy(plan_.tasks.data() + 16 * std::size_t(plan_.begin[q]), bytes.data(), bytes.size());
    });
    plan_.shared_bytes = std::min(o_.shared_bytes, std::int64_t(o_.scalar_bytes) * o_.shape.scratch() + 2 * needed);
  }

  struct Made {
    UninitializedVector<std::byte> bytes;
    double work = 0;
    std::vector<std::int32_t> producers;
    bool fits = true;
    std::int64_t x_bytes = 0;
  };

  const FilledPattern& f_;
  const std::span<const std::int64_t> a_to_filled_;
  const FanInOptions& o_;
  RowsOfU u_;
  Chunks chunks_;
  FanInPlan plan_;
  std::vector<ChunkPlan> plans_;                      // (chunks)
  std::vector<std::int32_t> a_of_;                    // (nnz) entry of A there, -1: fill-in
  std::vector<std::optional<Workspace>> workspaces_;  // (host threads) each made by its thread
  UninitializedVector<std::int32_t> column_of_;       // (nnz)
  std::vector<std::int32_t> columns_, column_ptr_;    // of each chunk
  std::vector<std::int32_t> number_in_chunk_;         // (n) of a column
  std::vector<std::int32_t> level_;                   // (n) of a column in its chunk
  UninitializedVector<std::uint16_t> entry_of_;       // (nnz) number of an entry in its sparse task
  std::vector<std::int32_t> chunk_of_task_;           // (tasks)
  std::vector<Made> made_;                            // (tasks)
  std::int64_t bytes_ = 0;
};

}  // namespace

std::int64_t bytes_of(const FanInPlan& plan, std::int32_t scalar_bytes) {
  return std::ssize(plan.tasks) + 4 * std::ssize(plan.begin) + bytes_of_words(plan, scalar_bytes);
}

Result<FanInPlan> make_fan_in_plan(const FilledPattern& filled, std::span<const std::int64_t> a_to_filled,
                                   const FanInOptions& options) {
  if (filled.nnz() > std::numeric_limits<std::int32_t>::max())
    return Status::error(StatusCode::not_implemented, "fan-in counts entries of L and U with 31 bits");
  return Planner(filled, a_to_filled, options).make();
}

}  // namespace lulab::sparse_syncfree
