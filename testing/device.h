#pragma once
// For tests of kernels (*_test.cu): what a missing GPU means, which schedules are tried, and how a failure is replayed.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/simt/device.h"
#include "testing/replay.h"
#include "testing/schedules.h"

/// First line of a test that launches: without a GPU a GPU build skips visibly, or fails when LULAB_REQUIRE_GPU=1.
#define LULAB_NEED_DEVICE()                                                               \
  if (const auto lulab_device = ::lulab::simt::device_properties(); !lulab_device.ok()) { \
    if (::lulab::simt::gpu_required()) FAIL() << lulab_device.status().to_string();       \
    GTEST_SKIP() << lulab_device.status().to_string();                                    \
  }                                                                                       \
  static_assert(true)

/// After LULAB_NEED_DEVICE() in a test that launches clusters: skips visibly on a GPU that has none.
#define LULAB_NEED_CLUSTERS()                                                              \
  if (const int lulab_capability = ::lulab::simt::device_properties()->compute_capability; \
      ::lulab::simt::machine() == ::lulab::simt::Machine::gpu && lulab_capability < 90)    \
  GTEST_SKIP() << "clusters of blocks need compute capability 9.0; this GPU has " << lulab_capability / 10.0

/// First line of a test of what only the simulator can tell.
#define LULAB_NEED_SIMULATOR()                                                                                      \
  if (::lulab::simt::machine() != ::lulab::simt::Machine::simulator) GTEST_SKIP() << "a property of the simulator"; \
  static_assert(true)

/// First line of a test that would find nothing in the simulator.
#define LULAB_NEED_GPU()                                                                                           \
  if (::lulab::simt::machine() != ::lulab::simt::Machine::gpu) GTEST_SKIP() << "the simulator does this by seeds"; \
  static_assert(true)

/// ok() with the message of the Status (or of the Result) when it is not.
#define LULAB_ASSERT_OK(expression)                                                                  \
  if (const ::lulab::Status lulab_status = ::lulab::simt::status_of(expression); !lulab_status.ok()) \
  FAIL() << #expression << ": " << lulab_status.to_string()

namespace lulab::simt {

inline bool gpu_required() {
  const char* value = std::getenv("LULAB_REQUIRE_GPU");
  return value && std::string(value) == "1";
}

inline Status status_of(const Status& status) { return status; }
template <class T>
Status status_of(const Result<T>& result) {
  return result.status();
}

}  // namespace lulab::simt
