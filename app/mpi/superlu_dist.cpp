#include "app/mpi/superlu_dist.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <superlu_ddefs.h>

#include "core/timing.h"

namespace lulab::app {
namespace {

OnFatal& on_fatal_of_this_run() {
  static OnFatal on_fatal;
  return on_fatal;
}

/// What rank 0 asks of the others.
enum class Request : char { factor, refactor, solve, memory, end };

/// OpenMP's own default is a thread a core on every rank: more threads than cores take a hundred times as long. Does
/// nothing where the library was built without OpenMP.
void set_threads(int threads) {
  if (threads == 0 && std::getenv("OMP_NUM_THREADS") != nullptr) return;
  using Set = void (*)(int);
  if (const auto set = reinterpret_cast<Set>(::dlsym(RTLD_DEFAULT, "omp_set_num_threads"))) set(std::max(threads, 1));
}

/// What SuperLU_DIST keeps of one pattern.
struct Factored {
  explicit Factored(int_t n, gridinfo_t& of) : size(n), grid(of) {
    set_default_options_dist(&options);
    options.Equil = NO;  // B is scaled and its rows are permuted
    options.RowPerm = NOROWPERM;
    options.ColPerm = NATURAL;
    options.IterRefine = NOREFINE;
    options.ReplaceTinyPivot = NO;
    options.PrintStat = NO;
    dScalePermstructInit(n, n, &permutations);
    dLUstructInit(n, &lu);
  }
  ~Factored() {
    if (options.SolveInitialized == YES) dSolveFinalize(&options, &solves);
    if (is_filled) dDestroy_LU(size, &grid, &lu);  // reads what pdgssvx() makes
    dLUstructFree(&lu);
    dScalePermstructFree(&permutations);
  }
  Factored(const Factored&) = delete;
  Factored& operator=(const Factored&) = delete;

  int_t size;
  gridinfo_t& grid;
  bool is_filled = false;  // pdgssvx() has returned
  superlu_dist_options_t options{};
  dScalePermstruct_t permutations{};
  dLUstruct_t lu{};
  dSOLVEstruct_t solves{};
};

struct Statistic : SuperLUStat_t {
  Statistic() : SuperLUStat_t{} { PStatInit(this); }
  ~Statistic() { PStatFree(this); }
  Statistic(const Statistic&) = delete;
  Statistic& operator=(const Statistic&) = delete;
};

class SuperLuDist final : public DistributedLu {
 public:
  explicit SuperLuDist(Ranks& ranks) : ranks_(ranks) {
    int started = 0;
    MPI_Initialized(&started);
    starts_mpi_ = started == 0;
    if (starts_mpi_) MPI_Init(nullptr, nullptr);
    int started_ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &started_ranks);
    if (started_ranks != ranks.count())
      on_fatal_of_this_run()(
          Status::error(StatusCode::invalid_argument,
                        fmt::format("MPI has {} ranks, but the environment tells of {}: start the ranks by mpirun",
                                    started_ranks, ranks.count())));
    int rows = 1;  // of the grid: the largest divisor up to the root
    for (int k = 1; k * k <= ranks.count(); ++k)
      if (ranks.count() % k == 0) rows = k;
    superlu_gridinit(MPI_COMM_WORLD, rows, ranks.count() / rows, &grid_);
  }
  ~SuperLuDist() override {
    if (busy_) return;  // an exception ends this rank, and then the job
    if (ranks_.rank() == 0) ask(Request::end);
    factored_.reset();
    superlu_gridexit(&grid_);
    if (starts_mpi_) MPI_Finalize();
  }
  SuperLuDist(const SuperLuDist&) = delete;
  SuperLuDist& operator=(const SuperLuDist&) = delete;

  Result<Times> factor(const CscMatrix<double>& b) override {
    constexpr auto most = static_cast<std::int64_t>(std::numeric_limits<int_t>::max());
    if (b.nnz() > most)
      return Status::error(StatusCode::invalid_argument,
                           fmt::format("{} entries; this SuperLU_DIST counts to {}", b.nnz(), most));
    n_ = b.n_cols;
    return n_ > 0 ? asked(Request::factor, &b) : Times();
  }
  Result<Times> refactor(const CscMatrix<double>& b) override {
    return n_ > 0 ? asked(Request::refactor, &b) : Times();
  }

  void solve(std::span<double> x) override {
    if (x.empty()) return;
    ask(Request::solve);
    solve_together(x);
    busy_ = false;
  }

  DistributedMemory memory() override {
    if (n_ == 0) return {std::vector<std::int64_t>(ranks_.count()), std::vector<std::int64_t>(ranks_.count())};
    ask(Request::memory);
    DistributedMemory memory = memory_together();
    busy_ = false;
    return memory;
  }

  void serve() override {
    for (;;) {
      Request request = Request::end;
      busy_ = true;
      broadcast_values(ranks_, std::span(&request, 1), 0);
      switch (request) {
        case Request::factor:
        case Request::refactor: (void)factor_together(request, nullptr).ok(); break;
        case Request::solve: solve_together(std::vector<double>(n_)); break;
        case Request::memory: memory_together(); break;
        case Request::end: busy_ = false; return;
      }
    }
  }

 private:
  void ask(Request request) {
    busy_ = true;
    broadcast_values(ranks_, std::span(&request, 1), 0);
  }

  Result<Times> asked(Request request, const CscMatrix<double>* b) {
    ask(request);
    auto times = factor_together(request, b);
    busy_ = false;
    return times;
  }

  /// Row where the rows of a rank begin.
  std::int32_t first_of(int rank) const { return static_cast<std::int32_t>(std::int64_t{n_} * rank / ranks_.count()); }
  int own_rows() const { return first_of(ranks_.rank() + 1) - first_of(ranks_.rank()); }

  /// Each rank keeps its rows of what rank 0 has.
  void share(Request request, const CscMatrix<double>* b) {
    CsrMatrix<double> rows;
    if (b != nullptr) rows = to_csr(b->view());
    std::int64_t sizes[] = {rows.n_rows, rows.nnz()};
    broadcast_values(ranks_, sizes, 0);
    n_ = static_cast<std::int32_t>(sizes[0]);
    rows.row_ptr.resize(n_ + std::size_t{1});
    rows.values.resize(sizes[1]);
    broadcast_values(ranks_, rows.row_ptr, 0);
    broadcast_values(ranks_, rows.values, 0);
    const std::int64_t begin = rows.row_ptr[first_of(ranks_.rank())], end = rows.row_ptr[first_of(ranks_.rank() + 1)];
    values_.assign(rows.values.begin() + begin, rows.values.begin() + end);
    if (request == Request::refactor) return;
    rows.col_idx.resize(sizes[1]);
    broadcast_values(ranks_, rows.col_idx, 0);
    columns_.assign(rows.col_idx.begin() + begin, rows.col_idx.begin() + end);
    row_ptr_.clear();
    for (std::int32_t i = first_of(ranks_.rank()); i <= first_of(ranks_.rank() + 1); ++i)
      row_ptr_.push_back(static_cast<int_t>(rows.row_ptr[i] - begin));
  }

  /// x: the rank's part, null for none.   Returns info of pdgssvx().
  int run(fact_t fact, double* x, Statistic& statistic) {
    std::vector<int_t> columns(columns_);  // pdgssvx() permutes them
    SuperMatrix rows{};
    dCreate_CompRowLoc_Matrix_dist(&rows, n_, n_, static_cast<int_t>(columns.size()), own_rows(),
                                   first_of(ranks_.rank()), values_.data(), columns.data(), row_ptr_.data(), SLU_NR_loc,
                                   SLU_D, SLU_GE);
    factored_->options.Fact = fact;
    double not_computed = 0;  // backward error
    int info = 0;
    pdgssvx(&factored_->options, &rows, &factored_->permutations, x, own_rows(), x != nullptr ? 1 : 0, &grid_,
            &factored_->lu, &factored_->solves, &not_computed, &statistic, &info);
    factored_->is_filled = true;
    Destroy_SuperMatrix_Store_dist(&rows);
    // Other ranks may have gone on.
    if (info > n_) on_fatal_of_this_run()(Status::error(StatusCode::out_of_memory, "SuperLU_DIST has no memory left"));
    if (info < 0)
      on_fatal_of_this_run()(
          Status::error(StatusCode::device_error, fmt::format("SuperLU_DIST: argument {} is invalid", -info)));
    return info;
  }

  Result<Times> factor_together(Request request, const CscMatrix<double>* b) {
    const auto start = Clock::now();
    share(request, b);
    if (request == Request::factor) {
      factored_.reset();
      factored_.emplace(n_, grid_);
    }
    Statistic statistic;
    const int info = run(request == Request::factor ? DOFACT : SamePattern_SameRowPerm, nullptr, statistic);
    dQuerySpace_dist(n_, &factored_->lu, &grid_, &statistic, &space_);
    if (info > 0) {
      const int_t* const moved_to = factored_->permutations.perm_c;
      const auto column = std::find(moved_to, moved_to + n_, static_cast<int_t>(info - 1)) - moved_to;
      Where where;
      where.columns = {static_cast<std::int32_t>(column)};
      return Status::error(StatusCode::numerically_singular, "a pivot is zero", where);
    }
    const double numeric_ms = 1e3 * statistic.utime[FACT];
    return Times{ms_since(start) - numeric_ms, numeric_ms};
  }

  /// x of rank 0; elsewhere it only has the size.
  void solve_together(std::span<double> x) {
    broadcast_values(ranks_, x, 0);
    std::vector<double> own(x.begin() + first_of(ranks_.rank()), x.begin() + first_of(ranks_.rank() + 1));
    own.resize(std::max<std::size_t>(own.size(), 1));  // null would mean none
    Statistic statistic;
    (void)run(FACTORED, own.data(), statistic);
    std::vector<int> counts, starts;
    for (int r = 0; r < ranks_.count(); ++r) {
      counts.push_back(first_of(r + 1) - first_of(r));
      starts.push_back(first_of(r));
    }
    MPI_Gatherv(own.data(), own_rows(), MPI_DOUBLE, x.data(), counts.data(), starts.data(), MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
  }
  void solve_together(std::vector<double> x) { solve_together(std::span(x)); }

  DistributedMemory memory_together() {
    const std::int64_t own[] = {static_cast<std::int64_t>(space_.for_lu), static_cast<std::int64_t>(space_.total)};
    std::vector<std::int64_t> both(2 * static_cast<std::size_t>(ranks_.count()));
    ranks_.all_gather(own, both);
    DistributedMemory memory;
    for (std::size_t r = 0; r < both.size(); r += 2) {
      memory.factors.push_back(both[r]);
      memory.all.push_back(both[r + 1]);
    }
    return memory;
  }

  Ranks& ranks_;
  bool starts_mpi_ = false;
  bool busy_ = false;  // ranks are at work together
  gridinfo_t grid_{};
  std::int32_t n_ = 0;
  std::vector<int_t> row_ptr_, columns_;  // own rows of B
  std::vector<double> values_;
  std::optional<Factored> factored_;
  superlu_dist_mem_usage_t space_{};  // of the last factorization
};

}  // namespace

std::unique_ptr<DistributedLu> make_superlu_dist(Ranks& ranks, int threads, OnFatal on_fatal) {
  on_fatal_of_this_run() = std::move(on_fatal);
  set_threads(threads);
  return std::make_unique<SuperLuDist>(ranks);
}

const OnFatal& superlu_dist_on_fatal() { return on_fatal_of_this_run(); }

}  // namespace lulab::app
