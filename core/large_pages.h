#pragma once
// Large arrays of the host in large pages.

#include <cstddef>
#include <vector>

namespace lulab {

/// Asks the system for pages of 2 MiB where all of one lies in these bytes, which nobody has touched. It may refuse;
/// other systems than Linux are not asked.   Cost   a system call, for 4 MiB or more.
void ask_for_large_pages(void* begin, std::size_t bytes) noexcept;

/// array.resize(size) of an empty array. The first touch of pages of 4 KiB takes about six times the copy from the
/// device that follows, that of pages of 2 MiB less than three times.
template <class T>
void resize_in_large_pages(std::vector<T>& array, std::size_t size) {
  array.reserve(size);
  ask_for_large_pages(array.data(), array.capacity() * sizeof(T));
  array.resize(size);
}

}  // namespace lulab
