#include "app/progress.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "app/command.h"

namespace lulab::app {

Progress::Progress() : on_terminal_(isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() { wipe(); }

void Progress::show(std::string_view what) {
  if (!on_terminal_) return;
  print_error(fmt::format("\r\033[K{} ...", what));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::show(std::string_view what, std::int64_t done, std::int64_t total) {
  if (!on_terminal_) return;
  if (total > 0)
    show(fmt::format("{} {} %", what, 100 * done / total));
  else
    show(what);
}

void Progress::wipe() {
  if (!shown_) return;
  print_error("\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace lulab::app
