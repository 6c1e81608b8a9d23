// The plan, run by a sequential program that does what its comments say: words must be there when they are read, and
// the factors those of dense elimination.

#include "sparse_syncfree/10_panel_tasks.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sparse_syncfree/10_panel_choice.h"
#include "testing/fixed_pivots.h"

namespace lulab::sparse_syncfree {
namespace {

using testing::analysis_for;
using testing::matrix_that_fills_to;

constexpr double not_there = std::numeric_limits<double>::quiet_NaN();
constexpr int threads = 128;

/// Factors by the plan, in the order of its tasks.
class Interpreter {
 public:
  Interpreter(const FilledPattern& f, const PanelTasks& plan, std::vector<double> values)
      : f_(f), plan_(plan), values_(std::move(values)), words_(plan.words, not_there) {}

  std::vector<double> run() {
    for (const PanelTask& t : plan_.tasks) run_task(t);
    return values_;
  }

 private:
  double& x(std::int32_t place, std::int32_t c) { return x_.at(std::size_t(c) * stride_ + place); }
  double word(std::int64_t at) {
    if (std::isnan(words_.at(at))) ADD_FAILURE() << "word " << at << " is read before it is written";
    return words_[at];
  }
  void write(std::int64_t at, double value) {
    if (!std::isnan(words_.at(at))) ADD_FAILURE() << "word " << at << " is written twice";
    words_[at] = value;
  }

  template <class Visit>
  void for_each_entry(const PanelTask& t, Visit&& visit) {
    std::int32_t column = 0;
    for (std::int32_t i = 0; i < t.entries; ++i) {
      std::int64_t p = t.values + i;
      if (t.column_begin >= 0) {
        const auto columns = std::span(plan_.column_entries).subspan(t.column_begin, t.width + 1);
        while (std::uint32_t(i) >= columns[column + 1].begin) ++column;
        p = t.values + columns[column].offset + (i - columns[column].begin);
      }
      const std::int32_t at = plan_.entry_places.at(t.entry_begin + i), c = at / t.stride, place = at % t.stride;
      EXPECT_EQ(plan_.panels.rows.at(t.row_begin + place), f_.row_idx.at(p));
      EXPECT_TRUE(f_.col_ptr[t.first + c] <= p && p < f_.col_ptr[t.first + c + 1]);
      visit(values_.at(p), c, place);
    }
  }

  void solve(std::int64_t triangle, std::int32_t ld, std::int32_t at, std::int32_t width, std::int64_t u,
             std::int32_t columns) {
    for (std::int32_t c = 0; c < columns; ++c)
      for (std::int32_t i = 0; i < width; ++i) {
        for (std::int32_t e = 0; e < i; ++e) x(at + i, c) -= word(triangle + std::int64_t(e) * ld + i) * x(at + e, c);
        if (u >= 0) write(u + i * columns + c, x(at + i, c));
      }
  }

  void run_task(const PanelTask& t) {
    stride_ = t.stride;
    x_.assign(std::size_t(t.stored_width) * t.stride, 0.0);
    for_each_entry(t, [&](double& value, std::int32_t c, std::int32_t place) { x(place, c) = value; });
    for (std::int64_t s = t.step_begin; s < t.step_begin + t.steps; ++s)
      plan_.steps.at(s).is_panel() ? run_panel(t, plan_.steps[s].panel()) : run_gather(t, plan_.steps[s].gather());
    eliminate(t);
    for_each_entry(t, [&](double& value, std::int32_t c, std::int32_t place) { value = x(place, c); });
  }

  void run_panel(const PanelTask& t, const PanelStep& s) {
    if (s.at >= 0) solve(s.triangle, s.ld, s.at, s.width, s.u, t.stored_width);
    const auto own = std::span(plan_.panels.rows).subspan(t.row_begin, t.rows);
    for (std::int32_t q = 0; q < s.count; ++q) {
      const auto place = std::ranges::lower_bound(own, plan_.panels.rows.at(s.rows + q)) - own.begin();
      const bool there = place < std::ssize(own) && own[place] == plan_.panels.rows[s.rows + q];
      for (std::int32_t e = 0; e < s.width; ++e)
        for (std::int32_t c = 0; c < t.stored_width; ++c) {
          const double u = s.at >= 0 ? x(s.at + e, c) : word(s.u + e * t.stored_width + c);
          const double product = word(s.l + std::int64_t(e) * s.ld + q) * u;
          if (there)
            x(static_cast<std::int32_t>(place), c) -= product;
          else
            EXPECT_EQ(product, 0.0);
        }
    }
  }

  void run_gather(const PanelTask& t, const GatherStep& step) {
    for (std::int64_t s = step.first_solve; s < step.first_solve + step.solves; ++s) {
      const PanelSolve& p = plan_.solves.at(s);
      const std::int64_t u = p.u == no_word ? -1 : std::int64_t(p.u);
      if (p.triangle != no_word)
        solve(p.triangle, p.ld, p.at, p.width, u, t.stored_width);
      else
        for (std::int32_t i = 0; i < p.width; ++i)
          for (std::int32_t c = 0; c < t.stored_width; ++c) x(p.at + i, c) = word(u + i * t.stored_width + c);
    }
    std::vector<bool> read(t.stride), written(t.stride);
    for (std::int64_t g = step.first_row; g < step.first_row + step.rows; ++g) {
      const GatherRow& row = plan_.gathers.at(g);
      EXPECT_FALSE(written.at(row.place)) << "two sums for one row";
      written[row.place] = true;
      for (std::int64_t i = row.first_item; i < std::int64_t(row.first_item) + row.items; ++i) {
        const GatherItem& item = plan_.items.at(i);
        read.at(item.u) = true;
        for (std::int32_t c = 0; c < t.stored_width; ++c) x(row.place, c) -= word(item.word) * x(item.u, c);
      }
    }
    for (std::int32_t i = 0; i < t.stride; ++i) EXPECT_FALSE(read[i] && written[i]) << "row " << i;
    EXPECT_TRUE(step.lanes >= 1 && step.lanes <= 32 && (step.lanes & (step.lanes - 1)) == 0);
  }

  void eliminate(const PanelTask& t) {
    std::vector<double> u(std::size_t(t.width) * t.stored_width);
    for (std::int32_t e = 0; e < t.width; ++e)
      for (std::int32_t c = 0; c < t.stored_width; ++c) {
        double& to = u[std::size_t(e) * t.stored_width + c];
        if (t.diag_at < 0) {
          to = t.l_at < t.rows ? word(t.u_words + std::int64_t(t.u_row + e) * t.stored_width + c) : 0;
          continue;
        }
        double& value = x(t.diag_at + e, c);
        for (std::int32_t k = 0; k < std::min(e, c); ++k)
          value -= x(t.diag_at + e, k) * u[std::size_t(k) * t.stored_width + c];
        if (c < e) {
          value /= u[std::size_t(c) * t.stored_width + c];
          write(t.words + std::int64_t(c) * t.ld + e, value);
        }
        to = value;
        if (t.u_words >= 0) write(t.u_words + std::int64_t(t.u_row + e) * t.stored_width + c, value);
      }
    for (std::int32_t row = t.l_at; row < t.rows; ++row)
      for (std::int32_t e = 0; e < t.width; ++e) {
        for (std::int32_t k = 0; k < e; ++k) x(row, e) -= x(row, k) * u[std::size_t(k) * t.stored_width + e];
        x(row, e) /= u[std::size_t(e) * t.stored_width + e];
        write(t.words + std::int64_t(e) * t.ld + t.l_row + row - t.l_at, x(row, e));
      }
  }

  const FilledPattern& f_;
  const PanelTasks& plan_;
  std::vector<double> values_, words_, x_;
  std::int32_t stride_ = 0;
};

struct Options {
  std::int32_t width, subtree;
  double padding;
  std::int32_t max_scalars, small;
};

const Options all_options[] = {{8, 8, 2, 6144, -1}, {8, 8, 2, 6144, 64},   {8, 8, 1e9, 1024, -1}, {8, 8, 1e9, 1024, 8},
                               {4, 1, 1, 1024, 16}, {1, 1, 1, 1024, 1000}, {3, 3, 1.5, 1024, 100}};

void expect_factors(const FilledPattern& pattern, const Options& o, std::uint64_t seed) {
  const CscMatrix<double> a = matrix_that_fills_to<double>(pattern, seed);
  const Analysis analysis = analysis_for(a.pattern());
  const FilledPattern& f = analysis.filled;
  std::vector<double> values(f.nnz(), 0.0);
  for (std::size_t k = 0; k < a.values.size(); ++k) values[analysis.a_to_filled[k]] = a.values[k];
  const PanelTasks plan =
      make_panel_tasks(f, find_relaxed_supernodes(f, {o.width, o.subtree, o.padding}), o.max_scalars, threads, o.small);
  if (plan.items_left_out) return;  // then there are no tasks
  const auto expected = testing::dense_factors(a, analysis);
  testing::expect_like(Interpreter(f, plan, values).run(), expected, std::max(f.n, 1));
  PanelTasks shuffled = plan;
  shuffle_tasks(shuffled, seed);
  testing::expect_like(Interpreter(f, shuffled, values).run(), expected, std::max(f.n, 1));
  for (const PanelTask& t : plan.tasks) ASSERT_LE(t.stride * t.stored_width, o.max_scalars);
  ASSERT_LE(plan.leaves, std::ssize(plan.tasks));
  for (std::int32_t t = 0; t < plan.leaves; ++t) {
    ASSERT_EQ(shuffled.tasks[t].steps, 0);
    ASSERT_LE(shuffled.tasks[t].stride * shuffled.tasks[t].stored_width, max_leaf_scalars);
  }
}

TEST(PanelTasks, DoTheEliminationInAnOrderThatNeverWaits) {
  auto patterns = testing::random_patterns(40);
  for (auto& p : testing::generated_patterns(60)) patterns.push_back(std::move(p));
  std::uint64_t seed = 0;
  for (const auto& [name, f, before] : patterns)
    for (const Options& o : all_options) {
      SCOPED_TRACE(name);
      expect_factors(f, o, ++seed);
      if (HasFatalFailure()) return;
    }
}

// Tasks of 1024 scalars, at most 128 rows of eight columns.
TEST(PanelTasks, LongPanelsAreCutIntoSeveralTasks) {
  for (const char* family : {"arrow_first", "arrow_last", "grid2d", "random"}) {
    SCOPED_TRACE(family);
    const auto a = generate(family, {.n = 180});
    ASSERT_TRUE(a.ok());
    const auto analysis = testing::analyze_ordered(*a, {.order = Order::natural});
    ASSERT_TRUE(analysis.ok());
    for (const Options& o : all_options) {
      expect_factors(analysis->filled, o, 7);
      if (HasFatalFailure()) return;
    }
  }
  const Analysis dense = analysis_for(testing::random_unsymmetric<double>(200, 1.0, 400, 1).pattern());
  for (const Options& o : all_options) expect_factors(dense.filled, o, 8);
  const PanelTasks plan =
      make_panel_tasks(dense.filled, find_relaxed_supernodes(dense.filled, {8, 8, 2}), 1024, threads, -1);
  EXPECT_GT(std::ssize(plan.tasks), plan.panels.size() * 2);
}

// One column of U with an entry for every other column: one step where they are gathered, one each where they are not.
TEST(PanelTasks, ManySmallPanelsAreOneStep) {
  const auto a = generate("arrow_last", {.n = 200});
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::natural});
  ASSERT_TRUE(analysis.ok());
  const auto steps_of_last = [&](std::int32_t small) {
    return make_panel_tasks(analysis->filled, find_relaxed_supernodes(analysis->filled, {1, 1, 1}), 6144, threads,
                            small)
        .tasks.back()
        .steps;
  };
  EXPECT_EQ(steps_of_last(-1), 199);
  EXPECT_EQ(steps_of_last(8), 1);
}

void expect_same_plans(const FilledPattern& f) {
  for (const Options& o : all_options) {
    const RelaxedSupernodes panels = find_relaxed_supernodes(f, {o.width, o.subtree, o.padding});
    const PanelTasks one = make_panel_tasks(f, panels, o.max_scalars, threads, o.small, 1);
    for (const int host_threads : {2, 3, 8})
      EXPECT_TRUE(make_panel_tasks(f, panels, o.max_scalars, threads, o.small, host_threads) == one)
          << host_threads << " threads, width " << o.width << ", " << o.max_scalars << " scalars, small " << o.small;
  }
}

TEST(PanelTasks, AreTheSameForAnyNumberOfHostThreads) {
  for (const char* family : {"arrow_first", "arrow_last", "grid2d", "random", "power_grid"}) {
    SCOPED_TRACE(family);
    const auto a = generate(family, {.n = 400});
    ASSERT_TRUE(a.ok());
    for (const Order order : {Order::natural, Order::amd}) {
      const auto analysis = testing::analyze_ordered(*a, {.order = order});
      ASSERT_TRUE(analysis.ok());
      expect_same_plans(analysis->filled);
    }
  }
  expect_same_plans(analysis_for(testing::random_unsymmetric<double>(200, 1.0, 400, 1).pattern()).filled);
  expect_same_plans({});
}

// A chain of many columns, every one of which gathers from all before it, has more products than L and U have entries.
TEST(PanelTasks, TooManyItemsLeaveNoTasksWithAnyNumberOfHostThreads) {
  const Analysis dense = analysis_for(testing::random_unsymmetric<double>(160, 1.0, 400, 1).pattern());
  const RelaxedSupernodes panels = find_relaxed_supernodes(dense.filled, {1, 1, 1});
  for (const int host_threads : {1, 2, 8}) {
    const PanelTasks plan = make_panel_tasks(dense.filled, panels, 6144, threads, 1000, host_threads);
    EXPECT_TRUE(plan.items_left_out);
    EXPECT_TRUE(plan.tasks.empty());
  }
  EXPECT_FALSE(make_panel_tasks(dense.filled, panels, 6144, threads, 1, 2).items_left_out);
}

// Beside what the factorization holds nothing of four times L and U is left.
TEST(PanelChoice, TakesTheMapOfRowsWhereAShareOfTheDeviceHasRoomForIt) {
  const Analysis analysis = analysis_for(testing::random_unsymmetric<double>(200, 0.05, 60, 2).pattern());
  const FilledPattern& f = analysis.filled;
  constexpr std::int64_t held = std::int64_t(1) << 30;
  const auto searches = [&](std::size_t device_bytes, double ratio) {
    const PanelUse use = {.scalar_bytes = 8,
                          .nnz = f.nnz(),
                          .systems = 0,
                          .factors_bytes = held,
                          .sm_count = 132,
                          .device_bytes = device_bytes,
                          .inject_delays = false};
    bool searching = false;
    const PanelOptions options = {.small = -1, .memory_ratio = ratio};
    const Status made = upload_fastest_plan(f, options, use, [&](const PanelTasks&, PanelKernel kernel) {
      searching = kernel.searching;
      return Status();
    });
    EXPECT_TRUE(made.ok()) << made.to_string();
    return searching;
  };
  EXPECT_TRUE(searches(64 * held, 4));
  EXPECT_FALSE(searches(64 * (held + (64 << 20)), 4));
  EXPECT_TRUE(searches(64 * (held + (64 << 20)), 3.9));
}

}  // namespace
}  // namespace lulab::sparse_syncfree
