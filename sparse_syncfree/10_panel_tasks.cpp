#include "sparse_syncfree/10_panel_tasks.h"

#include <algorithm>
#include <compare>
#include <queue>
#include <random>
#include <span>
#include <utility>

namespace lulab::sparse_syncfree {
namespace {

// Times of an H200 in microseconds, from factorizations that are one long chain.
constexpr double hop_us = 0.5, panel_us = 0.45, gather_us = 0.9, finish_us = 0.8;

constexpr std::int32_t borrowed_rows = 32;  // rows of U that a task keeps of small panels whose rows another task has

/// Columns of X for a panel of this width. The steps are compiled for each stored width, and each one in use costs
/// fetches of instructions (H200, widths 1 and 2 left out, only 4 and 8 in use: 13659pegase 0.20 -> 0.18 ms). So 2 is
/// only for panels that would otherwise be cut into several tasks.
std::int32_t stored_width(std::int32_t width, std::int64_t rows, std::int32_t max_scalars) {
  return width > 4 ? 8 : width > 2 || 4 * rows <= max_scalars ? 4 : 2;
}

/// Adds rows of U so that a panel K, from its first row in J on, has all its rows in J: one contiguous run of X.
RelaxedSupernodes close_runs(const RelaxedSupernodes& s) {
  RelaxedSupernodes closed{s.first, s.of, {0}, {}};
  closed.rows.reserve(s.rows.size());
  for (std::int32_t j = 0; j < s.size(); ++j) {
    std::int32_t next = 0;  // first row not yet written
    for (const std::int32_t row : s.rows_of(j)) {
      if (row < next) continue;
      const std::int32_t end = row < s.first[j + 1] ? s.first[s.of[row] + 1] : row + 1;
      for (next = row; next < end; ++next) closed.rows.push_back(next);
    }
    closed.row_ptr.push_back(std::ssize(closed.rows));
  }
  return closed;
}

bool is_leaf(const PanelTask& t) {
  return t.steps == 0 && t.column_begin < 0 && t.stride * t.stored_width <= max_leaf_scalars;
}

class Builder {
 public:
  Builder(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t max_scalars, int threads,
          std::int32_t small)
      : f_(filled),
        max_items_(std::min<std::int64_t>(4 * filled.nnz() + 65536, no_word - 131072)),
        max_scalars_(max_scalars),
        threads_(threads),
        small_(small),
        place_(filled.n),
        batch_of_(filled.n) {
    out_.panels = close_runs(panels);
  }

  PanelTasks build() {
    const RelaxedSupernodes& s = out_.panels;
    words_.resize(s.size());
    rank_.assign(s.size(), 0);
    done_us_.assign(s.size(), 0);
    least_us_.assign(s.size(), 0);
    for (std::int32_t j = 0; j < s.size(); ++j) add_panel(j);
    sort_tasks();
    return std::move(out_);
  }

 private:
  struct Ready {
    double time_us;
    std::int32_t run;
    auto operator<=>(const Ready&) const = default;
  };
  struct Run {
    std::int32_t panel, at, width;  // at: place of its first row in the rows of J
    std::int32_t batch = 0;         // small ones of a batch are gathered together
  };

  void add_panel(std::int32_t j) {
    const RelaxedSupernodes& s = out_.panels;
    const auto rows = s.rows_of(j);
    const std::int32_t size = static_cast<std::int32_t>(rows.size()), width = s.width(j);
    const auto diag = static_cast<std::int32_t>(std::lower_bound(rows.begin(), rows.end(), s.first[j]) - rows.begin());
    below_.push_back(size - diag - width);
    diag_.push_back(diag);
    words_[j] = out_.words;
    out_.words += std::int64_t(size - diag) * width;

    runs_.clear();
    for (std::int32_t q = 0; q < diag;) {
      const std::int32_t k = s.of[rows[q]], end = s.first[k + 1] - rows[q];
      runs_.push_back({k, q, end});
      q += end;
      rank_[j] = std::max(rank_[j], rank_[k] + 1);
      least_us_[j] = std::max(least_us_[j], least_us_[k] + hop_us + panel_us);
    }
    cut(size, diag, width);
    const bool several = cuts_.size() > 2;
    const std::int64_t u_words = several ? out_.words : -1;
    if (several) out_.words += std::int64_t(diag + width) * stored_width(width, size, max_scalars_);
    for (std::int32_t i = diag + width; i < size; ++i) {
      const std::int32_t k = s.of[rows[i]];
      rank_[k] = std::max(rank_[k], rank_[j] + 1);
    }
    for (std::int32_t i = 0; i < size; ++i) place_[rows[i]] = i + 1;
    order_runs(rows, diag);
    share_runs(rows);
    for (std::size_t c = 0; c + 1 < cuts_.size(); ++c)
      add_task(j, cuts_[c], cuts_[c + 1], diag, u_words, runs_of_task_[c]);
    for (const std::int32_t row : rows) place_[row] = 0;
    least_us_[j] += finish_us;
    out_.chain_us = std::max(out_.chain_us, done_us_[j]);
    out_.least_us = std::max(out_.least_us, least_us_[j]);
  }

  /// Orders the runs: each after those that change its rows, and as early as its panel is finished by the estimates.
  /// Large panels come first; small ones are gathered together when no large one is ready.
  void order_runs(std::span<const std::int32_t> rows, std::int32_t diag) {
    const RelaxedSupernodes& s = out_.panels;
    const auto n_runs = static_cast<std::int32_t>(runs_.size());
    run_of_.resize(std::max<std::size_t>(run_of_.size(), diag));
    for (std::int32_t r = 0; r < n_runs; ++r) std::fill_n(run_of_.begin() + runs_[r].at, runs_[r].width, r);
    changes_.clear();
    change_ptr_ = {0};
    waits_for_.assign(n_runs, 0);
    is_small_.assign(n_runs, false);
    for (std::int32_t r = 0; r < n_runs; ++r) {
      const std::int32_t k = runs_[r].panel;
      const auto source = s.rows_of(k).subspan(diag_[k] + s.width(k));
      const auto end = std::upper_bound(source.begin(), source.end(), rows.back());
      is_small_[r] = (end - source.begin()) * runs_[r].width <= small_;
      std::int32_t last = -1;
      for (auto row = source.begin(); row != end; ++row) {
        const std::int32_t place = place_[*row] - 1;
        if (place < 0) continue;
        if (place >= diag) break;
        if (run_of_[place] == last) continue;
        last = run_of_[place];
        changes_.push_back(last);
        ++waits_for_[last];
      }
      change_ptr_.push_back(std::ssize(changes_));
    }
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> coming, panels;
    std::vector<std::int32_t> small;
    ordered_.clear();
    double time_us = 0;
    std::int32_t batch = 0;
    const auto add_if_ready = [&](std::int32_t r) {
      if (waits_for_[r] == 0) coming.push({done_us_[runs_[r].panel] + hop_us, r});
    };
    const auto emit = [&](std::int32_t r) {
      ordered_.push_back(runs_[r]);
      ordered_.back().batch = batch;
      for (std::int64_t q = change_ptr_[r]; q < change_ptr_[r + 1]; ++q) {
        --waits_for_[changes_[q]];
        add_if_ready(changes_[q]);
      }
    };
    for (std::int32_t r = 0; r < n_runs; ++r) add_if_ready(r);
    while (std::ssize(ordered_) < n_runs) {
      for (; !coming.empty() && coming.top().time_us <= time_us; coming.pop()) {
        if (is_small_[coming.top().run])
          small.push_back(coming.top().run);
        else
          panels.push(coming.top());
      }
      if (!panels.empty()) {
        const std::int32_t r = panels.top().run;
        panels.pop();
        time_us += panel_us;
        emit(r);
      } else if (!small.empty()) {
        ++batch;
        time_us += gather_us;
        for (const std::int32_t r : std::exchange(small, {})) emit(r);
      } else {
        time_us = coming.top().time_us;
      }
    }
    runs_.swap(ordered_);
  }

  /// Places where the tasks of the panel begin and end: one has rows before and after the diagonal block, so that a
  /// chain of panels goes through one task each.
  void cut(std::int32_t size, std::int32_t diag, std::int32_t width) {
    std::int32_t most = max_scalars_ / stored_width(width, size, max_scalars_);
    cuts_ = {0, size};
    if (size <= most) return;
    most -= borrowed_rows;
    const auto starts_run = [&](std::int32_t from) {  // first start of a run at or after `from`
      const auto run = std::lower_bound(runs_.begin(), runs_.end(), from,
                                        [](const Run& r, std::int32_t place) { return r.at < place; });
      return run == runs_.end() ? diag : run->at;
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
  void share_runs(std::span<const std::int32_t> rows) {
    const std::size_t tasks = cuts_.size() - 1;
    runs_of_task_.resize(std::max(runs_of_task_.size(), tasks));
    if (tasks == 1) {
      runs_of_task_[0].swap(runs_);
      return;
    }
    for (std::size_t c = 0; c < tasks; ++c) runs_of_task_[c].clear();
    const auto task_of_place = [&](std::int32_t place) {
      return static_cast<std::size_t>(std::upper_bound(cuts_.begin(), cuts_.end(), place) - cuts_.begin() - 1);
    };
    for (const Run& run : runs_) {
      std::size_t c = task_of_place(run.at);
      runs_of_task_[c].push_back(run);
      const auto source = out_.panels.rows_of(run.panel);
      for (auto row = source.begin() + diag_[run.panel] + out_.panels.width(run.panel);;) {
        row = std::lower_bound(row, source.end(), c + 1 < tasks ? rows[cuts_[c + 1]] : source.back() + 1);
        if (row == source.end()) break;
        const auto place = std::upper_bound(rows.begin(), rows.end(), *row) - rows.begin() - 1;
        c = task_of_place(static_cast<std::int32_t>(place));
        runs_of_task_[c].push_back(run);
      }
    }
  }

  void add_task(std::int32_t j, std::int32_t begin, std::int32_t end, std::int32_t diag, std::int64_t u_words,
                const std::vector<Run>& runs) {
    const RelaxedSupernodes& s = out_.panels;
    const auto rows = s.rows_of(j);
    const std::int32_t width = s.width(j), stored = stored_width(width, std::ssize(rows), max_scalars_);
    PanelTask t{};
    t.values = f_.col_ptr[s.first[j]];
    t.entry_begin = std::ssize(out_.entry_places);
    t.step_begin = std::ssize(out_.steps);
    t.words = words_[j];
    t.u_words = u_words;
    t.row_begin = s.row_ptr[j] + begin;
    t.first = s.first[j];
    t.width = width;
    t.stored_width = stored;
    t.rows = end - begin;
    t.stride = t.rows + (u_words < 0 ? 0 : borrowed_rows);
    t.ld = width + below_[j];
    t.diag_at = diag >= begin && diag < end ? diag - begin : -1;
    t.l_at = std::clamp(diag + width - begin, 0, end - begin);
    t.l_row = begin + t.l_at - diag;
    t.u_row = diag;
    batch_ = {};
    time_us_ = 0;
    for (std::int32_t i = begin; i < end; ++i) batch_of_[i] = 0;
    std::int32_t batch = 0;
    for (const Run& run : runs) {
      PanelStep u{};
      const auto source = s.rows_of(run.panel);
      const std::int32_t source_below = diag_[run.panel] + s.width(run.panel), skipped = s.width(run.panel) - run.width;
      const auto from = std::lower_bound(source.begin() + source_below, source.end(), rows[begin]);
      const auto to = std::upper_bound(from, source.end(), rows[end - 1]);
      const bool mine = run.at >= begin;
      if (!mine && from == to) continue;
      u.ld = s.width(run.panel) + below_[run.panel];
      u.triangle = words_[run.panel] + std::int64_t(skipped) * (u.ld + 1);
      u.rows = s.row_ptr[run.panel] + (from - source.begin());
      u.l = words_[run.panel] + std::int64_t(skipped) * u.ld + (from - source.begin()) - diag_[run.panel];
      u.u = u_words < 0 ? -1 : u_words + std::int64_t(run.at) * stored;
      u.map = out_.map_size;
      u.count = static_cast<std::int32_t>(to - from);
      u.at = mine ? run.at - begin : -1;
      u.width = run.width;
      if (run.batch != batch) close_batch();
      batch = run.batch;
      if (!out_.items_left_out && std::int64_t(u.count) * u.width <= small_) {
        add_small(t, u, std::span(from, to), begin);
        batch_.ready_us = std::max(batch_.ready_us, done_us_[run.panel]);
        continue;
      }
      close_batch();
      time_us_ = std::max(time_us_, done_us_[run.panel] + hop_us) + panel_us;
      u.map = out_.map_size;
      out_.map_size += u.count;
      out_.steps.push_back(Step::of(u));
    }
    close_batch();
    done_us_[j] = std::max(done_us_[j], time_us_ + finish_us);
    t.steps = static_cast<std::int32_t>(std::ssize(out_.steps) - t.step_begin);
    t.column_begin = begin == 0 && end == std::ssize(rows) ? -1 : std::ssize(out_.column_entries);
    for (std::int32_t e = 0; e < width; ++e) {
      const std::int32_t column = s.first[j] + e;
      auto p = std::lower_bound(f_.row_idx.begin() + f_.col_ptr[column], f_.row_idx.begin() + f_.col_ptr[column + 1],
                                rows[begin]) -
               f_.row_idx.begin();
      if (t.column_begin >= 0) out_.column_entries.push_back({static_cast<std::uint32_t>(p - t.values), entries_of(t)});
      for (std::int32_t row; p < f_.col_ptr[column + 1] && (row = place_[f_.row_idx[p]] - 1) < end; ++p)
        out_.entry_places.push_back(static_cast<std::uint16_t>(e * t.stride + row - begin));
    }
    t.entries = static_cast<std::int32_t>(entries_of(t));
    if (t.column_begin >= 0) out_.column_entries.push_back({0, entries_of(t)});
    out_.tasks.push_back(t);
  }

  std::uint32_t entries_of(const PanelTask& t) const {
    return static_cast<std::uint32_t>(std::ssize(out_.entry_places) - t.entry_begin);
  }

  struct Batch {
    std::int32_t number = 1, borrowed = 0;
    double ready_us = 0;  // when the last of its panels is finished
    std::vector<PanelSolve> solves;
    struct Item {
      std::int32_t place;
      GatherItem item;
    };
    std::vector<Item> items;
  };

  /// The panel of `u` joins the batch, or starts one if a panel of the batch updates its rows.
  void add_small(const PanelTask& t, const PanelStep& u, std::span<const std::int32_t> l_rows, std::int32_t begin) {
    const auto depends = [&] {
      if (u.at >= 0)
        for (std::int32_t i = 0; i < u.width; ++i)
          if (batch_of_[begin + u.at + i] == batch_.number) return true;
      if (batch_.items.size() + std::size_t(u.count) * u.width > 60000) return true;  // GatherRow counts to 65535
      return u.at < 0 && batch_.borrowed + u.width > t.stride - t.rows;
    };
    if (depends()) close_batch();
    const std::int32_t at = u.at >= 0 ? u.at : t.rows + batch_.borrowed;
    if (u.at < 0) batch_.borrowed += u.width;
    if (u.at < 0 || u.u >= 0 || u.width > 1)
      batch_.solves.push_back({u.at < 0 ? no_word : static_cast<std::uint32_t>(u.triangle),
                               u.u < 0 ? no_word : static_cast<std::uint32_t>(u.u), u.ld,
                               static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(u.width)});
    for (std::int32_t q = 0; q < u.count; ++q) {
      const std::int32_t place = place_[l_rows[q]] - 1;
      if (place < 0) continue;  // all products are zero
      batch_of_[place] = batch_.number;
      for (std::int32_t e = 0; e < u.width; ++e)
        batch_.items.push_back(
            {place - begin,
             {static_cast<std::uint32_t>(u.l + std::int64_t(e) * u.ld + q), static_cast<std::uint16_t>(at + e), 0}});
    }
  }

  void close_batch() {
    if (!batch_.items.empty() || !batch_.solves.empty()) {
      GatherStep step{};
      step.first_solve = std::ssize(out_.solves);
      step.solves = static_cast<std::int32_t>(batch_.solves.size());
      step.first_row = std::ssize(out_.gathers);
      out_.solves.insert(out_.solves.end(), batch_.solves.begin(), batch_.solves.end());
      std::stable_sort(batch_.items.begin(), batch_.items.end(),
                       [](const auto& a, const auto& b) { return a.place < b.place; });
      for (std::size_t i = 0, end; i < batch_.items.size(); i = end) {
        const std::int32_t place = batch_.items[i].place;
        for (end = i; end < batch_.items.size() && batch_.items[end].place == place;) ++end;
        out_.gathers.push_back({static_cast<std::uint32_t>(out_.items.size()), static_cast<std::uint16_t>(place),
                                static_cast<std::uint16_t>(end - i)});
        for (std::size_t q = i; q < end; ++q) out_.items.push_back(batch_.items[q].item);
      }
      const auto first = out_.gathers.begin() + step.first_row;
      std::stable_sort(first, out_.gathers.end(),
                       [](const GatherRow& a, const GatherRow& b) { return a.items > b.items; });
      step.rows = static_cast<std::int32_t>(out_.gathers.end() - first);
      step.lanes = best_lanes(std::span(first, out_.gathers.end()));
      out_.steps.push_back(Step::of(step));
      out_.items_left_out = std::ssize(out_.items) > max_items_;
      time_us_ = std::max(time_us_, batch_.ready_us + hop_us) + gather_us;
    }
    batch_.number += 1;
    batch_.borrowed = 0;
    batch_.ready_us = 0;
    batch_.solves.clear();
    batch_.items.clear();
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

  void sort_tasks() {
    const RelaxedSupernodes& s = out_.panels;
    const auto first_others = std::stable_partition(out_.tasks.begin(), out_.tasks.end(), is_leaf);
    out_.leaves = static_cast<std::int32_t>(first_others - out_.tasks.begin());
    std::stable_sort(first_others, out_.tasks.end(), [&](const PanelTask& a, const PanelTask& b) {
      return rank_[s.of[a.first]] < rank_[s.of[b.first]];
    });
  }

  const FilledPattern& f_;
  const std::int64_t max_items_;  // 8 bytes each: then they take less than three times what L and U do
  const std::int32_t max_scalars_;
  PanelTasks out_;
  std::vector<std::int64_t> words_;         // (panels) of L(:,J)
  std::vector<std::int32_t> below_, diag_;  // (panels) rows of L below the diagonal block; place of that block
  std::vector<std::int32_t> rank_;          // (panels) 1 + that of the panels K with U(K,J) != 0 or L(J,K) != 0
  const int threads_;
  const std::int32_t small_;
  std::vector<std::int32_t> place_;     // (n) 1 + place of the row in the current panel; 0: it has no such row
  std::vector<std::int32_t> batch_of_;  // (rows of the panel) the last batch that changes the row
  Batch batch_;
  std::vector<double> done_us_, least_us_;  // (panels) estimates
  double time_us_ = 0;                      // of the current task, so far
  std::vector<Run> runs_, ordered_;         // of the current panel
  std::vector<std::int32_t> run_of_;        // (U's rows of the panel) the run that has the row
  std::vector<std::int32_t> changes_;       // runs whose rows a run changes
  std::vector<std::int64_t> change_ptr_;    // (runs + 1) into changes_
  std::vector<std::int32_t> waits_for_;     // (runs) runs that change its rows and are not yet in order
  std::vector<bool> is_small_;              // (runs)
  std::vector<std::vector<Run>> runs_of_task_;
  std::vector<std::int32_t> cuts_;  // places where its tasks begin, and the end
};

}  // namespace

PanelTasks make_panel_tasks(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t max_scalars,
                            int threads, std::int32_t small) {
  return Builder(filled, panels, max_scalars, threads, small).build();
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
