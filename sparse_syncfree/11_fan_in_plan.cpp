#include "sparse_syncfree/11_fan_in_plan.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "sparse_syncfree/11_fan_in_chunks.h"

namespace lulab::sparse_syncfree {
namespace {

// Estimates, on an H200.   Unit µs.
constexpr double hop = 0.7, task_start = 2, sparse_level = 0.3, products_per_us = 4000, dense_pivot = 0.13,
                 split_start = 5;

constexpr std::uint32_t max_items = 1 << 24;
constexpr std::int64_t max_sum = 65535, max_products = 60000;

std::int64_t bytes_of_words(const FanInPlan& plan, std::int32_t scalar_bytes) {
  return scalar_bytes * (2 * plan.n_words + std::ssize(plan.seeds)) + 4 * std::ssize(plan.seeds);
}

/// The bytes of a task, table after table.
class Bytes {
 public:
  Bytes() : bytes_(sizeof(FanInTask)) {}

  template <class U>
  std::uint32_t put(const std::vector<U>& table) {
    const std::size_t at = bytes_.size();
    bytes_.resize((at + table.size() * sizeof(U) + 15) / 16 * 16);
    if (!table.empty()) std::memcpy(bytes_.data() + at, table.data(), table.size() * sizeof(U));
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
    return static_cast<std::uint32_t>(at);
  }
  /// room: bytes for whole tables on chip.
  std::vector<std::byte> finish(FanInTask task, std::int64_t room) {
    task.bytes = static_cast<std::uint32_t>(bytes_.size());
    task.staged = ends_.front();
    for (const std::uint32_t end : ends_)
      if (end <= room) task.staged = end;
    std::memcpy(bytes_.data(), &task, sizeof(FanInTask));
    return std::move(bytes_);
  }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::uint32_t> ends_ = {sizeof(FanInTask)};  // of tables
};

/// A row of a table before it is packed.
struct Sum {
  std::uint16_t place;
  std::uint32_t pivot;  // or no_pivot
  std::span<const std::uint32_t> items;
};

/// Rows of a table, and how lanes share them.
class Rows {
 public:
  /// Rows that may be summed at the same time.   Returns an estimate of the passes that they take.
  double add(std::vector<Sum> sums, bool ends_level) {
    std::ranges::stable_sort(sums, [](const Sum& a, const Sum& b) { return a.items.size() > b.items.size(); });
    const std::uint32_t first = static_cast<std::uint32_t>(rows_.size());
    for (const Sum& s : sums) {
      fits_ = fits_ && std::ssize(s.items) <= max_sum && items_.size() + s.items.size() < max_items;
      rows_.push_back({static_cast<std::uint32_t>(items_.size()) | s.pivot << 24, s.place,
                       static_cast<std::uint16_t>(s.items.size())});
      items_.insert(items_.end(), s.items.begin(), s.items.end());
    }
    const std::uint32_t end = static_cast<std::uint32_t>(rows_.size());
    fits_ = fits_ && end - first <= max_sum;
    const Way whole = best_way(first, end);
    double best = whole.cost;
    std::uint32_t cut = end;
    for (const int longest : {4, 16, 64, 256}) {
      const auto at =
          static_cast<std::uint32_t>(std::ranges::find_if(rows_.begin() + first, rows_.end(),
                                                          [&](const FanInRow& r) { return r.count <= longest; }) -
                                     rows_.begin());
      if (at == first || at == end) continue;
      const double cost = best_way(first, at).cost + best_way(at, end).cost;
      if (cost < best) {
        best = cost;
        cut = at;
      }
    }
    push(first, cut);
    if (cut < end) push(cut, end);
    if (ends_level && !groups_.empty()) groups_.back().ends_level = 1;
    return best;
  }
  FanInTable put(Bytes& bytes) const {
    FanInTable t;
    t.n_groups = static_cast<std::uint32_t>(groups_.size());
    t.groups = bytes.put(groups_);
    t.rows = bytes.put(rows_);
    t.items = bytes.put(items_);
    return t;
  }
  bool fits() const { return fits_; }

 private:
  struct Way {
    double cost;
    int log_lanes;
  };
  Way best_way(std::uint32_t first, std::uint32_t end) const {
    Way best = {std::numeric_limits<double>::infinity(), 0};
    for (int g = 0; g <= 5; ++g) {
      double cost = 0;
      for (std::uint32_t r = first; r < end; r += fan_in_threads >> g)
        cost += double((rows_[r].count + (1 << g) - 1) >> g) + 2 + 0.5 * g;
      if (cost < best.cost) best = {cost, g};
    }
    return best;
  }
  void push(std::uint32_t first, std::uint32_t end) {
    if (first == end) return;
    groups_.push_back(
        {first, static_cast<std::uint16_t>(end - first), static_cast<std::uint8_t>(best_way(first, end).log_lanes), 0});
  }

  std::vector<FanInGroup> groups_;
  std::vector<FanInRow> rows_;
  std::vector<std::uint32_t> items_;
  bool fits_ = true;
};

/// A word that a chunk awaits for its entry at `position` of As.
struct Input {
  std::uint32_t position, word;
  std::int32_t producer;  // task
};
/// L(i,k) · U(k,j) in a sparse task, for entry (i,j) at `target` of As.
struct Product {
  std::uint32_t target;
  FanInProduct factors;
};

class Planner {
 public:
  Planner(const FilledPattern& f, const FanInOptions& options)
      : f_(f), o_(options), u_(rows_of_u(f)), chunks_(find_fan_in_chunks(f, u_, options)) {}

  Result<FanInPlan> make() {
    describe_chunks();
    choose_kinds();
    if (!fits_ || least_bytes_ > o_.max_bytes) return refuse();
    list_products();
    std::vector<std::int32_t> by_layer(chunks_.size());
    std::iota(by_layer.begin(), by_layer.end(), 0);
    std::ranges::stable_sort(by_layer, {}, [&](std::int32_t c) { return chunks_.layer[c]; });
    inputs_.resize(chunks_.size());
    row_rank_.assign(f_.n, -1);
    column_rank_.assign(f_.n, -1);
    for (const std::int32_t c : by_layer) {
      is_sparse_[c] ? make_sparse(c) : make_dense(c);
      inputs_[c] = {};
      if (!fits_ || too_large()) return refuse();
    }
    put_in_order();
    plan_.n_layers = chunks_.n_layers;
    return std::move(plan_);
  }

 private:
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
    return Status::error(StatusCode::not_implemented, "fan-in would take more memory than it may");
  }

  void describe_chunks() {
    column_of_.resize(f_.nnz());
    for (std::int32_t j = 0; j < f_.n; ++j)
      std::fill(column_of_.begin() + f_.col_ptr[j], column_of_.begin() + f_.col_ptr[j + 1], j);
    column_ptr_.assign(chunks_.size() + std::size_t(1), 0);
    for (const std::int32_t c : chunks_.of) ++column_ptr_[c + 1];
    std::partial_sum(column_ptr_.begin(), column_ptr_.end(), column_ptr_.begin());
    columns_.resize(f_.n);
    std::vector<std::int32_t> next(column_ptr_.begin(), column_ptr_.end() - 1);
    for (std::int32_t j = 0; j < f_.n; ++j) columns_[next[chunks_.of[j]]++] = j;
    level_.assign(f_.n, 0);
    for (std::int32_t k = 0; k < f_.n; ++k) {
      const auto after = [&](std::int32_t i) {
        if (chunks_.of[i] == chunks_.of[k]) level_[i] = std::max(level_[i], level_[k] + 1);
      };
      for (std::int64_t p = f_.diag[k] + 1; p < f_.col_ptr[k + 1]; ++p) after(f_.row_idx[p]);
      for (std::int64_t q = u_.ptr[k]; q < u_.ptr[k + 1]; ++q) after(u_.cols[q]);
    }
  }

  /// Rows of L and columns of U of a chunk that are not its own, ascending.
  std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>> border(std::int32_t c) {
    std::vector<std::int32_t> rows, columns;
    for (const std::int32_t k : columns_of(c)) {
      for (std::int64_t p = f_.diag[k] + 1; p < f_.col_ptr[k + 1]; ++p)
        if (chunks_.of[f_.row_idx[p]] != c) rows.push_back(f_.row_idx[p]);
      for (std::int64_t q = u_.ptr[k]; q < u_.ptr[k + 1]; ++q)
        if (chunks_.of[u_.cols[q]] != c) columns.push_back(u_.cols[q]);
    }
    for (auto* v : {&rows, &columns}) {
      std::ranges::sort(*v);
      v->erase(std::unique(v->begin(), v->end()), v->end());
    }
    return {std::move(rows), std::move(columns)};
  }

  void choose_kinds() {
    is_sparse_.resize(chunks_.size());
    for (std::int32_t c = 0; c < chunks_.size(); ++c) {
      std::int64_t entries = 0, products = 0;
      std::int32_t levels = 0;
      const auto columns = columns_of(c);
      for (const std::int32_t k : columns) {
        const std::int64_t l = f_.col_ptr[k + 1] - f_.diag[k] - 1, u = u_.ptr[k + 1] - u_.ptr[k];
        entries += l + u + 1;
        products += l * u;
        levels = std::max(levels, level_[k] + 1);
      }
      const std::int64_t s = std::ssize(columns);
      const auto [rows, others] = border(c);
      const std::int64_t front = s + std::max(std::ssize(rows), std::ssize(others));
      const bool is_whole = front <= o_.max_front;
      const double by_products = sparse_level * levels + double(products) / products_per_us;
      const double by_fronts = dense_pivot * double(s) + (is_whole ? 1 : split_start);
      const bool may_be_sparse = s <= max_sparse_pivots && entries <= max_sparse_entries && products <= max_products;
      const bool may_be_dense = s <= o_.max_front / 2 || is_whole;
      is_sparse_[c] = may_be_sparse && (!may_be_dense || by_products <= by_fronts);
      least_bytes_ += is_sparse_[c] ? 4 * products : 2 * o_.scalar_bytes * std::ssize(rows) * std::ssize(others);
      if (!may_be_sparse && !may_be_dense) fits_ = false;
      ++(is_sparse_[c] ? plan_.n_sparse : is_whole ? plan_.n_dense : plan_.n_split);
    }
  }

  /// Products of all sparse chunks, column by column of what they change.
  void list_products() {
    entry_of_.assign(f_.nnz(), 0);
    for (std::int32_t c = 0; c < chunks_.size(); ++c) {
      if (!is_sparse_[c]) continue;
      std::uint16_t next = 0;
      for_each_entry(c, [&](std::uint32_t p) { entry_of_[p] = next++; });
    }
    products_.resize(chunks_.size());
    std::vector<std::uint32_t> at(f_.n);  // position of row i of column j
    std::vector<std::uint32_t> pivot(f_.n);
    for (std::int32_t c = 0; c < chunks_.size(); ++c)
      for (std::uint32_t k = 0; k < columns_of(c).size(); ++k) pivot[columns_of(c)[k]] = k;
    for (std::int32_t j = 0; j < f_.n; ++j) {
      for (std::int64_t p = f_.col_ptr[j]; p < f_.col_ptr[j + 1]; ++p)
        at[f_.row_idx[p]] = static_cast<std::uint32_t>(p);
      for (std::int64_t p = f_.col_ptr[j]; p < f_.diag[j]; ++p) {
        const std::int32_t k = f_.row_idx[p], c = chunks_.of[k];
        if (!is_sparse_[c]) continue;
        const std::uint32_t of_pivot = std::uint32_t(entry_of_[p]) << 12 | pivot[k] << 24;
        for (std::int64_t q = f_.diag[k] + 1; q < f_.col_ptr[k + 1]; ++q)
          products_[c].push_back({at[f_.row_idx[q]], entry_of_[q] | of_pivot});
      }
    }
  }

  /// visit(position in As) for the entries of a chunk: column k of L from its diagonal on, then row k of U.
  template <class Visit>
  void for_each_entry(std::int32_t c, const Visit& visit) const {
    for (const std::int32_t k : columns_of(c)) {
      for (std::int64_t p = f_.diag[k]; p < f_.col_ptr[k + 1]; ++p) visit(static_cast<std::uint32_t>(p));
      for (std::int64_t q = u_.ptr[k]; q < u_.ptr[k + 1]; ++q) visit(static_cast<std::uint32_t>(u_.pos[q]));
    }
  }

  std::int32_t n_tasks() const { return static_cast<std::int32_t>(made_.size()); }

  /// The tables of the words that a task awaits.   place: of an entry's position in X
  template <class Place>
  void put_inputs(FanInTask& task, Bytes& bytes, std::int32_t c, std::span<const Input> inputs, const Place& place,
                  double& work, std::vector<std::int32_t>& producers) {
    for (const bool late : {false, true}) {
      std::vector<std::pair<std::uint16_t, const Input*>> chosen;
      for (const Input& i : inputs)
        if ((made_[i.producer].layer == chunks_.layer[c] - 1) == late) chosen.emplace_back(place(i.position), &i);
      std::ranges::stable_sort(chosen, {}, [](const auto& x) { return x.first; });
      std::vector<std::uint32_t> words, last;
      for (const auto& [at, i] : chosen) words.push_back(i->word);
      std::vector<Sum> sums;
      for (std::size_t first = 0, end; first < chosen.size(); first = end) {
        for (end = first; end < chosen.size() && chosen[end].first == chosen[first].first;) ++end;
        sums.push_back({chosen[first].first, 0, std::span<const std::uint32_t>(words).subspan(first, end - first)});
      }
      Rows rows;
      if (!sums.empty()) work += 0.3 + 0.1 * rows.add(std::move(sums), true);
      fits_ = fits_ && rows.fits();
      std::ranges::stable_sort(chosen, {}, [](const auto& x) { return std::pair(x.second->producer, x.second->word); });
      for (std::size_t q = 0; q < chosen.size(); ++q)
        if (q + 1 == chosen.size() || chosen[q + 1].second->producer != chosen[q].second->producer) {
          last.push_back(chosen[q].second->word);
          producers.push_back(chosen[q].second->producer);
        }
      (late ? task.n_late : task.n_early) = static_cast<std::uint32_t>(last.size());
      (late ? task.late_last : task.early_last) = bytes.put(last);
      (late ? task.late : task.early) = rows.put(bytes);
    }
  }

  void finish_task(FanInTask task, Bytes&& bytes, std::int32_t c, double work, std::vector<std::int32_t> producers) {
    const std::int64_t room =
        o_.shared_bytes - std::int64_t(o_.scalar_bytes) * (fan_in_scratch + std::int64_t(task.x_scalars));
    fits_ = fits_ && room >= std::int64_t(sizeof(FanInTask));
    Made made{bytes.finish(task, room), chunks_.layer[c], work, std::move(producers)};
    needed_ = std::max(needed_, std::int64_t(o_.scalar_bytes) * task.x_scalars + std::ssize(made.bytes));
    bytes_ += std::ssize(made.bytes);
    made_.push_back(std::move(made));
  }

  void make_sparse(std::int32_t c) {
    const auto columns = columns_of(c);
    FanInTask task = {};
    Bytes bytes;
    double work = task_start;
    std::vector<std::uint32_t> positions;
    std::vector<std::uint16_t> divisors;
    std::vector<std::int32_t> producers;
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
    task.pivots = static_cast<std::uint32_t>(columns.size());
    task.x_scalars = static_cast<std::uint32_t>((positions.size() + 3) / 4 * 4);
    task.load = {static_cast<std::uint32_t>(positions.size()), bytes.put(positions), bytes.put(divisors)};
    task.store = task.load;
    task.counts_pivots = 1;
    put_inputs(
        task, bytes, c, inputs_[c], [&](std::uint32_t p) { return entry_of_[p]; }, work, producers);

    std::vector<Product>& products = products_[c];
    std::ranges::stable_sort(products, {}, &Product::target);
    std::vector<FanInProduct> factors;
    for (const Product& p : products) factors.push_back(p.factors);
    std::vector<std::vector<Sum>> by_level(1);
    std::vector<Sum> published;
    task.words = static_cast<std::uint32_t>(plan_.n_words);
    std::vector<std::uint32_t> pivot_of_entry(positions.size(), no_pivot);
    for (std::uint32_t k = 0; k < columns.size(); ++k) pivot_of_entry[entry_of_[f_.diag[columns[k]]]] = k;
    const auto add_own = [&](std::uint32_t p, std::span<const FanInProduct> items) {
      const std::int32_t level = level_[std::min(row_of(p), column_of_[p])];
      if (std::ssize(by_level) <= level) by_level.resize(level + std::size_t(1));
      by_level[level].push_back({entry_of_[p], pivot_of_entry[entry_of_[p]], items});
    };
    std::vector<bool> has_products(positions.size(), false);
    for (std::size_t first = 0, end; first < products.size(); first = end) {
      const std::uint32_t p = products[first].target;
      for (end = first; end < products.size() && products[end].target == p;) ++end;
      const auto items = std::span<const FanInProduct>(factors).subspan(first, end - first);
      if (const std::int32_t to = owner(p); to != c) {
        inputs_[to].push_back({p, static_cast<std::uint32_t>(plan_.n_words + std::ssize(published)), n_tasks()});
        published.push_back({static_cast<std::uint16_t>(published.size()), 0, items});
      } else {
        has_products[entry_of_[p]] = true;
        add_own(p, items);
      }
    }
    for (const std::int32_t k : columns)
      if (!has_products[entry_of_[f_.diag[k]]]) add_own(static_cast<std::uint32_t>(f_.diag[k]), {});
    Rows levels, sums;
    for (auto& level : by_level) work += 0.1 + 0.02 * levels.add(std::move(level), true);
    plan_.n_words += std::ssize(published);
    if (!published.empty()) work += 0.02 * sums.add(std::move(published), false);
    fits_ = fits_ && levels.fits() && sums.fits();
    task.levels = levels.put(bytes);
    put_pivots(task, bytes, columns);
    task.sums = sums.put(bytes);
    products = {};
    finish_task(task, std::move(bytes), c, work, std::move(producers));
  }

  void put_pivots(FanInTask& task, Bytes& bytes, std::span<const std::int32_t> columns) {
    task.pivot_columns = bytes.put(std::vector<std::uint32_t>(columns.begin(), columns.end()));
  }

  void make_dense(std::int32_t c) {
    const auto columns = columns_of(c);
    const std::int32_t s = static_cast<std::int32_t>(columns.size());
    const auto [rows, others] = border(c);
    const std::int32_t n_rows = static_cast<std::int32_t>(rows.size()),
                       n_columns = static_cast<std::int32_t>(others.size());
    for (std::int32_t k = 0; k < s; ++k) row_rank_[columns[k]] = column_rank_[columns[k]] = k;
    for (std::int32_t r = 0; r < n_rows; ++r) row_rank_[rows[r]] = s + r;
    for (std::int32_t r = 0; r < n_columns; ++r) column_rank_[others[r]] = s + r;
    const std::int32_t room = o_.max_front - s;
    const std::int32_t row_parts = std::max(1, (n_rows + room - 1) / room),
                       column_parts = std::max(1, (n_columns + room - 1) / room);
    const bool is_split = row_parts * column_parts > 1;
    const std::uint32_t first_seed = static_cast<std::uint32_t>(plan_.seeds.size());
    if (is_split) for_each_entry(c, [&](std::uint32_t p) { plan_.seeds.push_back(p); });
    for (std::int32_t a = 0; a < row_parts; ++a)
      for (std::int32_t b = 0; b < column_parts; ++b) {
        const auto cut = [](std::int32_t size, std::int32_t parts, std::int32_t part) {
          return static_cast<std::int32_t>(std::int64_t(size) * part / parts);
        };
        make_front(c, columns, {cut(n_rows, row_parts, a), cut(n_rows, row_parts, a + 1)},
                   {cut(n_columns, column_parts, b), cut(n_columns, column_parts, b + 1)}, is_split, first_seed,
                   others);
      }
    for (const std::int32_t k : columns) row_rank_[k] = column_rank_[k] = -1;
    for (const std::int32_t r : rows) row_rank_[r] = -1;
    for (const std::int32_t r : others) column_rank_[r] = -1;
  }

  struct Part {
    std::int32_t begin, end;  // of the rows, or columns, beside the pivots
    std::int32_t size() const { return end - begin; }
  };

  void make_front(std::int32_t c, std::span<const std::int32_t> columns, Part rows, Part others, bool is_split,
                  std::uint32_t first_seed, std::span<const std::int32_t> border_columns) {
    const std::int32_t s = static_cast<std::int32_t>(columns.size());
    FanInTask task = {};
    Bytes bytes;
    std::vector<std::int32_t> producers;
    task.is_dense = 1;
    task.pivots = static_cast<std::uint32_t>(s);
    task.rows = static_cast<std::uint32_t>(s + rows.size());
    task.columns = static_cast<std::uint32_t>(s + others.size());
    task.stride = (std::max(task.rows, task.columns) + 31) / 32 * 32;
    task.x_scalars = task.stride * task.stride;
    task.words = static_cast<std::uint32_t>(plan_.n_words);
    task.loads_seeds = is_split;
    task.counts_pivots = rows.begin == 0 && others.begin == 0;
    double work = task_start + dense_pivot * (1 + double(task.stride) / 96) * s;

    /// Rank in this front of a rank in the whole one; -1: it is in another.
    const auto rank_in = [&](const Part& part, std::int32_t rank) {
      return rank < s ? rank : rank - s >= part.begin && rank - s < part.end ? rank - part.begin : -1;
    };
    const auto place_of = [&](std::uint32_t p) -> std::int32_t {
      const std::int32_t r = rank_in(rows, row_rank_[row_of(p)]), d = rank_in(others, column_rank_[column_of_[p]]);
      return r < 0 || d < 0 ? -1 : r * static_cast<std::int32_t>(task.stride) + d;
    };
    std::vector<std::uint32_t> positions, stored;
    std::vector<std::uint16_t> places, stored_places;
    std::uint32_t seed = first_seed;
    for_each_entry(c, [&](std::uint32_t p) {
      const std::uint32_t from = is_split ? seed++ : p;
      const std::int32_t at = place_of(p);
      if (at < 0) return;
      positions.push_back(from);
      places.push_back(static_cast<std::uint16_t>(at));
      const bool in_row = row_rank_[row_of(p)] >= s, in_column = column_rank_[column_of_[p]] >= s;
      if ((rows.begin > 0 && !in_row) || (others.begin > 0 && !in_column)) return;  // another front returns it
      stored.push_back(p);
      stored_places.push_back(static_cast<std::uint16_t>(at));
    });
    task.load = {static_cast<std::uint32_t>(positions.size()), bytes.put(positions), bytes.put(places)};
    std::vector<Input> inputs;
    for (const Input& i : inputs_[c])
      if (place_of(i.position) >= 0) inputs.push_back(i);
    put_inputs(
        task, bytes, c, inputs, [&](std::uint32_t p) { return static_cast<std::uint16_t>(place_of(p)); }, work,
        producers);
    put_pivots(task, bytes, columns);
    task.store =
        is_split ? FanInEntries{static_cast<std::uint32_t>(stored.size()), bytes.put(stored), bytes.put(stored_places)}
                 : task.load;
    for (std::int32_t q = others.begin; q < others.end; ++q) {
      const std::int32_t j = border_columns[q];
      for (std::int64_t p = f_.col_ptr[j]; p < f_.col_ptr[j + 1]; ++p) {
        const std::int32_t r = row_rank_[f_.row_idx[p]] < s ? -1 : rank_in(rows, row_rank_[f_.row_idx[p]]);
        if (r < 0) continue;
        const std::int64_t word = plan_.n_words + std::int64_t(r - s) * others.size() + (q - others.begin);
        inputs_[owner(static_cast<std::uint32_t>(p))].push_back(
            {static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(word), n_tasks()});
      }
    }
    plan_.n_words += std::int64_t(rows.size()) * others.size();
    finish_task(task, std::move(bytes), c, work, std::move(producers));
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

  void put_in_order() {
    std::vector<double> rest(made_.size());
    for (std::int32_t t = n_tasks() - 1; t >= 0; --t) {  // tasks that await it have larger numbers
      rest[t] += made_[t].work + hop;
      plan_.chain_us = std::max(plan_.chain_us, rest[t]);
      for (const std::int32_t p : made_[t].producers) rest[p] = std::max(rest[p], rest[t]);
    }
    for (const std::int32_t t : order_of_starts(rest)) {
      plan_.tasks.insert(plan_.tasks.end(), made_[t].bytes.begin(), made_[t].bytes.end());
      plan_.begin.push_back(static_cast<std::uint32_t>(plan_.tasks.size() / 16));
      made_[t].bytes = {};
    }
    plan_.shared_bytes = std::min(o_.shared_bytes, std::int64_t(o_.scalar_bytes) * fan_in_scratch + 2 * needed_);
  }

  struct Made {
    std::vector<std::byte> bytes;
    std::int32_t layer;
    double work;
    std::vector<std::int32_t> producers;
  };

  const FilledPattern& f_;
  const FanInOptions& o_;
  const RowsOfU u_;
  const Chunks chunks_;
  FanInPlan plan_;
  std::vector<std::int32_t> column_of_;               // (nnz)
  std::vector<std::int32_t> columns_, column_ptr_;    // of each chunk
  std::vector<std::int32_t> level_;                   // (n) of a column in its chunk
  std::vector<bool> is_sparse_;                       // (chunks)
  std::vector<std::uint16_t> entry_of_;               // (nnz) number of an entry in its sparse task
  std::vector<std::vector<Product>> products_;        // (chunks)
  std::vector<std::vector<Input>> inputs_;            // (chunks)
  std::vector<std::int32_t> row_rank_, column_rank_;  // (n) in the front of the chunk at work, -1: not in it
  std::vector<Made> made_;
  std::int64_t bytes_ = 0, least_bytes_ = 0, needed_ = 0;
  bool fits_ = true;
};

}  // namespace

std::int64_t bytes_of(const FanInPlan& plan, std::int32_t scalar_bytes) {
  return std::ssize(plan.tasks) + 4 * std::ssize(plan.begin) + bytes_of_words(plan, scalar_bytes);
}

Result<FanInPlan> make_fan_in_plan(const FilledPattern& filled, const FanInOptions& options) {
  if (filled.nnz() > std::numeric_limits<std::int32_t>::max())
    return Status::error(StatusCode::not_implemented, "fan-in counts entries of L and U with 31 bits");
  return Planner(filled, options).make();
}

}  // namespace lulab::sparse_syncfree
