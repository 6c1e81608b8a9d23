#pragma once
// For tests of what only reads: arrays in memory that nobody may write. A write ends the program.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace lulab::testing {

template <class T>
class ReadOnly {
 public:
  explicit ReadOnly(const std::vector<T>& values) : bytes_(std::max<std::size_t>(1, values.size() * sizeof(T))) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory_, MAP_FAILED);
    std::memcpy(memory_, values.data(), values.size() * sizeof(T));
    EXPECT_EQ(mprotect(memory_, bytes_, PROT_READ), 0);
  }
  ~ReadOnly() { munmap(memory_, bytes_); }
  ReadOnly(const ReadOnly&) = delete;
  ReadOnly& operator=(const ReadOnly&) = delete;
  T* data() const { return static_cast<T*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace lulab::testing
