#include "core/simt/host/race_report.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "core/simt/host/scheduler.h"
#include "core/simt/host/simulated_device.h"

// ThreadSanitizer's interface for debuggers; absent (null) in builds without it.
extern "C" {
__attribute__((weak)) int __tsan_get_report_mop(void* report, unsigned long index, int* tid, void** address, int* size,
                                                int* write, int* atomic, void** trace, unsigned long trace_size);
__attribute__((weak)) int __tsan_get_report_thread(void* report, unsigned long index, int* tid,
                                                   unsigned long long* os_id, int* running, const char** name,
                                                   int* parent, void** trace, unsigned long trace_size);
__attribute__((weak)) int __tsan_get_report_data(void* report, const char** description, int* count, int* stacks,
                                                 int* accesses, int* locations, int* mutexes, int* threads,
                                                 int* unique_tids, void** sleep_trace, unsigned long trace_size);
__attribute__((weak)) void __sanitizer_symbolize_pc(void* pc, const char* format, char* text, unsigned long size);
__attribute__((weak)) void __sanitizer_set_report_path(const char* path);
__attribute__((weak)) const char* __sanitizer_get_report_path();

/// Called for every race that ThreadSanitizer reports, by the thread that found it.
__attribute__((visibility("default"))) void __tsan_on_report(void* report);
void __tsan_on_report(void* report) {
  if (lulab::simt::host::active_scheduler) lulab::simt::host::active_scheduler->race(report);
}
}

namespace lulab::simt::host {

namespace {

constexpr std::size_t max_frames = 16;

/// The innermost line that is neither the simulator's nor a library's.
std::string line_of_kernel(const std::array<void*, max_frames>& trace) {
  const char* none = "no line of a kernel";
  for (void* pc : trace) {
    if (pc == nullptr) break;
    std::array<char, 4096> frames{};
    __sanitizer_symbolize_pc(pc, "%s:%l", frames.data(), frames.size());  // inlined calls: one text after the other
    for (const char* frame = frames.data(); *frame != 0; frame += std::strlen(frame) + 1) {
      const std::string_view text = frame;
      const auto colon = text.rfind(':');
      const auto lies_in = [&](std::string_view folder) { return text.find(folder) != text.npos; };
      if (lies_in("core/simt/host/shared_memory.cpp"))
        none = "the start or end of its block, which fills shared memory";
      if (colon == text.npos || text.starts_with("/usr/") || lies_in("core/simt/host/") || lies_in("sanitizer_common"))
        continue;
      return line_of_source(std::string(text.substr(0, colon)), std::atoi(frame + colon + 1));
    }
  }
  return none;
}

std::string thread_of(void* report, int threads, int tid) {
  for (int k = 0; k < threads; ++k) {
    int id = 0, running = 0, parent = 0;
    unsigned long long os_id = 0;
    const char* name = nullptr;
    void* trace[1] = {};
    if (__tsan_get_report_thread(report, k, &id, &os_id, &running, &name, &parent, trace, 1) && id == tid)
      return name != nullptr ? name : "";
  }
  return "";
}

RacyAccess access_of(void* report, int index, int threads, void** address, int* bytes) {
  RacyAccess access;
  int tid = 0, writes = 0, atomic = 0;
  std::array<void*, max_frames> trace{};
  __tsan_get_report_mop(report, index, &tid, address, bytes, &writes, &atomic, trace.data(), trace.size());
  access.writes = writes != 0;
  access.is_atomic = atomic != 0;
  access.line = line_of_kernel(trace);
  access.thread = thread_of(report, threads, tid);
  return access;
}

std::string describe(const void* address, int bytes) {
  const auto array = device_array_of(address);
  if (!array) {
    const std::string shared = active_scheduler->name_of_shared(address, bytes);
    return shared.empty() ? fmt::format("{} bytes of the host", bytes) : shared;
  }
  const auto offset = static_cast<const std::byte*>(address) - array->begin;
  if (array->name != nullptr) {
    const auto i = offset / static_cast<std::ptrdiff_t>(array->element_bytes);
    const auto after = std::ranges::upper_bound(array->col_ptr, i);
    const bool has_column = after != array->col_ptr.begin() && after != array->col_ptr.end();
    return fmt::format("{}[{}]{}", array->name, i,
                       has_column ? fmt::format(" of column {}", after - array->col_ptr.begin() - 1) : "");
  }
  return fmt::format("element {} of an array of {} in device memory, {} bytes each", offset / bytes,
                     array->bytes / bytes, bytes);
}

std::string kind_of(const RacyAccess& access) {
  return std::string(access.is_atomic ? "atomic " : "") + (access.writes ? "write" : "read");
}

std::string name_of(const RacyAccess& access) { return access.thread.empty() ? "the host" : access.thread; }

/// "file.h:61" of "file.h:61: x = y;".
std::string place_of(const RacyAccess& access) { return access.line.substr(0, access.line.find(": ")); }

std::ifstream open_source(const std::filesystem::path& file) {
  std::error_code none;
  if (file.is_relative())
    for (auto program = std::filesystem::read_symlink("/proc/self/exe", none); program.has_relative_path();) {
      program = program.parent_path();
      if (std::ifstream source(program / file); source) return source;
    }
  return std::ifstream(file);
}

/// Can a file of this name be made?
bool can_make(const std::string& name) {
  (void)::unlink(name.c_str());  // of a process that had this number before
  const int made = ::open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (made < 0) return false;
  (void)::close(made);
  (void)::unlink(name.c_str());
  return true;
}

}  // namespace

std::string line_of_source(const std::string& file, int line) {
  std::ifstream source = open_source(file);
  std::string text;
  for (int k = 0; k < line && std::getline(source, text);) ++k;
  const std::string name = file.substr(file.find_last_of('/') + 1);
  if (!source) return fmt::format("{}:{}", name, line);
  text = text.substr(0, text.find("  //"));
  text.erase(text.find_last_not_of(" \t") + 1);
  return fmt::format("{}:{}: {}", name, line, text.substr(std::min(text.find_first_not_of(" \t"), text.size())));
}

RaceReport read_race_report(void* report) {
  RaceReport race;
  const char* description = nullptr;
  int count = 0, stacks = 0, accesses = 0, locations = 0, mutexes = 0, threads = 0, tids = 0;
  void* sleep[1] = {};
  __tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes, &threads, &tids, sleep,
                         1);
  void* address = nullptr;
  int bytes = 1, other_bytes = 1;
  if (accesses > 1) {
    void* same = nullptr;
    race.now = access_of(report, 0, threads, &address, &bytes);
    if (race.now.thread.ends_with(or_one_before))  // it runs now: no other
      race.now.thread.resize(race.now.thread.size() - or_one_before.size());
    race.before = access_of(report, 1, threads, &same, &other_bytes);
  }
  race.where = describe(address, bytes);
  if (const char* file = __sanitizer_get_report_path ? __sanitizer_get_report_path() : nullptr) race.file = file;
  return race;
}

std::string summary_of(const RaceReport& race) {
  return fmt::format("{}: {} at {} ({}) and {} at {} ({}) have no order", race.where, kind_of(race.now),
                     place_of(race.now), name_of(race.now), kind_of(race.before), place_of(race.before),
                     name_of(race.before));
}

std::string to_text(const RaceReport& race) {
  return fmt::format(
      "race in kernel {}: {}\n"
      "  {}: {} at {}\n"
      "  earlier, {}: {} at {}\n"
      "  nothing orders them: that takes a release after the earlier access and an acquire before the other, or a "
      "barrier between; the other thread last synchronized at {}\n"
      "  again: LULAB_SIM_SEED={} LULAB_SIM_RESIDENT={} before the same command{}",
      race.kernel, race.where, name_of(race.now), kind_of(race.now), race.now.line, name_of(race.before),
      kind_of(race.before), race.before.line,
      race.last_synchronizing.empty() ? "the start of the kernel" : race.last_synchronizing, race.schedule.seed,
      race.schedule.resident_blocks, race.file.empty() ? "" : "; ThreadSanitizer's report: " + race.file);
}

}  // namespace lulab::simt::host

namespace lulab::simt {

void tell_races_briefly() {
  if (!host::race_detection()) return;
  // After a report ThreadSanitizer replaces the exit code by 66. A code other than 0 says more, and stays.
  (void)on_exit(
      [](int code, void*) {
        if (code == 0) return;
        std::fflush(nullptr);
        ::_exit(code);
      },
      nullptr);
  const char* options = std::getenv("TSAN_OPTIONS");
  if (options != nullptr && std::strstr(options, "log_path=") != nullptr) return;
  std::error_code none;
  const std::string name = (std::filesystem::temp_directory_path(none) / "lulab-race").string();
  // ThreadSanitizer ends the program where it cannot write: then its report stays on stderr. It appends the number.
  if (!none && name.size() < 1000 && host::can_make(fmt::format("{}.{}", name, ::getpid())))
    __sanitizer_set_report_path(name.c_str());
}

}  // namespace lulab::simt
