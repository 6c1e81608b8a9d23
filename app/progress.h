#pragma once
// One line of progress on stderr, only if stderr is a terminal.

#include <cstdint>
#include <string_view>

namespace lulab::app {

/// Shows the current step; the destructor wipes the line. Silent if stderr is not a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view what);
  void show(std::string_view what, std::int64_t done, std::int64_t total);
  void wipe();

 private:
  bool on_terminal_;
  bool shown_ = false;
};

}  // namespace lulab::app
