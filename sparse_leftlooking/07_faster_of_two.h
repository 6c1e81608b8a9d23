#pragma once
// Which of two ways to do the same work takes less time, as often as the work comes.

#include <algorithm>
#include <limits>

namespace lulab::sparse_leftlooking {

/// Measures three runs of the way that is taken to be the faster one, then the other: three runs too, but none after
/// one that took more than four times as long (the first run of threads that slept may take twice as long). The way of
/// the least time is taken for 16 times as long as the trial took, up to 64 times while the same way wins; then both
/// are measured again, since cores may become busy, or free, at any time.
class FasterOfTwo {
 public:
  /// The way of the next run, 0 or 1; 0 is taken to be the faster one until both have run.
  int way() const { return now_ == trial ? 1 - faster_ : faster_; }

  /// What the run by way() took.
  void took(double time) {
    switch (now_) {
      case measured:
        of_faster_ = std::min(of_faster_, time);
        if (++runs_ == enough_runs) now_ = trial;
        break;
      case trial:
        of_other_ = std::min(of_other_, time);
        left_ += time;
        if (++runs_ == 2 * enough_runs || time > 4 * of_faster_) decide();
        break;
      case decided:
        left_ -= time;
        if (left_ <= 0) begin_anew();
        break;
    }
  }

 private:
  enum Part { measured, trial, decided };
  static constexpr int enough_runs = 3;
  static constexpr double least_rest = 16, most_rest = 64;  // times the trial

  void decide() {
    const bool changes = of_other_ < of_faster_;
    if (changes) faster_ = 1 - faster_;
    rest_ = changes ? least_rest : std::min(2 * rest_, most_rest);
    left_ *= rest_;
    now_ = decided;
  }

  void begin_anew() {
    now_ = measured;
    runs_ = 0;
    left_ = 0;
    of_faster_ = of_other_ = std::numeric_limits<double>::infinity();
  }

  Part now_ = measured;
  int faster_ = 0, runs_ = 0;
  double rest_ = least_rest / 2, left_ = 0;
  double of_faster_ = std::numeric_limits<double>::infinity(), of_other_ = std::numeric_limits<double>::infinity();
};

}  // namespace lulab::sparse_leftlooking
