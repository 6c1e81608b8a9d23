#include "sparse_syncfree/10_panel_tasks.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <span>
#include <utility>

#include "core/in_parallel.h"
#include "sparse_syncfree/10_panel_order.h"

namespace lulab::sparse_syncfree {
namespace {

constexpr std::int64_t entries_per_thread = 50000;  // of L+U: about 2 ms
constexpr int max_threads = 16, shares_per_thread = 64, max_taken = 64;

constexpr std::int32_t borrowed_rows = 32;  // rows of U that a task keeps of small panels whose rows another task has

bool is_leaf(const PanelTask& t) {
  return t.steps == 0 && t.column_begin < 0 && t.stride * t.stored_width <= max_leaf_scalars;
}

/// What the tasks of all panels are made from, and what threads tell each other.
struct Common {
  Common(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t the_max_scalars, int the_threads,
         std::int32_t the_small, int the_host_threads)
      : f(filled),
        layout(lay_out_panels(panels, the_max_scalars, the_host_threads)),
        max_items(std::min<std::int64_t>(4 * filled.nnz() + 65536, no_word - 131072)),
        max_scalars(the_max_scalars),
        threads(the_threads),
        host_threads(the_host_threads),
        small(the_small),
        times(layout.panels.size()),
        entry_places(filled.nnz()) {}

  const FilledPattern& f;
  PanelLayout layout;
  const std::int64_t max_items;  // 8 bytes each: then they take less than three times what L and U do
  const std::int32_t max_scalars;
  const int threads, host_threads;
  const std::int32_t small;
  FinishTimes times;
  std::vector<std::uint16_t> entry_places;  // (nnz(L+U)) of the tasks, panel by panel
  std::atomic<std::int64_t> items = 0;
};

/// Makes the tasks of some panels, one after the other; offsets count from the first of them. Of one host thread.
class Builder {
 public:
  explicit Builder(Common& common)
      : c_(common),
        f_(common.f),
        l_(common.layout),
        s_(common.layout.panels),
        small_(common.small),
        max_scalars_(common.max_scalars),
        threads_(common.threads),
        order_(common.layout, common.times, common.small),
        place_(common.f.n) {
    out.steps.reserve(l_.n_runs / c_.host_threads);
    out.tasks.reserve(s_.size() / c_.host_threads);
  }

  PanelTasks out;  // without what is known of all panels

  void add_panel(std::int32_t j) {
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
    if (cuts_.size() == 2) {
      add_task(j, 0, size, runs);
    } else {
      share_runs(j, runs);
      for (std::size_t c = 0; c + 1 < cuts_.size(); ++c) add_task(j, cuts_[c], cuts_[c + 1], runs_of_task_[c]);
    }
    c_.times.publish(j, done_us_);
    out.chain_us = std::max(out.chain_us, done_us_);
    sort_items();
    std::int64_t entry = f_.col_ptr[s_.first[j]];
    for (std::size_t t = first_task; t < out.tasks.size(); ++t) entry = add_entries(out.tasks[t], entry);
    for (const std::int32_t row : rows) place_[row] = 0;
    count_items(out.items.size() - first_item);
  }

 private:
  /// Places where the tasks of the panel begin and end: one has rows before and after the diagonal block, so that a
  /// chain of panels goes through one task each.
  void cut(std::int32_t j) {
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

  /// Gives each task the runs that it has rows of, in U or in L, in their order.
  void share_runs(std::int32_t j, std::span<const Run> runs) {
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
        runs_of_task_[c].push_back(run);
      }
    }
  }

  void add_task(std::int32_t j, std::int32_t begin, std::int32_t end, std::span<const Run> runs) {
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
      const std::int32_t source_below = l_.diag[run.panel] + s.width(run.panel),
                         skipped = s.width(run.panel) - run.width;
      const auto from = std::lower_bound(source.begin() + source_below, source.end(), rows[begin]);
      const auto to = std::upper_bound(from, source.end(), rows[end - 1]);
      const bool mine = run.at >= begin;
      if (!mine && from == to) continue;
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
      time_us_ = std::max(time_us_, run.done_us + hop_us) + panel_us;
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

  /// Where the entries of the task lie in X, from entry_places[first] on; returns the first of the next task.
  std::int64_t add_entries(PanelTask& t, std::int64_t first) {
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

  struct Batch {
    std::int32_t number = 1, borrowed = 0;
    double ready_us = 0;              // when the last of its panels is finished
    std::size_t items = 0, rows = 0;  // its first in items_, rows_
    std::vector<PanelSolve> solves;
  };
  struct PlacedItem {
    std::int32_t place;
    GatherItem item;
  };
  /// A gather step of the panel whose items are not yet sorted.
  struct Unsorted {
    std::size_t step, items, items_end, rows, rows_end;
    std::int32_t begin;  // of the task's rows
  };

  /// The panel of `u` joins the batch, or starts one if a panel of the batch updates its rows.
  void add_small(const PanelTask& t, const PanelStep& u, std::span<const std::int32_t> l_rows, std::int32_t begin) {
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
                               u.u < 0 ? no_word : static_cast<std::uint32_t>(u.u), u.ld,
                               static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(u.width)});
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

  void close_batch(std::int32_t begin) {
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

  /// Sorts items by row, rows by their number of items: once others need not wait for the panel any more.
  void sort_items() {
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

  /// Lanes a row with which the block goes through the rows, most items first, in the fewest rounds.
  int best_lanes(std::span<const GatherRow> rows) const {
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

  /// Too many items end all work at once.
  void count_items(std::size_t more) {
    if (more == 0) return;
    // RACE: any thread adds; only the sum counts, and who finds it too large ends work whose result is thrown away
    const std::int64_t before = c_.items.fetch_add(static_cast<std::int64_t>(more), std::memory_order_relaxed);
    if (before + static_cast<std::int64_t>(more) > c_.max_items) c_.times.stop();
  }

  Common& c_;
  const FilledPattern& f_;
  const PanelLayout& l_;
  const RelaxedSupernodes& s_;
  const std::int32_t small_, max_scalars_;
  const int threads_;
  RunOrder order_;
  std::vector<std::int32_t> place_;      // (n) 1 + place of the row in the current panel; 0: it has no such row
  std::vector<std::int32_t> batch_of_;   // (rows of the panel) the last batch that changes the row
  std::vector<std::uint32_t> items_of_;  // (rows of the panel) in that batch
  Batch batch_;
  std::vector<PlacedItem> items_;   // of the panel's batches
  std::vector<std::int32_t> rows_;  // that they change, batch by batch
  std::vector<Unsorted> unsorted_;
  double done_us_ = 0, time_us_ = 0;  // of the panel; of the current task, so far
  std::vector<std::vector<Run>> runs_of_task_;
  std::vector<std::int32_t> cuts_;  // places where its tasks begin, and the end
};

/// Sizes of a plan's tables.
struct Sizes {
  std::size_t tasks = 0, steps = 0, solves = 0, gathers = 0, items = 0, columns = 0;
  std::int64_t map = 0;

  static Sizes of(const PanelTasks& p) {
    return {p.tasks.size(), p.steps.size(),          p.solves.size(), p.gathers.size(),
            p.items.size(), p.column_entries.size(), p.map_size};
  }
};

/// Where the tasks of a panel are in what a thread made, and in the whole.
struct Made {
  int part = 0;
  Sizes from = {}, to = {}, at = {};
};

/// In which order threads take panels: by rank, so that few wait for each other, neighbours of one rank together.
struct Order {
  std::vector<std::int32_t> panels;     // by rank
  std::vector<std::int32_t> ptr = {0};  // where a thread begins to take some of them

  Order(const PanelLayout& l, int host_threads) : panels(l.panels.size()) {
    std::iota(panels.begin(), panels.end(), 0);
    const auto n = static_cast<std::int32_t>(panels.size());
    if (host_threads == 1) {
      if (n > 0) ptr.push_back(n);
      return;
    }
    std::ranges::stable_sort(panels, {}, [&](std::int32_t j) { return l.rank[j]; });
    const std::int64_t share = l.work.back() / (host_threads * shares_per_thread);
    for (std::int32_t q = 0; q < n;) {
      const std::int32_t begin = q;
      for (std::int64_t work = 0;
           q < n && q - begin < max_taken && l.rank[panels[q]] == l.rank[panels[begin]] && (q == begin || work < share);
           ++q)
        work += l.work[panels[q] + 1] - l.work[panels[q]];
      ptr.push_back(q);
    }
  }
};

/// Copies the tasks of a panel to their place in the whole.
void copy_panel(const PanelTasks& part, const Made& r, PanelTasks& all) {
  const auto copy = [](const auto& from, std::size_t begin, std::size_t end, auto& to, std::size_t at, auto&& change) {
    for (std::size_t k = begin; k < end; ++k, ++at) {
      to[at] = from[k];
      change(to[at]);
    }
  };
  const Sizes& a = r.from;
  const auto solves = static_cast<std::int64_t>(r.at.solves) - static_cast<std::int64_t>(a.solves);
  const auto gathers = static_cast<std::int64_t>(r.at.gathers) - static_cast<std::int64_t>(a.gathers);
  const auto steps = static_cast<std::int64_t>(r.at.steps) - static_cast<std::int64_t>(a.steps);
  const auto columns = static_cast<std::int64_t>(r.at.columns) - static_cast<std::int64_t>(a.columns);
  copy(part.tasks, a.tasks, r.to.tasks, all.tasks, r.at.tasks, [&](PanelTask& t) {
    t.step_begin += steps;
    if (t.column_begin >= 0) t.column_begin += columns;
  });
  copy(part.steps, a.steps, r.to.steps, all.steps, r.at.steps, [&](Step& step) {
    if (step.is_panel()) {
      PanelStep s = step.panel();
      s.map += r.at.map - a.map;
      step = Step::of(s);
    } else {
      GatherStep s = step.gather();
      s.first_solve += solves;
      s.first_row += gathers;
      step = Step::of(s);
    }
  });
  const auto unchanged = [](const auto&) {};
  copy(part.solves, a.solves, r.to.solves, all.solves, r.at.solves, unchanged);
  copy(part.gathers, a.gathers, r.to.gathers, all.gathers, r.at.gathers,
       [&](GatherRow& row) { row.first_item += static_cast<std::uint32_t>(r.at.items - a.items); });
  copy(part.items, a.items, r.to.items, all.items, r.at.items, unchanged);
  copy(part.column_entries, a.columns, r.to.columns, all.column_entries, r.at.columns, unchanged);
}

/// The tables of all panels, one after the other.
PanelTasks join(std::vector<PanelTasks>& parts, std::vector<Made>& made) {
  if (parts.size() == 1) return std::move(parts[0]);
  Sizes all;
  for (Made& m : made) {
    m.at = all;
    all.tasks += m.to.tasks - m.from.tasks;
    all.steps += m.to.steps - m.from.steps;
    all.solves += m.to.solves - m.from.solves;
    all.gathers += m.to.gathers - m.from.gathers;
    all.items += m.to.items - m.from.items;
    all.columns += m.to.columns - m.from.columns;
    all.map += m.to.map - m.from.map;
  }
  PanelTasks plan;
  plan.tasks.resize(all.tasks);
  plan.steps.resize(all.steps);
  plan.solves.resize(all.solves);
  plan.gathers.resize(all.gathers);
  plan.items.resize(all.items);
  plan.column_entries.resize(all.columns);
  plan.map_size = all.map;
  for (const PanelTasks& part : parts) plan.chain_us = std::max(plan.chain_us, part.chain_us);
  in_parallel(static_cast<int>(parts.size()), [&](int p) {
    const std::size_t count = parts.size(), begin = made.size() * p / count, end = made.size() * (p + 1) / count;
    for (std::size_t j = begin; j < end; ++j) copy_panel(parts[made[j].part], made[j], plan);
  });
  return plan;
}

/// Leaves first, then by rank.
void sort_tasks(const PanelLayout& l, PanelTasks& plan) {
  const auto key = [&](const PanelTask& t) { return is_leaf(t) ? 0 : 1 + l.rank[l.panels.of[t.first]]; };
  std::vector<std::int32_t> next;  // (keys) where the next task of each key goes
  for (const PanelTask& t : plan.tasks) {
    const auto k = static_cast<std::size_t>(key(t));
    if (next.size() < k + 2) next.resize(k + 2);
    ++next[k + 1];
  }
  for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
  plan.leaves = next.empty() ? 0 : next[1];
  std::vector<PanelTask> sorted(plan.tasks.size());
  for (const PanelTask& t : plan.tasks) sorted[next[key(t)]++] = t;
  plan.tasks = std::move(sorted);
}

}  // namespace

PanelTasks make_panel_tasks(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t max_scalars,
                            int threads, std::int32_t small, int host_threads) {
  const int count = host_threads > 0 ? host_threads : threads_for(filled.nnz(), entries_per_thread, max_threads);
  Common common(filled, panels, max_scalars, threads, small, count);
  const Order order(common.layout, count);
  std::vector<Made> made(count == 1 ? 0 : order.panels.size());
  std::vector<PanelTasks> parts(count);
  std::atomic<std::size_t> taken = 0;
  in_parallel(count, [&](int p) {
    try {
      Builder builder(common);
      // RACE: some panels have one thread, in ascending order; what it wrote is read when all threads have ended
      for (std::size_t t; (t = taken.fetch_add(1, std::memory_order_relaxed)) + 1 < order.ptr.size();)
        for (std::int32_t q = order.ptr[t]; q < order.ptr[t + 1] && !common.times.stopped(); ++q) {
          const std::int32_t j = order.panels[q];
          if (count == 1) {
            builder.add_panel(j);
            continue;
          }
          made[j].part = p;
          made[j].from = Sizes::of(builder.out);
          builder.add_panel(j);
          made[j].to = Sizes::of(builder.out);
        }
      parts[p] = std::move(builder.out);
    } catch (...) {
      common.times.stop();  // else others would wait for panels of this thread
      throw;
    }
  });
  PanelTasks plan;
  plan.items_left_out = common.times.stopped();
  if (!plan.items_left_out) {
    plan = join(parts, made);
    plan.entry_places = std::move(common.entry_places);
    sort_tasks(common.layout, plan);
  }
  plan.words = common.layout.n_words;
  plan.least_us = common.layout.least_us;
  plan.panels = std::move(common.layout.panels);
  return plan;
}

void shuffle_tasks(PanelTasks& plan, std::uint64_t seed) {
  // A random number of ranks passes between a panel and the last of those it waits for.
  const RelaxedSupernodes& s = plan.panels;
  std::mt19937_64 random(seed);
  std::vector<double> time(s.size(), 0.0);
  for (std::int32_t j = 0; j < s.size(); ++j) {
    for (const std::int32_t row : s.rows_of(j)) {
      if (row >= s.first[j]) break;
      time[j] = std::max(time[j], time[s.of[row]]);
    }
    time[j] += std::uniform_real_distribution<double>(0.1, 10)(random);
  }
  const auto in_order = [&](const PanelTask& a, const PanelTask& b) {
    return time[s.of[a.first]] < time[s.of[b.first]];
  };
  std::stable_sort(plan.tasks.begin(), plan.tasks.begin() + plan.leaves, in_order);
  std::stable_sort(plan.tasks.begin() + plan.leaves, plan.tasks.end(), in_order);
}

}  // namespace lulab::sparse_syncfree
