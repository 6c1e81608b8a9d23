#include "preprocess/dissection.h"

#include <atomic>
#include <cstdio>
#include <limits>
#include <mutex>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <metis.h>
#if __has_include(<scotch/scotch.h>)
#include <scotch/scotch.h>
#else
#include <scotch.h>
#endif

namespace lulab {

namespace {

constexpr std::int32_t few_vertices = 20'000;  // which eight threads cut no faster than four

/// Parts of 200 vertices, and those ten cuts deep, are ordered by minimum fill: cutting the parts of large
/// graphs further takes half as long again, and fills in hardly less. SCOTCH's own strategies give 15 % more fill. Its
/// minimum degree (d instead of f) gives 1 % less, but fails on vertices with weights.
constexpr const char* scotch_strategy =
    "n{sep=/((vert>200)&(levl<10))?m{rat=0.7,vert=100,low=h{pass=10},"
    "asc=b{width=3,bnd=f{bal=0.4},org=(|h{pass=10})f{bal=0.4}}};,"
    "ole=f{cmin=0,cmax=100000,frat=0.0},ose=g}";

template <class Index>
Status check_edges(const CscPattern& graph, std::string_view library) {
  constexpr auto limit = std::numeric_limits<Index>::max();
  if (graph.nnz() <= limit) return {};
  return Status::error(StatusCode::invalid_argument,
                       fmt::format("the graph of A + A' has more than {} edges, the limit of this {}; use the order "
                                   "amd or a {} built with 64-bit indices",
                                   limit, library, library));
}

/// An object of SCOTCH.
template <class Object, int (*initialize)(Object*), void (*release)(Object*)>
class Owned {
 public:
  Owned() : failed_(initialize(&object_) != 0) {}
  ~Owned() {
    if (!failed_) release(&object_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  bool failed() const { return failed_; }
  Object* get() { return &object_; }

 private:
  Object object_;
  bool failed_;
};

/// If not, q is the order, and `place` its inverse.
bool scotch_fails(std::int32_t n, const std::vector<SCOTCH_Num>& first, const std::vector<SCOTCH_Num>& neighbours,
                  const SCOTCH_Num* weights, std::vector<SCOTCH_Num>& place, std::vector<SCOTCH_Num>& q) {
  Owned<SCOTCH_Context, SCOTCH_contextInit, SCOTCH_contextExit> context;
  Owned<SCOTCH_Graph, SCOTCH_graphInit, SCOTCH_graphExit> graph, in_context;
  Owned<SCOTCH_Strat, SCOTCH_stratInit, SCOTCH_stratExit> strategy;
  if (context.failed() || graph.failed() || in_context.failed() || strategy.failed()) return true;
  static std::mutex one_at_a_time;
  {
    const std::lock_guard lock(one_at_a_time);  // RACE: the parser of strategies keeps its state in the process
    if (SCOTCH_stratGraphOrder(strategy.get(), scotch_strategy) != 0) return true;
  }
  // Random numbers of its own: those of the process would depend on who else draws from them.
  if (SCOTCH_contextRandomClone(context.get()) != 0) return true;
  SCOTCH_contextRandomSeed(context.get(), 1);
  // Threads are bound to processors, by default to the first: those of another call get the next ones.
  static std::atomic<unsigned> next_processor = 0;  // RACE: calls only count here
  std::vector<int> processors(n < few_vertices ? 4 : 8);
  std::iota(processors.begin(), processors.end(),
            static_cast<int>(next_processor.fetch_add(static_cast<unsigned>(processors.size())) % 4096));
  return SCOTCH_contextOptionSetNum(context.get(), SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
         SCOTCH_contextThreadSpawn(context.get(), static_cast<int>(processors.size()), processors.data()) != 0 ||
         SCOTCH_graphBuild(graph.get(), 0, n, first.data(), nullptr, weights, nullptr,
                           static_cast<SCOTCH_Num>(neighbours.size()), neighbours.data(), nullptr) != 0 ||
         SCOTCH_contextBindGraph(context.get(), graph.get(), in_context.get()) != 0 ||
         SCOTCH_graphOrder(in_context.get(), strategy.get(), place.data(), q.data(), nullptr, nullptr, nullptr) != 0;
}

}  // namespace

Result<Permutation> dissect_by_metis(const CscPattern& graph, std::span<const std::int32_t> weights) {
  if (graph.nnz() == 0) return identity_permutation(graph.n_cols);  // METIS needs at least one edge
  LULAB_RETURN_IF_ERROR(check_edges<idx_t>(graph, "METIS"));
  std::vector<idx_t> first(graph.col_ptr.begin(), graph.col_ptr.end()),
      neighbours(graph.row_idx.begin(), graph.row_idx.end()), own_weights(weights.begin(), weights.end());
  idx_t n = graph.n_cols;
  idx_t options[METIS_NOPTIONS];
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 4321;
  std::vector<idx_t> q(n), inverse_of_q(n);
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);  // RACE: METIS draws from the process-wide rand(); alone it is repeatable
  const int status = METIS_NodeND(&n, first.data(), neighbours.data(), weights.empty() ? nullptr : own_weights.data(),
                                  options, q.data(), inverse_of_q.data());
  if (status == METIS_ERROR_MEMORY) return Status::error(StatusCode::out_of_memory, "METIS ran out of memory");
  if (status != METIS_OK) return Status::error(StatusCode::invalid_argument, "METIS rejected the matrix");
  return Permutation(q.begin(), q.end());
}

std::string scotch_version() { return fmt::format("{}.{}.{}", SCOTCH_VERSION, SCOTCH_RELEASE, SCOTCH_PATCHLEVEL); }

Result<Permutation> dissect_by_scotch(const CscPattern& graph, std::span<const std::int32_t> weights) {
  if (graph.nnz() == 0) return identity_permutation(graph.n_cols);
  LULAB_RETURN_IF_ERROR(check_edges<SCOTCH_Num>(graph, "SCOTCH"));
  const std::vector<SCOTCH_Num> first(graph.col_ptr.begin(), graph.col_ptr.end()),
      neighbours(graph.row_idx.begin(), graph.row_idx.end()), own_weights(weights.begin(), weights.end());
  std::vector<SCOTCH_Num> place(graph.n_cols), q(graph.n_cols);
  if (scotch_fails(graph.n_cols, first, neighbours, weights.empty() ? nullptr : own_weights.data(), place, q))
    return Status::error(StatusCode::out_of_memory, "SCOTCH failed: memory is short, or threads are");
  Permutation order(q.begin(), q.end());
  if (!is_permutation(order)) return Status::error(StatusCode::invalid_argument, "SCOTCH gave no order of the graph");
  return order;
}

Result<Permutation> dissect(const CscPattern& graph, std::span<const std::int32_t> weights) {
  if (graph.n_cols >= least_for_scotch)
    if (auto q = dissect_by_scotch(graph, weights); q.ok()) return q;
  return dissect_by_metis(graph, weights);
}

}  // namespace lulab
