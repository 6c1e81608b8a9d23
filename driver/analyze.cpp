#include "driver/analyze.h"

#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "model/panel_costs.h"
#include "model/panel_costs_cpu.h"
#include "preprocess/btf.h"
#include "preprocess/ordering.h"
#include "symbolic/analyze_with_plan.h"
#include "symbolic/fill.h"

namespace lulab {

namespace {

constexpr double small_multiply_adds = 1e6;  // so little that every order is cheap to try
constexpr double clearly_smaller = 0.99;     // a block with fewer of the columns
constexpr double metis_us_an_entry = 0.35;   // of A; eleven matrices of bench/results, within a factor of 2

/// An order, what it fills in, and what a GPU is predicted to take for that.
struct Candidate {
  Permutation vertices;
  std::string order;
  Result<FilledPattern> filled = FilledPattern();
  PanelCosts costs = {.multiply_adds = std::numeric_limits<double>::infinity(),
                      .predicted_us = std::numeric_limits<double>::infinity()};

  void keep_the_better(Candidate other) {
    if (other.filled.ok() && other.costs.predicted_us < costs.predicted_us) *this = std::move(other);
  }
};

void find_costs(Candidate& c) {
  if (c.filled.ok()) c.costs = panel_costs(*c.filled);
}

/// filled: the error of an order that cannot be made, too.
Candidate candidate(CscPatternView graph, Result<Permutation> vertices, std::string_view order) {
  Candidate c;
  c.order = order;
  if (!vertices.ok()) {
    c.filled = vertices.status();
    return c;
  }
  c.vertices = std::move(*vertices);
  c.filled = fill_permuted(graph, c.vertices, c.vertices);
  return c;
}

/// Runs a function beside its caller; at once, where the system grants no thread.
class Beside {
 public:
  explicit Beside(const std::function<void()>& work) {
    try {
      thread_ = std::jthread(work);
    } catch (const std::system_error&) {
      work();
    }
  }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::jthread thread_;  // waits, too
};

/// METIS runs beside the rest, alone: two at once would share its random numbers. Which order wins depends on no clock.
Candidate best_order(CscPatternView graph, const PreprocessOptions& options, double expected_steps) {
  const auto ordered = [&](PreprocessOptions how) {
    how.blocks = options.blocks;
    return candidate(graph, order_vertices(graph, how), order_name(how));
  };
  const auto pays = [&](double step_us) {  // to try others than AMD
    return step_us * expected_steps > metis_us_an_entry * static_cast<double>(graph.nnz());
  };
  Candidate metis;
  std::optional<Beside> beside;
  const auto start_metis = [&] {
    beside.emplace([&] {
      try {
        metis = ordered({.order = Order::metis});
        find_costs(metis);
      } catch (const std::bad_alloc&) {
        metis = {};  // loses
      }
    });
  };
  if (pays(least_cpu_us(graph.n_cols, graph.nnz()))) start_metis();
  Candidate best = ordered({.order = Order::amd, .quick = !beside});  // kept where there is no memory for others
  try {
    if (!beside) {
      if (best.filled.ok() && !pays(cpu_costs(*best.filled, 1).predicted_us)) return best;
      start_metis();
    }
    find_costs(best);
    const bool small = best.costs.multiply_adds < small_multiply_adds;
    const auto components = options.blocks ? BlockTriangularForm() : strong_components(graph);
    // One big block and a few columns: up to 3 % slower than without blocks, and as expensive as METIS.
    const bool splits = !options.blocks && components.ok() && components->biggest() <= clearly_smaller * graph.n_cols;
    const auto inside_blocks = [&](Result<Permutation> (*order)(CscPatternView), std::string_view name) {
      Candidate c = candidate(graph, block_order(graph, *components, order), name);
      find_costs(c);
      return c;
    };
    Candidate btf_amd;
    if (splits && small) btf_amd = inside_blocks(amd_order, "btf+amd");
    beside->wait();
    best.keep_the_better(std::move(metis));
    if (!splits) return best;
    const bool metis_was_better = best.order == "metis";
    if (small || metis_was_better) best.keep_the_better(inside_blocks(metis_order, "btf+metis"));
    if (!small && !metis_was_better) btf_amd = inside_blocks(amd_order, "btf+amd");
    best.keep_the_better(std::move(btf_amd));
  } catch (const std::bad_alloc&) {
  }
  return best;
}

}  // namespace

Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options, double expected_steps) try {
  if (options.order != Order::automatic) {
    LULAB_ASSIGN_OR_RETURN(auto plan, preprocess(a, options));
    LULAB_ASSIGN_OR_RETURN(auto filled, fill_under(a, plan));
    return analyze_with_fill(a, std::move(plan), std::move(filled));
  }
  LULAB_ASSIGN_OR_RETURN(auto rows, match_rows(a, options));
  Candidate best = best_order(rows.graph(a), options, expected_steps);
  if (!best.filled.ok()) return best.filled.status();
  Plan plan = std::move(rows).plan(std::move(best.vertices), std::move(best.order));
  return analyze_with_fill(a, std::move(plan), std::move(*best.filled));
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to choose an order");
}

}  // namespace lulab
