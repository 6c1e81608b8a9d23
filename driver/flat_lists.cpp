#include "driver/flat_lists.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "preprocess/btf.h"

namespace lulab {
namespace {

// Measured: sparse_leftlooking/NOTES.md, "A step on one core".
constexpr std::int64_t max_entries = 200'000, max_updates = 250'000, max_updates_an_entry = 5;

// Of a step, fitted to five circuits within a factor of 1.1 on a core that is twice as fast as those of most servers.
constexpr double processor = 2;
constexpr double update_us = 0.00078 * processor, value_us = 0.001 * processor;
constexpr double entry_of_a_us = 0.00085 * processor, unknown_us = 0.002 * processor;

/// Diagonal blocks of P·R·A·C·Q, which is block lower triangular in their order. They are those of its filled pattern:
/// where (i,j) is filled, a path leads from i to j.
struct Blocks {
  std::vector<std::int32_t> of;     // (n) block of each column
  std::vector<std::int32_t> order;  // (n) columns block by block, ascending inside a block
  std::int64_t updates = 0;         // multiply-adds of their factorizations
};

std::optional<Blocks> blocks_of(const FilledPattern& filled) {
  const auto components = strong_components(filled.view());
  if (!components.ok()) return std::nullopt;
  Blocks blocks;
  blocks.of.resize(filled.n);
  blocks.order.reserve(filled.n);
  for (std::int32_t s = components->n_blocks() - 1; s >= 0; --s) {
    const auto begin = components->q.begin() + components->block_ptr[s];
    const auto end = components->q.begin() + components->block_ptr[s + 1];
    const auto first = std::ssize(blocks.order);
    blocks.order.insert(blocks.order.end(), begin, end);
    std::sort(blocks.order.begin() + first, blocks.order.end());
    for (auto j = begin; j != end; ++j) blocks.of[*j] = s;
  }
  return blocks;
}

/// None where the pattern is too large.
std::optional<Blocks> blocks_that_pay(const FilledPattern& f) {
  if (f.nnz() > max_entries) return std::nullopt;
  auto blocks = blocks_of(f);
  if (!blocks) return blocks;
  std::int64_t entries = 0;
  std::vector<std::int64_t> l_length(f.n, 0);
  for (std::int32_t k = 0; k < f.n; ++k)
    for (std::int64_t p = f.col_ptr[k]; p < f.col_ptr[k + 1]; ++p) {
      const std::int32_t i = f.row_idx[p];
      if (blocks->of[i] != blocks->of[k]) continue;
      ++entries;
      if (i < k) blocks->updates += l_length[i];
      if (i > k) ++l_length[k];
    }
  if (blocks->updates > max_updates || blocks->updates > max_updates_an_entry * entries) blocks.reset();
  return blocks;
}

class Builder {
 public:
  Builder(const Analysis& analysis, Blocks blocks)
      : f_(analysis.filled), analysis_(analysis), blocks_(std::move(blocks)) {
    lists_.n = f_.n;
  }

  std::optional<FlatLists> build() {
    list_outside();
    list_unknowns();
    list_elimination();
    if (!take_plan()) return std::nullopt;
    return std::move(lists_);
  }

 private:
  template <class Take>
  void for_entries(std::int32_t k, std::int64_t begin, std::int64_t end, const Take& take) const {
    for (std::int64_t p = begin; p < end; ++p)
      if (blocks_.of[f_.row_idx[p]] == blocks_.of[k]) take(p, f_.row_idx[p]);
  }
  /// take(position in filled, row) for the entries of column k of the block's L, or U, off the diagonal.
  template <class Take>
  void for_l(std::int32_t k, const Take& take) const {
    for_entries(k, f_.diag[k] + 1, f_.col_ptr[k + 1], take);
  }
  template <class Take>
  void for_u(std::int32_t k, const Take& take) const {
    for_entries(k, f_.col_ptr[k], f_.diag[k], take);
  }
  /// take(position, row) for the entries of A outside of the blocks.
  template <class Take>
  void for_outside(std::int32_t k, const Take& take) const {
    for (std::int64_t t = outside_ptr_[k]; t < outside_ptr_[k + 1]; ++t) take(outside_[t], f_.row_idx[outside_[t]]);
  }

  void list_outside() {
    for (std::int32_t k = 0; k < f_.n; ++k) {
      const std::int32_t j = analysis_.plan.q[k];
      for (std::int64_t e = analysis_.a.col_ptr[j]; e < analysis_.a.col_ptr[j + 1]; ++e) {
        const std::int64_t p = analysis_.a_to_filled[e];
        if (blocks_.of[f_.row_idx[p]] != blocks_.of[k]) outside_.push_back(p);
      }
      outside_ptr_.push_back(std::ssize(outside_));
    }
  }

  /// Stages of a solve. A block applies all of its L in one, after what comes from other blocks, then divides its
  /// unknowns in later ones, each after all terms of its row.
  void list_unknowns() {
    std::vector<std::int32_t> lower(f_.n, 0), divided(f_.n, 0);  // lower: of a block, for each of its columns
    const auto raise = [](std::int32_t& stage, std::int32_t to) { stage = std::max(stage, to); };
    for (auto first = blocks_.order.begin(); first != blocks_.order.end();) {
      std::int32_t of_block = 0;
      auto end = first;
      for (; end != blocks_.order.end() && blocks_.of[*end] == blocks_.of[*first]; ++end) raise(of_block, lower[*end]);
      for (auto j = end; j != first;) {
        --j;
        lower[*j] = of_block;
        raise(divided[*j], of_block + 1);
        for_u(*j, [&](std::int64_t, std::int32_t i) { raise(divided[i], divided[*j] + 1); });
        for_outside(*j, [&](std::int64_t, std::int32_t i) { raise(lower[i], divided[*j]); });
      }
      first = end;
    }
    const std::int32_t n_stages = f_.n > 0 ? 1 + *std::max_element(divided.begin(), divided.end()) : 0;
    const auto by_lower = by_stage(lower, n_stages), by_divided = by_stage(divided, n_stages);
    unknown_.resize(f_.n);
    place_.assign(f_.nnz(), -1);
    std::int32_t place = 0;
    for (const auto& columns : by_divided)
      for (const std::int32_t j : columns) place_[f_.diag[j]] = unknown_[j] = place++;
    const auto append_to = [&](std::vector<FlatLists::Term>& terms, std::int32_t j) {
      return [&, j](std::int64_t p, std::int32_t i) {
        place_[p] = place++;
        terms.push_back({unknown_[i], unknown_[j]});
      };
    };
    lists_.solve_stages.resize(n_stages);
    std::int32_t unknowns = 0;
    for (std::int32_t s = 0; s < n_stages; ++s) {
      for (const std::int32_t j : by_divided[s]) {
        for_u(j, append_to(lists_.upper, j));
        for_outside(j, append_to(lists_.upper, j));
      }
      unknowns += static_cast<std::int32_t>(by_divided[s].size());
      lists_.solve_stages[s] = {unknowns, static_cast<std::int32_t>(lists_.upper.size()), 0};
    }
    for (std::int32_t s = 0; s < n_stages; ++s) {
      for (const std::int32_t j : by_lower[s]) for_l(j, append_to(lists_.lower, j));
      lists_.solve_stages[s].lower = static_cast<std::int32_t>(lists_.lower.size());
    }
  }

  /// Columns of each stage, in the order of the blocks.
  std::vector<std::vector<std::int32_t>> by_stage(const std::vector<std::int32_t>& stage, std::int32_t count) const {
    std::vector<std::vector<std::int32_t>> columns(count);
    for (const std::int32_t j : blocks_.order) columns[stage[j]].push_back(j);
    return columns;
  }

  void list_elimination() {
    std::vector<std::int32_t> level(f_.n, 0);
    std::int32_t n_levels = 0;
    for (std::int32_t k = 0; k < f_.n; ++k) {
      for_u(k, [&](std::int64_t, std::int32_t j) { level[k] = std::max(level[k], level[j] + 1); });
      n_levels = std::max(n_levels, level[k] + 1);
    }
    std::vector<std::int32_t> target(f_.n);  // of row i in the current column
    for (const auto& columns : by_stage(level, n_levels)) {
      for (const std::int32_t k : columns) {
        for (std::int64_t p = f_.col_ptr[k]; p < f_.col_ptr[k + 1]; ++p) target[f_.row_idx[p]] = place_[p];
        for_u(k, [&](std::int64_t u, std::int32_t j) {
          for_l(j, [&](std::int64_t l, std::int32_t i) {
            lists_.updates.push_back({target[i], place_[l], place_[u]});
          });
        });
        for_l(k, [&](std::int64_t l, std::int32_t) { lists_.divisions.push_back({place_[l], place_[f_.diag[k]]}); });
      }
      lists_.levels.push_back(
          {static_cast<std::int32_t>(lists_.updates.size()), static_cast<std::int32_t>(lists_.divisions.size())});
    }
  }

  /// Is every r · c a normal number?
  bool take_plan() {
    const Plan& plan = analysis_.plan;
    const CscPattern& a = analysis_.a;
    for (std::int32_t j = 0; j < a.n_cols; ++j)
      for (std::int64_t e = a.col_ptr[j]; e < a.col_ptr[j + 1]; ++e) {
        lists_.to.push_back(place_[analysis_.a_to_filled[e]]);
        lists_.scale.push_back(plan.r[a.row_idx[e]] * plan.c[j]);
        if (!std::isnormal(lists_.scale.back())) return false;
      }
    const auto n = static_cast<std::size_t>(f_.n);
    lists_.row.resize(n), lists_.column.resize(n), lists_.row_scale.resize(n), lists_.column_scale.resize(n);
    for (std::size_t k = 0; k < n; ++k) {
      const std::int32_t t = unknown_[k], i = plan.p[k], j = plan.q[k];
      lists_.row[t] = i, lists_.row_scale[t] = plan.r[i];
      lists_.column[t] = j, lists_.column_scale[t] = plan.c[j];
    }
    return true;
  }

  const FilledPattern& f_;
  const Analysis& analysis_;
  const Blocks blocks_;
  std::vector<std::int64_t> outside_, outside_ptr_ = {0};  // positions in filled, by columns
  std::vector<std::int32_t> unknown_;                      // (n) of each column
  std::vector<std::int32_t> place_;                        // (nnz(L+U)) -1: nothing is there
  FlatLists lists_;
};

}  // namespace

std::optional<FlatLists> make_flat_lists(const Analysis& analysis) {
  auto blocks = blocks_that_pay(analysis.filled);
  return blocks ? Builder(analysis, std::move(*blocks)).build() : std::nullopt;
}

std::optional<double> flat_step_us(const FilledPattern& filled) {
  const auto blocks = blocks_that_pay(filled);
  if (!blocks) return std::nullopt;
  return update_us * static_cast<double>(blocks->updates) + unknown_us * filled.n +
         (value_us + entry_of_a_us) * static_cast<double>(filled.nnz());
}

}  // namespace lulab
