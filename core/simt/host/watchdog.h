#pragma once

namespace lulab::simt::host {

class Scheduler;

/// While one lives, a kernel that reaches no scheduling point for `seconds` (a plain loop without an atomic: it would
/// never let another thread run) ends the process with exit code 70 and a message that names it. 0: no watch.
class Watch {
 public:
  Watch(const Scheduler& scheduler, double seconds);
  ~Watch();
  Watch(const Watch&) = delete;

 private:
  const Scheduler* scheduler_;
};

}  // namespace lulab::simt::host
