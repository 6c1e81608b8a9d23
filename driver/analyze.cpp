#include "driver/analyze.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/in_parallel.h"
#include "core/kept_memory.h"
#include "core/simt/device.h"
#include "model/fill_costs.h"
#include "model/panel_costs.h"
#include "model/panel_costs_cpu.h"
#include "preprocess/btf.h"
#include "preprocess/dissection.h"
#include "preprocess/ordering.h"
#include "symbolic/analyze_with_plan.h"
#include "symbolic/fill.h"
#include "symbolic/fill_on_device.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab {

namespace {

constexpr double clearly_smaller = 0.99;  // a block with fewer of the columns
constexpr double small_block = 0.25;      // the biggest with no more of them
constexpr std::int32_t small_graph = 1000;
constexpr std::int32_t large_graph = 100'000;  // vertices: AMD takes longer than nested dissection by threads
// From so many steps on METIS's orders of meshes pay: found later than SCOTCH's, their steps take 6 to 10 % less.
constexpr double many_steps = 4000;
constexpr double few_steps = 4;      // fewer: what AMD takes for a small graph is more than it gains
constexpr double many_alone = 0.04;  // of the columns
// What another order than AMD's can gain, and what it costs to try one, fill included: model/NOTES.md.
constexpr double gain = 0.5, try_us_an_entry = 0.35;
// How long a program waits for that, in threads side by side: fitted to first_run.json and first_run_at_once.json in
// bench/results/nvidia-h200.
constexpr double wait_us_an_entry = 0.1;
constexpr std::int64_t entries_a_thread = 500'000;  // of L+U: half a millisecond

Status no_memory_for_order() {
  return Status::error(StatusCode::out_of_memory, "not enough host memory to choose an order");
}

/// What can be done without, where there is no memory for it.
template <class Work>
void where_memory_allows(const Work& work) try {
  work();
} catch (const std::bad_alloc&) {
}

/// An order, what it fills in, and what a GPU is predicted to take for that.
struct Candidate {
  Permutation vertices;
  std::string order;
  Result<FilledPattern> filled = no_memory_for_order();  // until it is made
  std::optional<FillOnDevice> on_device = {};            // made there, and fronts may be
  std::shared_ptr<const RelaxedSupernodes> supernodes = nullptr;
  KnownCosts costs = {};
  double put_off_us = 0;

  void take_supernodes(RelaxedSupernodes found) {
    supernodes = std::make_shared<const RelaxedSupernodes>(std::move(found));
  }
  double predicted_us() const { return costs.gpu ? costs.gpu->predicted_us : std::numeric_limits<double>::infinity(); }
  void keep_the_better(Candidate other) {
    if (other.filled.ok() && other.predicted_us() < predicted_us()) *this = std::move(other);
  }
};

/// Where there is no memory for them, a rung that asks for them finds them again.
void take_supernodes_from_device(Candidate& c) {
  if (auto panels = c.on_device->supernodes(); panels.ok())
    where_memory_allows([&] { c.take_supernodes(std::move(*panels)); });
}

/// Where there are none, the candidate loses.
void find_costs(Candidate& c) {
  if (!c.filled.ok() || c.costs.gpu) return;
  const auto find = [&](bool on_cpu) {
    if (on_cpu)
      c.costs.cpu = cpu_costs(*c.filled, 1);
    else {
      c.take_supernodes(find_relaxed_supernodes(*c.filled, {}));
      c.costs.gpu = panel_costs(count_updates(*c.supernodes));
    }
  };
  where_memory_allows([&] {
    if (threads_for(c.filled->nnz(), entries_a_thread, 2) == 2)
      in_parallel(2, find);
    else
      find(false);  // those on the CPU are found once the order is chosen
  });
}

constexpr std::int64_t mesh_fill = 10;  // nnz(L+U) / nnz(A) of a mesh; a matrix that a GPU is started for is like one

bool fills_on_gpu(CscPatternView graph, FillOn place) {
  if (place == FillOn::host) return false;
  const bool starts = place == FillOn::large_on_gpu;
  const FillCosts costs = fill_costs(graph.nnz(), (starts ? mesh_fill : 1) * graph.nnz(), true);
  return costs.depth_bitmaps_us + (starts ? start_gpu_us : 0) < costs.gilbert_peierls_us;
}

/// What is to factor: by_costs has panels or fronts, as the GPU's rung for all steps wants them; multifrontal has
/// fronts, found on the GPU.
enum class GpuRung { by_costs, multifrontal };

/// The pattern comes to the host while panels are found on the device; where fronts will be they stay there. AMD's
/// vertices get the order in which fronts can be found there, too; blocks would be torn by it, and the others' have it
/// or were asked for.
Status fill_on_device(Candidate& c, CscPatternView graph, GpuRung rung) {
  LULAB_ASSIGN_OR_RETURN(const int device, simt::current_device());
  const auto order = c.order == "amd" ? ColumnOrder::in_postorder : ColumnOrder::as_given;
  LULAB_ASSIGN_OR_RETURN(c.on_device, FillOnDevice::create(graph, c.vertices, c.vertices, order));
  if (const Permutation& from = c.on_device->postorder(); !from.empty()) {
    Permutation vertices(from.size());
    std::ranges::transform(from, vertices.begin(), [&](std::int32_t k) { return c.vertices[k]; });
    c.vertices = std::move(vertices);
  }
  bool wants_fronts = rung == GpuRung::multifrontal;
  in_parallel(2, [&](int part) {
    if (part == 1) {  // this thread
      if (c.on_device->find_panels().ok())
        if (const auto updates = c.on_device->count_updates(); updates.ok()) c.costs.gpu = panel_costs(*updates);
      wants_fronts = wants_fronts || prefers_fronts(c.on_device->nnz(), c.costs.gpu);
      if (c.costs.gpu && !wants_fronts) take_supernodes_from_device(c);
    } else {
      const Status used = simt::use_device(device);
      c.filled = used.ok() ? c.on_device->download() : used;
    }
  });
  if (!c.filled.ok() || !c.costs.gpu || !wants_fronts) c.on_device.reset();
  return c.filled.status();
}

void fill(Candidate& c, CscPatternView graph, FillOn place, GpuRung rung) {
  if ((rung == GpuRung::multifrontal || fills_on_gpu(graph, place)) && fill_on_device(c, graph, rung).ok()) return;
  c.filled = fill_permuted(graph, c.vertices, c.vertices);
}

/// filled: the error of an order that cannot be made, too.
Candidate candidate(CscPatternView graph, Result<Permutation> vertices, std::string_view order, FillOn place,
                    GpuRung rung = GpuRung::by_costs) {
  Candidate c;
  c.order = order;
  if (!vertices.ok()) {
    c.filled = vertices.status();
    return c;
  }
  c.vertices = std::move(*vertices);
  fill(c, graph, place, rung);
  return c;
}

using MakeCandidate = std::function<Candidate()>;

/// Where there is no memory for it, `result` stays as it is.
void make_with_costs(Candidate& result, const MakeCandidate& make) {
  where_memory_allows([&] {
    result = make();
    find_costs(result);
  });
}

/// Candidates that are made beside the caller, each in a thread, on its device; at once, where the system grants none.
class Beside {
 public:
  Beside(CscPatternView graph, FillOn fill_on) {
    if (fills_on_gpu(graph, fill_on)) device_ = simt::current_device();
  }
  void start(Candidate& result, MakeCandidate make) {
    const auto work = [&result, make = std::move(make)] { make_with_costs(result, make); };
    const auto on_device = [work, device = device_] {
      if (device.ok())
        (void)simt::use_device(*device);  // where it fails, fill on the device does, and the host is left
      work();
    };
    try {
      threads_.emplace_back(on_device);
    } catch (const std::system_error&) {
      work();
    }
  }
  void wait() { threads_.clear(); }

 private:
  Result<int> device_ = Status::error(StatusCode::device_error, "not asked");
  std::vector<std::jthread> threads_;  // wait, too
};

Result<Permutation> order_for_few_steps(CscPatternView graph) {
  constexpr std::int32_t small = 256, sparse = 8;  // vertices; entries of each
  return graph.n_cols <= small && graph.nnz() <= sparse * graph.n_cols ? degree_order(graph) : quick_amd_order(graph);
}

/// Which order wins depends on no clock.
class OrderChoice {
 public:
  OrderChoice(CscPatternView graph, const PreprocessOptions& options, const Purpose& purpose, FillOn fill_on)
      : graph_(graph),
        blocks_(options.blocks),
        expected_steps_(purpose.expected_steps),
        first_steps_(purpose.first_answer_first ? 1 : purpose.expected_steps),
        chooses_rung_(purpose.chooses_rung),
        fill_on_(fill_on) {}

  Candidate best() {
    const bool fills = first_steps_ < few_steps && seems_to_fill();
    std::optional<Candidate> tried = on_gpu_by_amd(fills);
    if (tried && tried->filled.ok() && tried->costs.gpu && !pays(tried->predicted_us(), first_steps_)) {
      if (pays(tried->predicted_us(), expected_steps_))
        tried->put_off_us = try_us_an_entry * static_cast<double>(graph_.nnz());
      return std::move(*tried);
    }
    if (fills || pays(least_cpu_us(graph_.n_cols, graph_.nnz()), first_steps_))
      return best_of_all([&] { return tried ? std::move(*tried) : amd_of_many(); });
    Candidate amd = tried ? std::move(*tried) : quick();
    if (amd.filled.ok()) {
      amd.costs.cpu = cpu_costs(*amd.filled, 1);
      const double step_us = amd.costs.cpu->predicted_us;
      if (!pays(step_us, first_steps_)) {
        if (pays(step_us, expected_steps_)) amd.put_off_us = wait_us_an_entry * static_cast<double>(graph_.nnz());
        return amd;
      }
    }
    return best_of_all([&] { return std::move(amd); });
  }

 private:
  /// To try others than AMD.
  bool pays(double step_us, double steps) const {
    return gain * step_us * steps > try_us_an_entry * static_cast<double>(graph_.nnz());
  }
  /// As much that one step pays to try others: dense graphs, and meshes, where few columns are short; of very large
  /// ones all but wires are taken for such. Filling them in by AMD's order first would hold up the answer.
  bool seems_to_fill() const {
    constexpr std::int32_t least = 4000, least_of_meshes = 20'000, dense = 10;
    const std::int32_t n = graph_.n_cols;
    if (n >= least && graph_.nnz() >= std::int64_t{dense} * n) return true;
    if (n < least_of_meshes) return false;
    constexpr double least_mean = 4.5, short_column = 0.75, few = 0.05;  // wires have 3; of the mean; of the columns
    const double mean = static_cast<double>(graph_.nnz()) / n;
    if (mean < least_mean) return false;
    if (n >= large_graph) return true;
    std::int32_t are_short = 0;
    for (std::int32_t j = 0; j < n; ++j)
      are_short += static_cast<double>(graph_.col_ptr[j + 1] - graph_.col_ptr[j]) < short_column * mean;
    return are_short <= few * n;
  }
  Candidate ordered(Order order) const {
    const PreprocessOptions how = {.order = order, .blocks = blocks_};
    return candidate(graph_, order_vertices(graph_, how), order_name(how), fill_on_);
  }

  /// To leave long rows to the end changes the order of small graphs alone: of 89 matrices, of two with 135 rows or
  /// less.
  Candidate amd_of_many() const {
    if (blocks_ || graph_.n_cols <= small_graph) return ordered(Order::amd);
    return candidate(graph_, known_or(quick_amd_order), "amd", fill_on_);
  }

  /// Where a GPU may be the shortest way to a first answer. There a step is short, so that no order but AMD's pays; of
  /// large graphs nested dissection is found sooner, and inside small blocks AMD.
  std::optional<Candidate> on_gpu_by_amd(bool fills) {
    if (first_steps_ > 1 || !chooses_rung_ || fill_on_ == FillOn::host || blocks_ || graph_.n_cols <= small_graph ||
        graph_.n_cols >= large_graph || (!fills && may_have_small_blocks()))
      return std::nullopt;
    FillEstimate estimate;
    auto vertices = grouped_amd_order(graph_, estimate);
    if (!vertices.ok()) return std::nullopt;
    if (gpu_may_answer_first(estimate) && simt::device_properties().ok())
      return candidate(graph_, std::move(vertices), "amd", fill_on_, GpuRung::multifrontal);
    amd_ = std::move(*vertices);
    return std::nullopt;
  }
  Result<Permutation> known_or(Result<Permutation> (*order)(CscPatternView)) const {
    return amd_.empty() ? order(graph_) : Result<Permutation>(amd_);
  }

  /// AMD; inside the strongly connected blocks where they are small, which takes half the time.
  Candidate quick() const {
    const auto order = first_steps_ < few_steps ? order_for_few_steps : quick_amd_order;
    if (blocks_ || may_have_small_blocks()) {
      const auto components = strong_components(graph_);
      if (components.ok() && (blocks_ || components->biggest() <= small_block * graph_.n_cols))
        return candidate(graph_, block_order(graph_, *components, order), "btf+amd", FillOn::host);
    }
    return candidate(graph_, known_or(order), "amd", FillOn::host);
  }
  /// Each column with its diagonal entry alone is a block. Where these are few, finding the others seldom pays.
  bool may_have_small_blocks() const {
    std::int32_t alone = 0;
    for (std::int32_t j = 0; j < graph_.n_cols; ++j) alone += graph_.col_ptr[j + 1] - graph_.col_ptr[j] == 1;
    return alone > many_alone * graph_.n_cols;
  }

  /// Nested dissection, which takes longest, stays in this thread: to a new one all its memory is new, too. Of large
  /// meshes it has always won: preprocess/NOTES.md.
  Candidate best_of_all(const MakeCandidate& make_amd) {
    Candidate amd, nd, btf_amd, btf_nd;
    const bool for_many = expected_steps_ >= many_steps;
    std::optional<NestedDissection> dissection;
    if (!blocks_ && graph_.n_cols >= (for_many ? least_for_scotch : large_graph))
      where_memory_allows([&] {
        if (auto prepared = NestedDissection::prepare(graph_); prepared.ok()) dissection = std::move(*prepared);
      });
    const bool is_mesh = dissection && dissection->cuts_the_whole();
    const bool amd_may_win = !is_mesh || graph_.n_cols < large_graph;
    Beside beside(graph_, fill_on_);
    if (amd_may_win) beside.start(amd, make_amd);
    if (!blocks_) beside.start(btf_amd, [&] { return inside_blocks(btf_nd); });
    make_with_costs(nd, [&] {
      if (!dissection) return ordered(Order::nd);
      if (is_mesh && for_many)
        if (Candidate by_metis = ordered(Order::metis); by_metis.filled.ok()) return by_metis;
      return candidate(graph_, dissection->order(), order_name({.order = Order::nd}), fill_on_);
    });
    beside.wait();
    if (!amd_may_win && !nd.filled.ok()) make_with_costs(amd, make_amd);
    Candidate best = std::move(amd);
    for (Candidate* other : {&nd, &btf_nd, &btf_amd}) best.keep_the_better(std::move(*other));
    return best;
  }

  /// AMD inside the strongly connected blocks, and beside it nested dissection; nothing where blocks do not help.
  Candidate inside_blocks(Candidate& nd) {
    const auto components = strong_components(graph_);
    // One big block and a few columns: up to 3 % slower than without blocks.
    if (!components.ok() || components->biggest() > clearly_smaller * graph_.n_cols) return {};
    const auto inside = [&](Result<Permutation> (*order)(CscPatternView), std::string_view name) {
      return candidate(graph_, block_order(graph_, *components, order), name, fill_on_);
    };
    Beside beside(graph_, fill_on_);
    beside.start(nd, [&] { return inside(nd_order, "btf+nd"); });
    return inside(amd_order, "btf+amd");
  }

  CscPatternView graph_;
  bool blocks_;
  double expected_steps_, first_steps_;
  bool chooses_rung_;
  FillOn fill_on_;
  Permutation amd_;  // AMD's order, once it was asked for
};

/// Of A in the order chosen. Costs on the CPU and fronts are found beside.
Result<CostedAnalysis> analyze_chosen(const CscView<double>& a, MatchedRows rows, Candidate chosen) {
  if (!chosen.filled.ok()) return chosen.filled.status();
  Plan plan = std::move(rows).plan(std::move(chosen.vertices), std::move(chosen.order));
  std::shared_ptr<const Fronts> fronts;
  std::vector<WorkOnFill> beside;
  chosen.costs.fronts = chosen.on_device.has_value();
  if (!chosen.costs.cpu && chosen.costs.gpu && threads_for(chosen.filled->nnz(), entries_a_thread, 2) == 2 &&
      !gpu_plainly_wins(chosen.filled->nnz(), chosen.costs))
    beside.push_back(
        [&](const FilledPattern& filled) { where_memory_allows([&] { chosen.costs.cpu = cpu_costs(filled, 1); }); });
  if (chosen.on_device)
    beside.push_back([&, device = simt::current_device()](const FilledPattern&) {
      if (!device.ok() || !simt::use_device(*device).ok()) return;
      if (auto found = chosen.on_device->fronts(); found.ok())
        where_memory_allows([&] { fronts = std::make_shared<const Fronts>(std::move(*found)); });
      else
        take_supernodes_from_device(chosen);  // for a rung without fronts
    });
  LULAB_ASSIGN_OR_RETURN(auto analysis, analyze_with_fill(a, std::move(plan), std::move(*chosen.filled), beside));
  analysis.supernodes = std::move(chosen.supernodes);
  chosen.costs.fronts = fronts != nullptr;
  analysis.fronts = std::move(fronts);
  return CostedAnalysis{std::move(analysis), chosen.costs, chosen.put_off_us};
}

}  // namespace

Result<CostedAnalysis> analyze_matched(const CscView<double>& a, MatchedRows rows, const PreprocessOptions& options,
                                       const Purpose& purpose, FillOn fill_on) try {
  keep_freed_memory(first_answer_bytes * (a.nnz() + a.n_cols));
  const CscPatternView graph = rows.graph(a);
  Candidate chosen = options.order == Order::automatic
                         ? OrderChoice(graph, options, purpose, fill_on).best()
                         : candidate(graph, order_vertices(graph, options), order_name(options), fill_on);
  return analyze_chosen(a, std::move(rows), std::move(chosen));
} catch (const std::bad_alloc&) {
  return no_memory_for_order();
}

Result<CostedAnalysis> analyze_in_order(const CscView<double>& a, MatchedRows rows, const KnownOrder& known,
                                        FillOn fill_on) try {
  const GpuRung rung = known.by_fronts ? GpuRung::multifrontal : GpuRung::by_costs;
  Candidate chosen = candidate(rows.graph(a), known.vertices, known.order, fill_on, rung);
  if (known.costs_on_gpu)
    find_costs(chosen);
  else if (chosen.filled.ok())
    chosen.costs.cpu = cpu_costs(*chosen.filled, 1);
  return analyze_chosen(a, std::move(rows), std::move(chosen));
} catch (const std::bad_alloc&) {
  return no_memory_for_order();
}

Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options, double expected_steps) {
  LULAB_ASSIGN_OR_RETURN(auto rows, match_rows(a, options));
  LULAB_ASSIGN_OR_RETURN(auto chosen, analyze_matched(a, std::move(rows), options, {expected_steps}));
  return std::move(chosen.analysis);
}

}  // namespace lulab
