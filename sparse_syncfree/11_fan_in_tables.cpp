#include "sparse_syncfree/11_fan_in_tables.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace lulab::sparse_syncfree {
namespace {

constexpr std::uint32_t max_items = 1 << 24;
constexpr std::int64_t max_sum = 65535;

}  // namespace

std::uint32_t FanInBytes::put(std::span<const std::byte> table) {
  const std::size_t at = bytes_.size(), end = at + table.size();
  bytes_.resize((end + 15) / 16 * 16);
  std::ranges::copy(table, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
  std::fill(bytes_.begin() + static_cast<std::ptrdiff_t>(end), bytes_.end(), std::byte(0));
  ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  return static_cast<std::uint32_t>(at);
}

UninitializedVector<std::byte> FanInBytes::finish(FanInTask task, std::int64_t room) {
  task.bytes = static_cast<std::uint32_t>(bytes_.size());
  task.staged = ends_.front();
  for (const std::uint32_t end : ends_)
    if (end <= room) task.staged = end;
  std::memcpy(bytes_.data(), &task, sizeof(FanInTask));
  return std::move(bytes_);
}

double FanInRows::add(std::span<const FanInSum> sums, bool ends_level) {
  std::size_t longest = 0, items = items_.size();
  for (const FanInSum& s : sums) {
    longest = std::max(longest, s.items.size());
    items += s.items.size();
  }
  fits_ = fits_ && std::cmp_less_equal(longest, max_sum) && items < max_items;
  next_.assign(longest + 1, 0);  // the next row with so many items
  for (const FanInSum& s : sums) ++next_[s.items.size()];
  const auto first = static_cast<std::uint32_t>(rows_.size());
  std::uint32_t at = 0;
  for (std::size_t size = longest + 1; size-- > 0;) at += std::exchange(next_[size], at);
  by_length_.resize(sums.size());
  for (const FanInSum& s : sums) by_length_[next_[s.items.size()]++] = &s;
  rows_.reserve(first + sums.size());
  std::size_t to = items_.size();
  items_.resize(items);
  for (const FanInSum* s : by_length_) {
    rows_.push_back(
        {static_cast<std::uint32_t>(to) | s->pivot << 24, s->place, static_cast<std::uint16_t>(s->items.size())});
    for (const std::uint32_t item : s->items) items_[to++] = item;
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

FanInTable FanInRows::put(FanInBytes& bytes) const {
  FanInTable t;
  t.n_groups = static_cast<std::uint32_t>(groups_.size());
  t.groups = bytes.put(groups_);
  t.rows = bytes.put(rows_);
  t.items = bytes.put(items_);
  return t;
}

FanInRows::Way FanInRows::best_way(std::uint32_t first, std::uint32_t end) const {
  Way best = {std::numeric_limits<double>::infinity(), 0};
  for (int g = 0; g <= 5; ++g) {
    double cost = 0;
    for (std::uint32_t r = first; r < end; r += threads_ >> g)
      cost += double((rows_[r].count + (1 << g) - 1) >> g) + 2 + 0.5 * g;
    if (cost < best.cost) best = {cost, g};
  }
  return best;
}

void FanInRows::push(std::uint32_t first, std::uint32_t end) {
  if (first == end) return;
  groups_.push_back(
      {first, static_cast<std::uint16_t>(end - first), static_cast<std::uint8_t>(best_way(first, end).log_lanes), 0});
}

}  // namespace lulab::sparse_syncfree
