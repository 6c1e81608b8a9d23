#pragma once
// Memory that threads fill for the first time, each its own part.

#include <memory>
#include <new>
#include <vector>

namespace lulab {

/// Leaves elements that resize() adds as memory has them.
template <class T>
struct UninitializedAllocator : std::allocator<T> {
  template <class U>
  void construct(U* p) noexcept {
    ::new (static_cast<void*>(p)) U;
  }
};

/// A vector whose resize() touches no memory where T is trivial. To map fresh pages takes longer than to fill them; so
/// the threads that fill them map them, too.
template <class T>
using UninitializedVector = std::vector<T, UninitializedAllocator<T>>;

}  // namespace lulab
