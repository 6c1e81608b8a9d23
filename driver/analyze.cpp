#include "driver/analyze.h"

#include <functional>
#include <limits>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "model/panel_costs.h"
#include "model/panel_costs_cpu.h"
#include "preprocess/btf.h"
#include "preprocess/ordering.h"
#include "symbolic/analyze_with_plan.h"
#include "symbolic/fill.h"

namespace lulab {

namespace {

constexpr double clearly_smaller = 0.99;  // a block with fewer of the columns
// What another order than AMD's can gain, and what it costs to try one, fill included: model/NOTES.md.
constexpr double gain = 0.5, try_us_an_entry = 0.35;

/// An order, what it fills in, and what a GPU is predicted to take for that.
struct Candidate {
  Permutation vertices;
  std::string order;
  Result<FilledPattern> filled = FilledPattern();
  std::optional<PanelCosts> costs = {};

  double predicted_us() const { return costs ? costs->predicted_us : std::numeric_limits<double>::infinity(); }
  void keep_the_better(Candidate other) {
    if (other.filled.ok() && other.predicted_us() < predicted_us()) *this = std::move(other);
  }
};

/// Where there is no memory for them there are none: the candidate loses.
void find_costs(Candidate& c) try {
  if (c.filled.ok()) c.costs = panel_costs(*c.filled);
} catch (const std::bad_alloc&) {
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

/// Candidates that are made beside the caller, each in a thread; at once, where the system grants none.
class Beside {
 public:
  /// make: () -> Candidate. What there is no memory for loses.
  void start(Candidate& result, std::function<Candidate()> make) {
    const auto work = [&result, make = std::move(make)] {
      try {
        result = make();
        find_costs(result);
      } catch (const std::bad_alloc&) {
        result = {};
      }
    };
    try {
      threads_.emplace_back(work);
    } catch (const std::system_error&) {
      work();
    }
    started_ = true;
  }
  bool started() const { return started_; }
  void wait() { threads_.clear(); }

 private:
  std::vector<std::jthread> threads_;  // wait, too
  bool started_ = false;
};

/// Which order wins depends on no clock.
Candidate best_order(CscPatternView graph, const PreprocessOptions& options, double expected_steps) {
  const auto ordered = [&](PreprocessOptions how) {
    how.blocks = options.blocks;
    return candidate(graph, order_vertices(graph, how), order_name(how));
  };
  const auto pays = [&](double step_us) {  // to try others than AMD
    return gain * step_us * expected_steps > try_us_an_entry * static_cast<double>(graph.nnz());
  };
  Result<BlockTriangularForm> components = BlockTriangularForm();
  const auto inside_blocks = [&](Result<Permutation> (*order)(CscPatternView), std::string_view name) {
    return candidate(graph, block_order(graph, *components, order), name);
  };
  Candidate nd, btf_amd, btf_nd;
  Beside beside;
  const auto start_others = [&] {
    try {
      beside.start(nd, [&] { return ordered({.order = Order::nd}); });
      if (options.blocks) return;
      components = strong_components(graph);
      // One big block and a few columns: up to 3 % slower than without blocks.
      if (!components.ok() || components->biggest() > clearly_smaller * graph.n_cols) return;
      beside.start(btf_amd, [&] { return inside_blocks(amd_order, "btf+amd"); });
      beside.start(btf_nd, [&] { return inside_blocks(nd_order, "btf+nd"); });
    } catch (const std::bad_alloc&) {  // then there are fewer
    }
  };
  if (pays(least_cpu_us(graph.n_cols, graph.nnz()))) start_others();
  Candidate best = ordered({.order = Order::amd, .quick = !beside.started()});
  if (!beside.started()) {
    if (best.filled.ok() && !pays(cpu_costs(*best.filled, 1).predicted_us)) return best;
    start_others();
  }
  find_costs(best);
  beside.wait();
  for (Candidate* other : {&nd, &btf_nd, &btf_amd}) best.keep_the_better(std::move(*other));
  return best;
}

}  // namespace

Result<CostedAnalysis> analyze_matched(const CscView<double>& a, MatchedRows rows, const PreprocessOptions& options,
                                       double expected_steps) try {
  const CscPatternView graph = rows.graph(a);
  Candidate chosen = options.order == Order::automatic
                         ? best_order(graph, options, expected_steps)
                         : candidate(graph, order_vertices(graph, options), order_name(options));
  if (!chosen.filled.ok()) return chosen.filled.status();
  Plan plan = std::move(rows).plan(std::move(chosen.vertices), std::move(chosen.order));
  LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_with_fill(a, std::move(plan), std::move(*chosen.filled)));
  return CostedAnalysis{std::move(analysis), chosen.costs};
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to choose an order");
}

Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options, double expected_steps) {
  LULAB_ASSIGN_OR_RETURN(auto rows, match_rows(a, options));
  LULAB_ASSIGN_OR_RETURN(auto chosen, analyze_matched(a, std::move(rows), options, expected_steps));
  return std::move(chosen.analysis);
}

}  // namespace lulab
