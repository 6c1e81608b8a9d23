#include "sparse_syncfree/10_panel_tasks.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include "core/in_parallel.h"
#include "sparse_syncfree/10_panel_builder.h"

namespace lulab::sparse_syncfree {
namespace {

constexpr std::int64_t entries_per_thread = 50000;  // of L+U: about 2 ms
constexpr int max_threads = 16, shares_per_thread = 64, max_taken = 64;

bool is_leaf(const PanelTask& t) {
  return t.steps == 0 && t.column_begin < 0 && t.stride * t.stored_width <= max_leaf_scalars;
}

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
    const auto n = static_cast<std::int32_t>(panels.size());
    if (host_threads == 1) {
      std::iota(panels.begin(), panels.end(), 0);
      ptr.push_back(n);
      return;
    }
    std::vector<std::int32_t> next(n + 1, 0);  // (ranks + 1) where the next panel of each goes
    for (const std::int32_t rank : l.rank) ++next[rank + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    for (std::int32_t j = 0; j < n; ++j) panels[next[l.rank[j]]++] = j;
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
  const std::function<void()> resize[] = {
      [&] { plan.tasks.resize(all.tasks), plan.solves.resize(all.solves); }, [&] { plan.steps.resize(all.steps); },
      [&] { plan.gathers.resize(all.gathers); }, [&] { plan.items.resize(all.items); },
      [&] { plan.column_entries.resize(all.columns); }};
  in_parallel(std::size(resize), [&](int k) { resize[k](); });  // fresh memory is slow
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

/// Two or three win little, and where their cores are busy with something else they wait for each other.
int plan_threads(std::int64_t nnz) {
  const int threads = threads_for(nnz, entries_per_thread, max_threads);
  return threads < 4 ? 1 : threads;
}

PanelTasks make_panel_tasks(const FilledPattern& filled, const RelaxedSupernodes& panels, std::int32_t max_scalars,
                            int threads, std::int32_t small, int host_threads) {
  const int count = host_threads > 0 ? host_threads : plan_threads(filled.nnz());
  PlanCommon common(filled, panels, max_scalars, threads, small, count);
  const Order order(common.layout, count);
  std::vector<Made> made(count == 1 ? 0 : order.panels.size());
  std::vector<PanelTasks> parts(count);
  std::atomic<std::size_t> taken = 0;
  in_parallel(count, [&](int p) {
    try {
      TaskBuilder builder(common);
      // RACE: each group of panels has one thread; what that writes is read once all have ended, times by wait_for()
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
