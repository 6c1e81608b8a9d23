#pragma once
// Shared memory of the simulated block, and pointers whose accesses are counted.

#include "core/simt/host/runtime.h"

#define LULAB_SHARED(T, name, N) LULAB_SHARED_ARRAY(name, T[N])
#define LULAB_SHARED_2D(T, name, rows, columns) LULAB_SHARED_ARRAY(name, T[rows][columns])
#define LULAB_SHARED_ARRAY(name, type)                                                              \
  using lulab_shared_type_##name = type;                                                            \
  static const char lulab_shared_key_##name[] = #name;                                              \
  auto& name = *static_cast<lulab_shared_type_##name*>(                                             \
      ::lulab::simt::host::static_shared(lulab_shared_key_##name, sizeof(lulab_shared_type_##name), \
                                         alignof(lulab_shared_type_##name), ::lulab::simt::host::Site::here()))

#define LULAB_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::lulab::simt::host::dynamic_shared())

namespace lulab::simt {

namespace host {

/// A reference that tells the counter when it is read or written.
template <class T, Access load, Access store>
class CountedReference {
 public:
  explicit CountedReference(T* p) : p_(p) {}
  CountedReference(const CountedReference&) = default;
  operator T() const {
    count_access(load);
    return *p_;
  }
  T operator=(T value) const {
    count_access(store);
    return *p_ = value;
  }
  // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): it assigns what the pointers point to
  T operator=(const CountedReference& o) const { return *this = static_cast<T>(o); }
  T operator+=(T value) const { return *this = static_cast<T>(*this) + value; }
  T operator-=(T value) const { return *this = static_cast<T>(*this) - value; }
  T operator*=(T value) const { return *this = static_cast<T>(*this) * value; }
  T operator/=(T value) const { return *this = static_cast<T>(*this) / value; }

 private:
  T* p_;
};

template <class T, Access load, Access store>
class CountedPointer {
 public:
  explicit CountedPointer(T* p) : p_(p) {}
  CountedReference<T, load, store> operator[](std::ptrdiff_t i) const {
    return CountedReference<T, load, store>(p_ + i);
  }
  CountedReference<T, load, store> operator*() const { return (*this)[0]; }
  CountedPointer operator+(std::ptrdiff_t i) const { return CountedPointer(p_ + i); }
  T* get() const { return p_; }

 private:
  T* p_;
};

/// Read-only data: loads only, so that `auto v = p[i]` is a value.
template <class T, Access load, Access store>
class CountedPointer<const T, load, store> {
 public:
  explicit CountedPointer(const T* p) : p_(p) {}
  T operator[](std::ptrdiff_t i) const {
    count_access(load);
    return p_[i];
  }
  T operator*() const { return (*this)[0]; }
  CountedPointer operator+(std::ptrdiff_t i) const { return CountedPointer(p_ + i); }
  const T* get() const { return p_; }

 private:
  const T* p_;
};

}  // namespace host

/// Indexing through the result counts a global (shared) load or store; on the GPU it is p itself.
template <class T>
auto counted_global(T* p) {
  return host::CountedPointer<T, host::Access::global_load, host::Access::global_store>(p);
}
template <class T>
auto counted_shared(T* p) {
  return host::CountedPointer<T, host::Access::shared_load, host::Access::shared_store>(p);
}

}  // namespace lulab::simt
