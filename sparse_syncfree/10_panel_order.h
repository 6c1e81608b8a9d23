#pragma once
// The order in which a panel is updated by the panels before it.

#include <atomic>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "sparse_syncfree/10_panel_layout.h"

namespace lulab::sparse_syncfree {

/// When panels are finished by the estimates; host threads that plan panels wait here for each other.
class FinishTimes {
 public:
  explicit FinishTimes(std::int32_t panels) : done_us_(panels) {
    for (auto& us : done_us_) us.store(unknown, std::memory_order_relaxed);  // RACE: none, no other thread runs yet
  }
  void publish(std::int32_t j, double us) {
    done_us_[j].store(us, std::memory_order_release);  // RACE: written once, by the thread of j; others in wait_for(j)
  }
  /// Panels are taken in an order in which each comes after those it waits for, so the first of them that is not
  /// finished has a thread and waits for none: no deadlock, and a wait lasts as long as what another thread does now.
  /// After stop() the result is of no use.
  double wait_for(std::int32_t j) const {
    double us;
    // RACE: the thread of j publishes; acquire pairs with that release. stopped(): see there.
    while ((us = done_us_[j].load(std::memory_order_acquire)) == unknown && !stopped()) std::this_thread::yield();
    return us;
  }
  void stop() { stopped_.store(true, std::memory_order_relaxed); }  // RACE: a hint to all threads, orders nothing
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }  // RACE: any thread stops; joined later

 private:
  static constexpr double unknown = -1;
  std::vector<std::atomic<double>> done_us_;  // (panels)
  std::atomic<bool> stopped_ = false;
};

/// Columns of one panel that update J.
struct Run {
  std::int32_t panel, at, width;  // at: place of its first row in the rows of J
  std::int32_t batch = 0;         // small ones of a batch are gathered together
  double done_us = 0;             // of the panel
};

/// Orders runs; workspace of one host thread.
class RunOrder {
 public:
  RunOrder(const PanelLayout& layout, const FinishTimes& times, std::int32_t small)
      : l_(layout), times_(times), small_(small) {}

  /// The runs of J: each after those that change its rows, and as early as its panel is finished by the estimates.
  /// Large panels come first; small ones are gathered together when no large one is ready.
  ///
  /// place: (n) 1 + place of the row in J; 0: it has no such row.    Waits for the panels of the runs.
  std::span<const Run> order(std::int32_t j, const std::vector<std::int32_t>& place);

 private:
  struct Ready {
    double time_us;
    std::int32_t run;
    auto operator<=>(const Ready&) const = default;
  };
  void find_changes(std::int32_t j, const std::vector<std::int32_t>& place);
  void add_if_ready(std::int32_t r);
  void emit(std::int32_t r, std::int32_t batch);

  const PanelLayout& l_;
  const FinishTimes& times_;
  const std::int32_t small_;
  std::vector<Run> runs_, ordered_;
  std::vector<std::int32_t> run_of_;      // (U's rows of the panel) the run that has the row
  std::vector<std::int32_t> changes_;     // runs whose rows a run changes
  std::vector<std::int64_t> change_ptr_;  // (runs + 1) into changes_
  std::vector<std::int32_t> waits_for_;   // (runs) runs that change its rows and are not yet in order
  std::vector<char> is_small_;            // (runs)
  std::vector<Ready> coming_, panels_;    // heaps
  std::vector<std::int32_t> small_ready_;
};

}  // namespace lulab::sparse_syncfree
