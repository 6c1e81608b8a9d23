#pragma once
// Memory that steps on one stream use one after the other, so that they do not each ask for their own: on a GPU a piece
// of more than a megabyte takes some .05 ms to get, and as long to give back.

#include <cstddef>
#include <cstdint>

#include "core/simt/primitives.h"
#ifndef LULAB_CUDA
#include "core/simt/host/poison.h"
#endif

#if !defined(LULAB_CUDA) && defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace lulab::simt {

/// AddressSanitizer reports who touches these bytes, until allow_access(). Without it neither does anything.
inline void forbid_access([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::int64_t bytes) {
#if !defined(LULAB_CUDA) && defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(begin, static_cast<std::size_t>(bytes));
#endif
}
inline void allow_access([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::int64_t bytes) {
#if !defined(LULAB_CUDA) && defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(begin, static_cast<std::size_t>(bytes));
#endif
}

/// Each step may overwrite all of it.
struct Workspace {
  Scratch arrays;      // place_together()
  Scratch primitives;  // sums and sorting
};

/// An array of so many elements that place_together() gives a place.
template <class T>
struct Placed {
  T*& at;
  std::int64_t size;
};
template <class T>
Placed(T*&, std::int64_t) -> Placed<T>;

constexpr std::int64_t placed_alignment = 256;  // bytes, as of memory that is asked for
#ifdef LULAB_CUDA
constexpr std::int64_t placed_gap = 0;
#else
constexpr std::int64_t placed_gap = 256;  // behind each array, where AddressSanitizer sees who goes beyond it
#endif

template <class... T>
std::int64_t placed_bytes(const Placed<T>&... arrays) {
  const auto round_up = [](std::size_t bytes) {
    return (static_cast<std::int64_t>(bytes) + placed_alignment - 1) / placed_alignment * placed_alignment + placed_gap;
  };
  return (std::int64_t{0} + ... + round_up(static_cast<std::size_t>(arrays.size) * sizeof(T)));
}

/// Places the arrays one behind the other in `memory`, which it replaces where it is too small. Their contents are
/// undefined.
///
/// Requires  no work under way on memory that is replaced.   Errors out_of_memory, device_error.
template <class... T>
Status place_together(DeviceBuffer<std::byte>& memory, const Placed<T>&... arrays) {
  if (const std::int64_t bytes = placed_bytes(arrays...); bytes > memory.size()) {
    memory = {};  // before there is another
    LULAB_RETURN_IF_ERROR(make(memory, bytes));
  }
  std::byte* next = memory.data();
  forbid_access(next, memory.size());
  const auto place = [&]<class U>(const Placed<U>& array) {
    array.at = reinterpret_cast<U*>(next);
    allow_access(next, array.size * std::int64_t{sizeof(U)});
    next += placed_bytes(array);
  };
  (place(arrays), ...);
  return {};
}
/// The same of memory that work on the stream may use. In the simulator it is poisoned, as fresh memory is.
template <class... T>
Status place_together(DeviceBuffer<std::byte>& memory, Stream& stream, const Placed<T>&... arrays) {
  const bool waits = memory.size() > 0 && (placed_gap > 0 || placed_bytes(arrays...) > memory.size());
  if (waits) LULAB_RETURN_IF_ERROR(stream.wait());
  LULAB_RETURN_IF_ERROR(place_together(memory, arrays...));
#ifndef LULAB_CUDA
  (host::poison(arrays.at, static_cast<std::size_t>(arrays.size) * sizeof(T)), ...);
#endif
  return {};
}

}  // namespace lulab::simt
