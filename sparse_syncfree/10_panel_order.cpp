#include "sparse_syncfree/10_panel_order.h"

#include <algorithm>
#include <functional>

namespace lulab::sparse_syncfree {

void RunOrder::find_changes(std::int32_t j, const std::vector<std::int32_t>& place_of) {
  const RelaxedSupernodes& s = l_.panels;
  const auto rows = s.rows_of(j);
  const std::int32_t diag = l_.diag[j];
  runs_.clear();
  run_of_.resize(std::max<std::size_t>(run_of_.size(), diag));
  for (std::int32_t q = 0; q < diag;) {
    const std::int32_t k = s.of[rows[q]], width = s.first[k + 1] - rows[q];
    std::fill_n(run_of_.begin() + q, width, static_cast<std::int32_t>(runs_.size()));
    runs_.push_back({k, q, width});
    q += width;
  }
  const auto n_runs = static_cast<std::int32_t>(runs_.size());
  changes_.clear();
  change_ptr_.assign(1, 0);
  waits_for_.assign(n_runs, 0);
  is_small_.assign(n_runs, false);
  for (std::int32_t r = 0; r < n_runs; ++r) {
    const std::int32_t k = runs_[r].panel;
    const auto source = s.rows_of(k).subspan(l_.diag[k] + s.width(k));
    const auto end = source.empty() || source.back() <= rows.back()
                         ? source.end()
                         : std::upper_bound(source.begin(), source.end(), rows.back());
    is_small_[r] = (end - source.begin()) * runs_[r].width <= small_;
    std::int32_t last = -1;
    for (auto row = source.begin(); row != end && *row < s.first[j]; ++row) {
      const std::int32_t place = place_of[*row] - 1;
      if (place < 0 || run_of_[place] == last) continue;
      last = run_of_[place];
      changes_.push_back(last);
      ++waits_for_[last];
    }
    change_ptr_.push_back(std::ssize(changes_));
  }
}

void RunOrder::add_if_ready(std::int32_t r) {
  if (waits_for_[r] > 0) return;
  coming_.push_back({runs_[r].done_us + hop_us, r});
  std::ranges::push_heap(coming_, std::greater<>());
}

void RunOrder::emit(std::int32_t r, std::int32_t batch) {
  ordered_.push_back(runs_[r]);
  ordered_.back().batch = batch;
  for (std::int64_t q = change_ptr_[r]; q < change_ptr_[r + 1]; ++q) {
    --waits_for_[changes_[q]];
    add_if_ready(changes_[q]);
  }
}

std::span<const Run> RunOrder::order(std::int32_t j, const std::vector<std::int32_t>& place) {
  find_changes(j, place);
  for (Run& run : runs_) run.done_us = times_.wait_for(run.panel);
  const auto n_runs = static_cast<std::int32_t>(runs_.size());
  ordered_.clear();
  coming_.clear();
  panels_.clear();
  small_ready_.clear();
  double time_us = 0;
  std::int32_t batch = 0;
  for (std::int32_t r = 0; r < n_runs; ++r) add_if_ready(r);
  while (std::ssize(ordered_) < n_runs) {
    while (!coming_.empty() && coming_.front().time_us <= time_us) {
      std::ranges::pop_heap(coming_, std::greater<>());
      const Ready next = coming_.back();
      coming_.pop_back();
      if (is_small_[next.run]) {
        small_ready_.push_back(next.run);
      } else {
        panels_.push_back(next);
        std::ranges::push_heap(panels_, std::greater<>());
      }
    }
    if (!panels_.empty()) {
      std::ranges::pop_heap(panels_, std::greater<>());
      const std::int32_t r = panels_.back().run;
      panels_.pop_back();
      time_us += panel_us;
      emit(r, batch);
    } else if (!small_ready_.empty()) {
      ++batch;
      time_us += gather_us;
      for (const std::int32_t r : small_ready_) emit(r, batch);  // which adds to coming_ only
      small_ready_.clear();
    } else {
      time_us = coming_.front().time_us;
    }
  }
  return ordered_;
}

}  // namespace lulab::sparse_syncfree
