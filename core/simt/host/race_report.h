#pragma once
// A race in five lines: what ThreadSanitizer found, in the words of a kernel.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/simt/device.h"

namespace lulab::simt::host {

/// One of the two accesses that nothing orders.
struct RacyAccess {
  std::string thread;  // "block 3, warp 0, lane 12, column 7"; empty: not a thread of a kernel
  std::string line;    // "01_sflu_kernel.h:61: sum -= l[k] * u;"
  bool writes = false, is_atomic = false;
};

/// Memory of device_allocate(), or the part of it that name_memory() named.
struct DeviceArray {
  const std::byte* begin;
  std::size_t bytes;
  std::size_t element_bytes = 0;          // 0: it has no name
  const char* name = nullptr;             // likewise; else these are as in name_memory()
  std::span<const std::int64_t> col_ptr;  // likewise
};
/// The one with this address.
std::optional<DeviceArray> device_array_of(const void* address);
/// Those that have a name, by begin.
std::vector<DeviceArray> named_arrays();

struct RaceReport {
  std::string kernel;
  std::string where;               // "As[17] of column 3"
  RacyAccess now, before;          // the access that found the race, and the one before it
  std::string last_synchronizing;  // line of the last atomic, fence or barrier of now.thread; empty: none
  SimulatorOptions schedule;
  std::string file;  // that has ThreadSanitizer's own report; empty: it went to stderr
};

/// What the name of a thread ends with where ThreadSanitizer cannot tell it from threads, or columns of the same, that
/// came before.
inline constexpr std::string_view or_one_before = " or one before";

/// Called after every race that was found in a kernel; null: nothing is.
inline void (*race_listener)() = nullptr;

/// Five lines, the last without its end.
std::string to_text(const RaceReport& race);
/// One line: what is accessed, and where.
std::string summary_of(const RaceReport& race);

/// "file.h:61" and what stands there, where the file can be read: "file.h:61: x = y;". A relative name, as ccache
/// leaves in debug information, is looked up from the folder of the program, from those that hold it, then from the
/// current one.
std::string line_of_source(const std::string& file, int line);

/// The report that ThreadSanitizer made, for the kernel that runs on this OS thread.
///
/// report: of __tsan_on_report().   Requires active_scheduler.
RaceReport read_race_report(void* report);

}  // namespace lulab::simt::host
