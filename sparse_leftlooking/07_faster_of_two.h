#pragma once
// Which of two ways to do the same work takes less time, as often as the work comes.

#include <algorithm>
#include <limits>

namespace lulab::sparse_leftlooking {

/// Counts runs in rounds. A round begins with three runs of the slower way and three of the other one; their least
/// times decide for the rest of it: cores may become busy, or free, at any time. As long as the same way wins, rounds
/// grow, so that trials of the slower one take little of all time.
class FasterOfTwo {
 public:
  /// The way of the next run, 0 or 1; 0 is taken to be the faster one until both have run.
  int way() const { return run_ < trials ? 1 - faster_ : faster_; }

  /// What the run by way() took.
  void took(double time) {
    if (run_ < 2 * trials) least_[way()] = std::min(least_[way()], time);
    if (++run_ == 2 * trials) {
      const bool changes = least_[1 - faster_] < least_[faster_];
      if (changes) faster_ = 1 - faster_;
      runs_ = changes ? fewest_runs : std::min(2 * runs_, most_runs);
      least_[0] = least_[1] = std::numeric_limits<double>::infinity();
    }
    if (run_ >= runs_) run_ = 0;
  }

 private:
  static constexpr int trials = 3, fewest_runs = 8 * trials, most_runs = 256 * trials;

  int faster_ = 0, run_ = 0, runs_ = fewest_runs;
  double least_[2] = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
};

}  // namespace lulab::sparse_leftlooking
