#include "sparse_syncfree/10_panel_builder.h"

#include <utility>

namespace lulab::sparse_syncfree {
namespace {

constexpr std::int32_t borrowed_rows = 32;  // rows of U that a task keeps of small panels whose rows another task has

/// When a task has done the step of the run, if the one before it was over at `us`.
double after_panel(double us, const Run& run) { return std::max(us, run.done_us + hop_us) + panel_us; }

/// When a task of one step a run is finished.
double after_panels(std::span<const Run> runs) {
  double us = 0;
  for (const Run& run : runs) us = after_panel(us, run);
  return us + finish_us;
}

}  // namespace

void TaskBuilder::add_panel(std::int32_t j) {
  const auto rows = s_.rows_of(j);
  const auto size = static_cast<std::int32_t>(rows.size());
  if (batch_of_.size() < rows.size()) {
    batch_of_.resize(rows.size());
    items_of_.resize(rows.size());
  }
  for (std::int32_t i = 0; i < size; ++i) place_[rows[i]] = i + 1;
  const std::size_t first_task = out.tasks.size(), first_item = out.items.size();
  const std::span<const Run> runs = order_.order(j, place_);
  cut(j);
  done_us_ = 0;
  const std::size_t tasks = cuts_.size() - 1;
  if (tasks > 1) share_runs(j, runs);
  const auto runs_of = [&](std::size_t c) { return tasks > 1 ? std::span<const Run>(runs_of_task_[c]) : runs; };
  const bool one_step_a_run = small_ < 0;  // then others need not wait for the steps
  if (one_step_a_run) {
    double us = 0;
    for (std::size_t c = 0; c < tasks; ++c) us = std::max(us, after_panels(runs_of(c)));
    c_.times.publish(j, us);
  }
  for (std::size_t c = 0; c < tasks; ++c) add_task(j, cuts_[c], cuts_[c + 1], runs_of(c));
  if (!one_step_a_run) c_.times.publish(j, done_us_);
  out.chain_us = std::max(out.chain_us, done_us_);
  sort_items();
  std::int64_t entry = f_.col_ptr[s_.first[j]];
  for (std::size_t t = first_task; t < out.tasks.size(); ++t) entry = add_entries(out.tasks[t], entry);
  for (const std::int32_t row : rows) place_[row] = 0;
  count_items(out.items.size() - first_item);
}

void TaskBuilder::cut(std::int32_t j) {
  const auto rows = s_.rows_of(j);
  const auto size = static_cast<std::int32_t>(rows.size());
  cuts_ = {0, size};
  if (l_.u_words[j] < 0) return;
  const std::int32_t diag = l_.diag[j], most = most_rows(s_.width(j), size, max_scalars_) - borrowed_rows;
  const auto starts_run = [&](std::int32_t at) {  // first start of a run at or after `at`
    while (at < diag && at > 0 && s_.of[rows[at]] == s_.of[rows[at - 1]]) ++at;
    return std::min(at, diag);
  };
  cuts_ = {0};
  const std::int32_t main = size - diag <= most / 2 ? size - most : diag - most / 2;
  const std::int32_t main_begin = main <= 0 ? 0 : starts_run(main);
  while (cuts_.back() + most < main_begin) cuts_.push_back(starts_run(cuts_.back() + most - max_panel_width + 1));
  if (main_begin > cuts_.back()) cuts_.push_back(main_begin);
  while (cuts_.back() + most < size) cuts_.push_back(cuts_.back() + most);
  cuts_.push_back(size);
}

void TaskBuilder::share_runs(std::int32_t j, std::span<const Run> runs) {
  const auto rows = s_.rows_of(j);
  const std::size_t tasks = cuts_.size() - 1;
  runs_of_task_.resize(std::max(runs_of_task_.size(), tasks));
  for (std::size_t c = 0; c < tasks; ++c) runs_of_task_[c].clear();
  const auto task_of_place = [&](std::int32_t place) {
    return static_cast<std::size_t>(std::upper_bound(cuts_.begin(), cuts_.end(), place) - cuts_.begin() - 1);
  };
  for (const Run& run : runs) {
    std::size_t c = task_of_place(run.at);
    runs_of_task_[c].push_back(run);
    const auto source = s_.rows_of(run.panel);
    for (auto row = source.begin() + l_.diag[run.panel] + s_.width(run.panel);;) {
      row = std::lower_bound(row, source.end(), c + 1 < tasks ? rows[cuts_[c + 1]] : source.back() + 1);
      if (row == source.end()) break;
      const auto place = std::upper_bound(rows.begin(), rows.end(), *row) - rows.begin() - 1;
      c = task_of_place(static_cast<std::int32_t>(place));
      if (*row <= rows[cuts_[c + 1] - 1]) runs_of_task_[c].push_back(run);  // else the task has no row of the run
    }
  }
}

void TaskBuilder::add_task(std::int32_t j, std::int32_t begin, std::int32_t end, std::span<const Run> runs) {
  const RelaxedSupernodes& s = s_;
  const auto rows = s.rows_of(j);
  const std::int32_t width = s.width(j), stored = stored_width(width, std::ssize(rows), max_scalars_);
  const std::int32_t diag = l_.diag[j];
  const std::int64_t u_words = l_.u_words[j];
  PanelTask t{};
  t.values = f_.col_ptr[s.first[j]];
  t.step_begin = std::ssize(out.steps);
  t.words = l_.words[j];
  t.u_words = u_words;
  t.row_begin = s.row_ptr[j] + begin;
  t.first = s.first[j];
  t.width = width;
  t.stored_width = stored;
  t.rows = end - begin;
  t.stride = t.rows + (u_words < 0 ? 0 : borrowed_rows);
  t.ld = width + l_.below[j];
  t.diag_at = diag >= begin && diag < end ? diag - begin : -1;
  t.l_at = std::clamp(diag + width - begin, 0, end - begin);
  t.l_row = begin + t.l_at - diag;
  t.u_row = diag;
  batch_.number = 1;
  time_us_ = 0;
  for (std::int32_t i = begin; i < end; ++i) batch_of_[i] = 0;
  std::int32_t batch = 0;
  for (const Run& run : runs) {
    PanelStep u{};
    const auto source = s.rows_of(run.panel);
    const std::int32_t source_below = l_.diag[run.panel] + s.width(run.panel), skipped = s.width(run.panel) - run.width;
    const auto from = std::lower_bound(source.begin() + source_below, source.end(), rows[begin]);
    const auto to = std::upper_bound(from, source.end(), rows[end - 1]);
    const bool mine = run.at >= begin;
    u.ld = s.width(run.panel) + l_.below[run.panel];
    u.triangle = l_.words[run.panel] + std::int64_t(skipped) * (u.ld + 1);
    u.rows = s.row_ptr[run.panel] + (from - source.begin());
    u.l = l_.words[run.panel] + std::int64_t(skipped) * u.ld + (from - source.begin()) - l_.diag[run.panel];
    u.u = u_words < 0 ? -1 : u_words + std::int64_t(run.at) * stored;
    u.map = out.map_size;
    u.count = static_cast<std::int32_t>(to - from);
    u.at = mine ? run.at - begin : -1;
    u.width = run.width;
    if (run.batch != batch) close_batch(begin);
    batch = run.batch;
    if (std::int64_t(u.count) * u.width <= small_) {
      add_small(t, u, std::span(from, to), begin);
      batch_.ready_us = std::max(batch_.ready_us, run.done_us);
      continue;
    }
    close_batch(begin);
    time_us_ = after_panel(time_us_, run);
    u.map = out.map_size;
    out.map_size += u.count;
    out.steps.push_back(Step::of(u));
  }
  close_batch(begin);
  done_us_ = std::max(done_us_, time_us_ + finish_us);
  t.steps = static_cast<std::int32_t>(std::ssize(out.steps) - t.step_begin);
  t.column_begin = begin == 0 && end == std::ssize(rows) ? -1 : 0;
  out.tasks.push_back(t);
}

std::int64_t TaskBuilder::add_entries(PanelTask& t, std::int64_t first) {
  t.entry_begin = first;
  const std::int32_t begin = static_cast<std::int32_t>(t.row_begin - s_.row_ptr[s_.of[t.first]]);
  const std::int32_t end = begin + t.rows;
  if (t.column_begin >= 0) t.column_begin = std::ssize(out.column_entries);
  std::int64_t at = first;
  const auto entries = [&] { return static_cast<std::uint32_t>(at - first); };
  for (std::int32_t e = 0; e < t.width; ++e) {
    const std::int64_t last = f_.col_ptr[t.first + e + 1];
    std::int64_t p = f_.col_ptr[t.first + e];
    if (t.column_begin >= 0) {
      p = std::lower_bound(f_.row_idx.begin() + p, f_.row_idx.begin() + last, s_.rows[t.row_begin]) -
          f_.row_idx.begin();
      out.column_entries.push_back({static_cast<std::uint32_t>(p - t.values), entries()});
    }
    for (std::int32_t row; p < last && (row = place_[f_.row_idx[p]] - 1) < end; ++p)
      c_.entry_places[at++] = static_cast<std::uint16_t>(e * t.stride + row - begin);
  }
  t.entries = static_cast<std::int32_t>(entries());
  if (t.column_begin >= 0) out.column_entries.push_back({0, entries()});
  return at;
}

void TaskBuilder::add_small(const PanelTask& t, const PanelStep& u, std::span<const std::int32_t> l_rows,
                            std::int32_t begin) {
  const auto depends = [&] {
    if (u.at >= 0)
      for (std::int32_t i = 0; i < u.width; ++i)
        if (batch_of_[begin + u.at + i] == batch_.number) return true;
    if (items_.size() - batch_.items + std::size_t(u.count) * u.width > 60000)
      return true;  // GatherRow counts to 65535
    return u.at < 0 && batch_.borrowed + u.width > t.stride - t.rows;
  };
  if (depends()) close_batch(begin);
  const std::int32_t at = u.at >= 0 ? u.at : t.rows + batch_.borrowed;
  if (u.at < 0) batch_.borrowed += u.width;
  if (u.at < 0 || u.u >= 0 || u.width > 1)
    batch_.solves.push_back({u.at < 0 ? no_word : static_cast<std::uint32_t>(u.triangle),
                             u.u < 0 ? no_word : static_cast<std::uint32_t>(u.u), u.ld, static_cast<std::uint16_t>(at),
                             static_cast<std::uint16_t>(u.width)});
  for (std::int32_t q = 0; q < u.count; ++q) {
    const std::int32_t place = place_[l_rows[q]] - 1;
    if (place < 0) continue;  // all products are zero
    if (batch_of_[place] != batch_.number) {
      batch_of_[place] = batch_.number;
      rows_.push_back(place);
    }
    for (std::int32_t e = 0; e < u.width; ++e)
      items_.push_back(
          {place,
           {static_cast<std::uint32_t>(u.l + std::int64_t(e) * u.ld + q), static_cast<std::uint16_t>(at + e), 0}});
  }
}

void TaskBuilder::close_batch(std::int32_t begin) {
  if (items_.size() > batch_.items || !batch_.solves.empty()) {
    GatherStep step{};
    step.first_solve = std::ssize(out.solves);
    step.solves = static_cast<std::int32_t>(batch_.solves.size());
    out.solves.insert(out.solves.end(), batch_.solves.begin(), batch_.solves.end());
    unsorted_.push_back({out.steps.size(), batch_.items, items_.size(), batch_.rows, rows_.size(), begin});
    out.steps.push_back(Step::of(step));
    time_us_ = std::max(time_us_, batch_.ready_us + hop_us) + gather_us;
  }
  batch_.number += 1;
  batch_.borrowed = 0;
  batch_.ready_us = 0;
  batch_.items = items_.size();
  batch_.rows = rows_.size();
  batch_.solves.clear();
}

void TaskBuilder::sort_items() {
  for (const Unsorted& u : unsorted_) {
    GatherStep step = out.steps[u.step].gather();
    step.first_row = std::ssize(out.gathers);
    const auto items = std::span(items_).subspan(u.items, u.items_end - u.items);
    const auto rows = std::span(rows_).subspan(u.rows, u.rows_end - u.rows);
    std::ranges::sort(rows);
    for (const std::int32_t row : rows) items_of_[row] = 0;
    for (const PlacedItem& item : items) ++items_of_[item.place];
    auto next = static_cast<std::uint32_t>(out.items.size());
    out.items.resize(out.items.size() + items.size());
    for (const std::int32_t row : rows) {
      out.gathers.push_back(
          {next, static_cast<std::uint16_t>(row - u.begin), static_cast<std::uint16_t>(items_of_[row])});
      next += std::exchange(items_of_[row], next);
    }
    for (const PlacedItem& item : items) out.items[items_of_[item.place]++] = item.item;
    const auto first = out.gathers.begin() + step.first_row;
    std::sort(first, out.gathers.end(), [](const GatherRow& a, const GatherRow& b) {
      return a.items != b.items ? a.items > b.items : a.place < b.place;
    });
    step.rows = static_cast<std::int32_t>(out.gathers.end() - first);
    step.lanes = best_lanes(std::span(first, out.gathers.end()));
    out.steps[u.step] = Step::of(step);
  }
  unsorted_.clear();
  items_.clear();
  rows_.clear();
  batch_.items = batch_.rows = 0;
}

int TaskBuilder::best_lanes(std::span<const GatherRow> rows) const {
  int best = 1;
  double least = 1e300;
  for (int lanes = 1, halvings = 0; lanes <= 32; lanes *= 2, ++halvings) {
    double rounds = 0;
    for (std::size_t r = 0; r < rows.size(); r += threads_ / lanes)
      rounds += (rows[r].items + lanes - 1) / lanes + 1 + 0.5 * halvings;
    if (rounds < least) best = lanes;
    least = std::min(least, rounds);
  }
  return best;
}

void TaskBuilder::count_items(std::size_t more) {
  if (more == 0) return;
  // RACE: any thread adds; only the sum counts, and who finds it too large ends work whose result is thrown away
  const std::int64_t before = c_.items.fetch_add(static_cast<std::int64_t>(more), std::memory_order_relaxed);
  if (before + static_cast<std::int64_t>(more) > c_.max_items) c_.times.stop();
}

}  // namespace lulab::sparse_syncfree
