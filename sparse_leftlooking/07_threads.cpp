// Left-looking refactorization by the threads of a CPU, in NICSLU's two modes. First the threads divide the independent
// columns among themselves (cluster mode). In the narrow levels that remain they take columns in the order of levels,
// and each waits for the columns of L that it needs, one after another (pipeline mode). Neighbouring columns are
// eliminated together where that saves passes over L (07_column_groups.h, 07_group_arithmetic.h). The first
// factorizations of a pattern with little arithmetic do without both: one thread, column by column.

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/host_backend.h"
#include "core/timing.h"
#include "sparse_leftlooking/07_faster_of_two.h"
#include "sparse_leftlooking/07_group_arithmetic.h"
#include "sparse_leftlooking/07_group_schedule.h"
#include "sparse_leftlooking/07_thread_team.h"
#include "sparse_leftlooking/rungs.h"
#include "symbolic/fill.h"

namespace lulab::sparse_leftlooking {

namespace {

constexpr int max_threads = 64;
// For each entry of L+U. With less, making groups takes as long as two factorizations. One thread gains some 5 % of one
// by them, and two little more; several gain half of it, and need them.
constexpr double flops_worth_groups = 32;
constexpr std::uint32_t rounds_before_groups = 32, rounds_before_threads = 3;
constexpr int few_threads = 2;

template <class T>
class ThreadsBackend final : public HostBackend<T> {
 public:
  using HostBackend<T>::HostBackend;
  Statistics statistics(std::int32_t) const override { return statistics_; }

 private:
  using Kernel = GroupKernel<T>;

  GatheredRows gathered_rows() const override {
    return GatheredRows::any;
  }  // a column is scattered before it is eliminated

  Status prepare_rung() override {
    if (this->options().threads < 0)
      return Status::error(
          StatusCode::invalid_argument,
          fmt::format("threads = {}; 0 takes as many as the matrix keeps busy", this->options().threads));
    const FilledPattern& filled = this->analysis().filled;
    if (filled.n != this->n())
      return Status::error(StatusCode::invalid_argument, "the analysis has no filled pattern of this matrix");
    values_.resize(filled.nnz());
    statistics_ = {};
    statistics_.flops = factor_flops(filled);
    round_ = 0;
    const bool at_once = this->options().threads > 0 || statistics_.flops > flops_worth_groups * double(filled.nnz());
    prepare(at_once ? make_column_groups(filled, this->options().threads) : single_columns(filled), at_once);
    return {};
  }

  /// shares: by threads, if that pays.
  void prepare(ColumnGroups groups, bool shares) {
    team_.reset();
    prepared_for_many_ = false;
    groups_ = std::move(groups);
    schedule_ = schedule_groups(groups_, shares ? threads_of_groups() : 1);
    finished_in_ = std::vector<std::atomic<std::uint32_t>>(schedule_.threads > 1 ? groups_.size() : 0);
    work_.clear();
    for (int t = 0; t < schedule_.threads; ++t) work_.emplace_back(this->n(), groups_);
    if (schedule_.threads > 1) team_ = std::make_unique<ThreadTeam>(schedule_.threads);
    team_or_alone_ = {};
    prepared_for_many_ = shares;
  }

  int threads_of_groups() const {
    if (this->options().threads > 0) return std::min(this->options().threads, max_threads);
    return useful_threads(groups_,
                          static_cast<int>(std::min<unsigned>(std::thread::hardware_concurrency(), max_threads)));
  }

  /// Asked once in each round, as long as there are none.
  bool are_groups_due() const {
    return round_ == rounds_before_groups || (round_ == rounds_before_threads && threads_of_groups() > few_threads);
  }

  Status eliminate() override {
    if (!prepared_for_many_ && are_groups_due())
      prepare(make_column_groups(this->analysis().filled, this->options().threads), true);
    // RACE: no thread of the team works between two runs; run() publishes these to all of them.
    failed_.store(Kernel::no_column, std::memory_order_relaxed);
    next_task_.store(0, std::memory_order_relaxed);
    ++round_;
    for (GroupWork<T>& work : work_) work.perturbed_pivots = 0;
    least_pivot_ = this->least_pivot();
    if (team_)
      run_team_or_alone();
    else
      run_alone();
    // RACE: run() returned, so that every member's report() comes before.
    const std::int32_t k = failed_.load(std::memory_order_relaxed);
    statistics_.perturbed_pivots = 0;
    for (const GroupWork<T>& work : work_) statistics_.perturbed_pivots += work.perturbed_pivots;
    if (k == Kernel::no_column) return {};
    const bool zero = values_[this->analysis().filled.diag[k]] == T(0);
    return this->column_error(
        StatusCode::needs_repivot, k,
        zero ? "its pivot is zero; choose pivots by value" : "it overflows; choose pivots by value");
  }

  Factors<T> result() override { return {this->plan(), this->analysis().filled, values_, statistics_}; }
  HostArrays<T> checked() const override { return {.lu = values_}; }

  void run_alone() { report(kernel_.eliminate(group_factors(), this->pracq(), 0, groups_.size(), work_.front())); }

  /// Where cores are busy with other programs, or columns wait for each other often, the team takes up to ten times as
  /// long as one thread. The number of threads that the caller asked for is kept.
  void run_team_or_alone() {
    const auto start = Clock::now();
    if (this->options().threads == 0 && team_or_alone_.way() == alone)
      run_alone();
    else
      team_->run([this](int member) { take_tasks(work_[member]); });
    // RACE: as in eliminate(): all report()s come before. A run that fails is a short one.
    if (failed_.load(std::memory_order_relaxed) == Kernel::no_column) team_or_alone_.took(ms_since(start));
  }

  void take_tasks(GroupWork<T>& work) {
    for (;;) {
      // RACE: each task goes to one member; the ticket publishes nothing else. A member ends its task before it takes
      // the next and a task waits for earlier ones only, so that the earliest unfinished task never waits.
      const std::int32_t task = next_task_.fetch_add(1, std::memory_order_relaxed);
      if (task >= schedule_.n_tasks()) return;
      for (std::int32_t i = schedule_.task_ptr[task]; i < schedule_.task_ptr[task + 1]; ++i) {
        const std::int32_t s = schedule_.groups[i];
        eliminate_group(s, work, task >= schedule_.n_cluster_tasks);
        // RACE: this member wrote the group's columns; members that acquire the flag read them.
        finished_in_[s].store(round_, std::memory_order_release);
      }
    }
  }

  bool is_finished(std::int32_t j) const {
    // RACE: the member that eliminated column j released the flag after its last write; a reader of L(:,j) acquires it.
    return finished_in_[groups_.group_of[j]].load(std::memory_order_acquire) == round_;
  }

  /// A group that has failed counts as finished, too: no thread waits for it forever.
  void wait_for_column(std::int32_t j) const {
    Backoff backoff;
    while (!is_finished(j)) backoff();
  }

  void eliminate_group(std::int32_t s, GroupWork<T>& work, bool waits) {
    // RACE: report() may come at any time: a group right of a failed column is then eliminated or left out; its own
    // failure is not the smallest column either way.
    if (failed_.load(std::memory_order_relaxed) < groups_.first[s]) return;
    const GroupFactors<T> f = group_factors();
    report(waits ? eliminate_waiting(f, s, work) : kernel_.eliminate(f, this->pracq(), s, s + 1, work));
  }

  GroupFactors<T> group_factors() { return {this->analysis().filled, groups_, values_.data(), least_pivot_}; }

  std::int32_t eliminate_waiting(const GroupFactors<T>& f, std::int32_t s, GroupWork<T>& work) {
    const auto sources = groups_.sources_of(s);
    const std::int64_t n_sources = std::ssize(sources);
    kernel_.start(f, this->pracq(), s, work);
    for (std::int64_t begin = 0, end = 0; begin < n_sources; begin = end) {
      wait_for_column(sources[begin]);
      for (end = begin + 1; end < n_sources && is_finished(sources[end]);) ++end;  // takes all that are finished by now
      kernel_.update(f, s, begin, end, work);
    }
    return kernel_.finish(f, s, work);
  }

  void report(std::int32_t k) {  // no_column is larger than any
    // RACE: the smallest column wins in any order; nothing is read through it before run() returns.
    std::int32_t known = failed_.load(std::memory_order_relaxed);
    while (k < known && !failed_.compare_exchange_weak(known, k, std::memory_order_relaxed)) {
    }
  }

  const Kernel kernel_ = group_kernels<T>().back();
  ColumnGroups groups_;
  GroupSchedule schedule_;
  bool prepared_for_many_ = false;
  static constexpr int alone = 1;  // the team works first
  FasterOfTwo team_or_alone_;
  std::vector<T> values_;  // (nnz(L+U))
  Statistics statistics_;
  T least_pivot_ = T(0);
  std::vector<GroupWork<T>> work_;                       // one a thread
  std::uint32_t round_ = 0;                              // counts eliminations, so that flags need no reset
  std::vector<std::atomic<std::uint32_t>> finished_in_;  // (n_groups) the round that finished it last
  std::atomic<std::int32_t> next_task_{0};
  std::atomic<std::int32_t> failed_{Kernel::no_column};
  std::unique_ptr<ThreadTeam> team_;  // last: its threads end before what they work on
};

}  // namespace

const Rung threads = rung_of<ThreadsBackend>(
    {.id = "sparse_leftlooking/07_threads",
     .stage = "sparse_leftlooking",
     .paper = "Chen et al. 2015, section 3.2 and Algorithm 1 (NICSLU); panels: Demmel et al. 1999, section 3.2",
     .idea = "CPU threads share independent subtrees, then wait for each other column by column; neighbouring "
             "columns share vector registers",
     .pivoting = Pivoting::fixed,
     .perturbs_pivots = true,
     .uses_threads = true});

}  // namespace lulab::sparse_leftlooking
