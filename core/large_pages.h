#pragma once
// Large arrays of the host in large pages.

#include <cstddef>
#include <span>
#include <vector>

namespace lulab {

/// Asks the system for pages of 2 MiB where all of one lies in these bytes, once they are touched. It may refuse; other
/// systems than Linux are not asked.
///
/// Returns   those pages; none where it refused, or of less than 4 MiB.
std::span<char> ask_for_large_pages(void* begin, std::size_t bytes) noexcept;

/// The same of bytes that nobody has touched; and touches the pages, by several threads where there are many.
///
/// Requires  the bytes hold nothing yet: some become zero.   Errors throws std::bad_alloc.
/// Cost      a system call, for 4 MiB or more, and the pages.
void bring_large_pages(void* begin, std::size_t bytes);

/// array.resize(size). To touch new memory costs more than to copy into it: for 35 MB both together take 19 ms in pages
/// of 4 KiB, 9 ms in pages of 2 MiB.
///
/// Requires  an empty array without capacity.   Errors throws std::bad_alloc, as resize() does.
template <class T, class Allocator>
void resize_in_large_pages(std::vector<T, Allocator>& array, std::size_t size) {
  array.reserve(size);
  bring_large_pages(array.data(), array.capacity() * sizeof(T));
  array.resize(size);
}

}  // namespace lulab
