#pragma once
// CUDA's atomics on the host: cuda::atomic_ref, atomicAdd and its kin, fences.
//
// Each access is one real atomic instruction with the order that the kernel wrote, so ThreadSanitizer sees what the
// kernel promises; after it the scheduler may let another thread run.

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/simt/host/runtime.h"

#define LULAB_INLINE inline __attribute__((always_inline))

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
enum memory_order {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_consume = __ATOMIC_CONSUME,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST,
};
namespace std {
using ::cuda::memory_order;
using ::cuda::memory_order_acq_rel;
using ::cuda::memory_order_acquire;
using ::cuda::memory_order_consume;
using ::cuda::memory_order_relaxed;
using ::cuda::memory_order_release;
using ::cuda::memory_order_seq_cst;
}  // namespace std

}  // namespace cuda

namespace lulab::simt::host {

template <int n>
struct Bits;
template <>
struct Bits<1> {
  using type = std::uint8_t;
};
template <>
struct Bits<2> {
  using type = std::uint16_t;
};
template <>
struct Bits<4> {
  using type = std::uint32_t;
};
template <>
struct Bits<8> {
  using type = std::uint64_t;
};
template <class T>
using BitsOf = typename Bits<sizeof(T)>::type;

constexpr Scope scope_of(cuda::thread_scope scope) {
  return scope == cuda::thread_scope_system   ? Scope::system
         : scope == cuda::thread_scope_device ? Scope::device
                                              : Scope::block;
}

// The compiler's atomics want the order as a constant; a variable one would silently become seq_cst.
template <class U>
LULAB_INLINE U load_bits(const U* p, int order) {
  switch (order) {
    case __ATOMIC_RELAXED: return __atomic_load_n(p, __ATOMIC_RELAXED);
    case __ATOMIC_SEQ_CST: return __atomic_load_n(p, __ATOMIC_SEQ_CST);
    default: return __atomic_load_n(p, __ATOMIC_ACQUIRE);
  }
}
template <class U>
LULAB_INLINE U exchange_bits(U* p, U value, int order) {
  switch (order) {
    case __ATOMIC_RELAXED: return __atomic_exchange_n(p, value, __ATOMIC_RELAXED);
    case __ATOMIC_RELEASE: return __atomic_exchange_n(p, value, __ATOMIC_RELEASE);
    case __ATOMIC_ACQ_REL: return __atomic_exchange_n(p, value, __ATOMIC_ACQ_REL);
    case __ATOMIC_SEQ_CST: return __atomic_exchange_n(p, value, __ATOMIC_SEQ_CST);
    default: return __atomic_exchange_n(p, value, __ATOMIC_ACQUIRE);
  }
}
template <class U>
LULAB_INLINE void store_bits(U* p, U value, int order) {
  switch (order) {
    case __ATOMIC_RELAXED: __atomic_store_n(p, value, __ATOMIC_RELAXED); break;
    case __ATOMIC_SEQ_CST: __atomic_store_n(p, value, __ATOMIC_SEQ_CST); break;
    default: __atomic_store_n(p, value, __ATOMIC_RELEASE); break;
  }
}
/// On failure `expected` becomes the bits found, read with the order that `order` allows a load.
template <class U>
LULAB_INLINE bool compare_exchange_bits(U* p, U& expected, U desired, int order) {
  switch (order) {
    case __ATOMIC_RELAXED:
      return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    case __ATOMIC_RELEASE:
      return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    case __ATOMIC_ACQ_REL:
      return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    case __ATOMIC_SEQ_CST:
      return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    default: return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
  }
}

template <class T>
LULAB_INLINE T atomic_load(const T* p, int order, Scope scope, Site site) {
  before_atomic(p, sizeof(T), false, site);
  const BitsOf<T> bits = load_bits(reinterpret_cast<const BitsOf<T>*>(p), order);
  after_atomic({p, sizeof(T), bits, true, false, false, order, scope}, site);
  return std::bit_cast<T>(bits);
}

template <class T>
LULAB_INLINE void atomic_store(T* p, T value, int order, Scope scope, Site site) {
  before_atomic(p, sizeof(T), true, site);
  const auto bits = std::bit_cast<BitsOf<T>>(value);
  store_bits(reinterpret_cast<BitsOf<T>*>(p), bits, order);
  after_atomic({p, sizeof(T), bits, false, true, true, order, scope}, site);
}

/// *p <- update(*p), one atomic step; answers the value before.
template <class T, class F>
LULAB_INLINE T atomic_update(T* p, int order, Scope scope, Site site, F update) {
  before_atomic(p, sizeof(T), true, site);
  auto* bits = reinterpret_cast<BitsOf<T>*>(p);
  BitsOf<T> before = __atomic_load_n(bits, __ATOMIC_RELAXED), after;
  do after = std::bit_cast<BitsOf<T>>(static_cast<T>(update(std::bit_cast<T>(before))));
  while (!compare_exchange_bits(bits, before, after, order));
  after_atomic({p, sizeof(T), after, true, true, before != after, order, scope}, site);
  return std::bit_cast<T>(before);
}

template <class T>
LULAB_INLINE T atomic_exchange(T* p, T value, int order, Scope scope, Site site) {
  before_atomic(p, sizeof(T), true, site);
  const auto after = std::bit_cast<BitsOf<T>>(value);
  const BitsOf<T> before = exchange_bits(reinterpret_cast<BitsOf<T>*>(p), after, order);
  after_atomic({p, sizeof(T), after, true, true, before != after, order, scope}, site);
  return std::bit_cast<T>(before);
}

/// A failed compare-exchange is a load of the value it found, as C++ has it.
template <class T>
LULAB_INLINE bool atomic_compare_exchange(T* p, T& expected, T desired, int order, Scope scope, Site site) {
  before_atomic(p, sizeof(T), true, site);
  auto found = std::bit_cast<BitsOf<T>>(expected);
  const auto wanted = std::bit_cast<BitsOf<T>>(desired);
  const bool done = compare_exchange_bits(reinterpret_cast<BitsOf<T>*>(p), found, wanted, order);
  const int load_order = order == __ATOMIC_ACQ_REL   ? __ATOMIC_ACQUIRE
                         : order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED
                                                     : order;
  const bool changed = done && found != wanted;
  after_atomic({p, sizeof(T), done ? wanted : found, true, done, changed, done ? order : load_order, scope}, site);
  expected = std::bit_cast<T>(found);
  return done;
}

}  // namespace lulab::simt::host

namespace cuda {

/// Memory orders are real; a scope of block is checked: another block that touches the same address is an error.
template <class T, thread_scope scope = thread_scope_system>
class atomic_ref {
  static_assert(::std::is_trivially_copyable_v<T> &&
                (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8));
  using Site = lulab::simt::host::Site;
  static constexpr auto scope_ = lulab::simt::host::scope_of(scope);

 public:
  using value_type = T;
  LULAB_INLINE explicit atomic_ref(T& object) : p_(&object) {}

  LULAB_INLINE T load(memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_load(p_, order, scope_, site);
  }
  LULAB_INLINE void store(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    lulab::simt::host::atomic_store(p_, value, order, scope_, site);
  }
  LULAB_INLINE T exchange(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_exchange(p_, value, order, scope_, site);
  }
  LULAB_INLINE bool compare_exchange_strong(T& expected, T desired, memory_order order = memory_order_seq_cst,
                                            Site site = Site::here()) const {
    return lulab::simt::host::atomic_compare_exchange(p_, expected, desired, order, scope_, site);
  }
  LULAB_INLINE bool compare_exchange_weak(T& expected, T desired, memory_order order = memory_order_seq_cst,
                                          Site site = Site::here()) const {
    return lulab::simt::host::atomic_compare_exchange(p_, expected, desired, order, scope_, site);
  }
  LULAB_INLINE bool compare_exchange_strong(T& expected, T desired, memory_order success, memory_order failure,
                                            Site site = Site::here()) const {
    return lulab::simt::host::atomic_compare_exchange(p_, expected, desired, joined(success, failure), scope_, site);
  }
  LULAB_INLINE bool compare_exchange_weak(T& expected, T desired, memory_order success, memory_order failure,
                                          Site site = Site::here()) const {
    return lulab::simt::host::atomic_compare_exchange(p_, expected, desired, joined(success, failure), scope_, site);
  }
  LULAB_INLINE T fetch_add(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_update(p_, order, scope_, site, [value](T x) { return x + value; });
  }
  LULAB_INLINE T fetch_sub(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_update(p_, order, scope_, site, [value](T x) { return x - value; });
  }
  LULAB_INLINE T fetch_min(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_update(p_, order, scope_, site, [value](T x) { return value < x ? value : x; });
  }
  LULAB_INLINE T fetch_max(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_update(p_, order, scope_, site, [value](T x) { return x < value ? value : x; });
  }
  LULAB_INLINE T fetch_and(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_update(p_, order, scope_, site, [value](T x) { return x & value; });
  }
  LULAB_INLINE T fetch_or(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_update(p_, order, scope_, site, [value](T x) { return x | value; });
  }
  LULAB_INLINE T fetch_xor(T value, memory_order order = memory_order_seq_cst, Site site = Site::here()) const {
    return lulab::simt::host::atomic_update(p_, order, scope_, site, [value](T x) { return x ^ value; });
  }

 private:
  // One order strong enough for both outcomes.
  static constexpr memory_order joined(memory_order success, memory_order failure) {
    if (failure == memory_order_seq_cst) return memory_order_seq_cst;
    if (failure == memory_order_relaxed) return success;
    if (success == memory_order_relaxed) return memory_order_acquire;
    return success == memory_order_release ? memory_order_acq_rel : success;
  }

  T* p_;
};

inline void atomic_thread_fence(memory_order order, thread_scope scope = thread_scope_system,
                                lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::fence(order, lulab::simt::host::scope_of(scope), site);
}

}  // namespace cuda

inline void __threadfence(lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::fence(__ATOMIC_SEQ_CST, lulab::simt::host::Scope::device, site);
}
inline void __threadfence_block(lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::fence(__ATOMIC_SEQ_CST, lulab::simt::host::Scope::block, site);
}
inline void __threadfence_system(lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::fence(__ATOMIC_SEQ_CST, lulab::simt::host::Scope::system, site);
}

// The functions below are relaxed (CUDA C++ Programming Guide, "Atomic Functions"). The type comes from the pointer
// alone.
#define LULAB_ATOMIC(name, expression)                                                                               \
  template <class T>                                                                                                 \
  LULAB_INLINE T name(T* p, std::type_identity_t<T> value,                                                           \
                      lulab::simt::host::Site site = lulab::simt::host::Site::here()) {                              \
    return lulab::simt::host::atomic_update(p, __ATOMIC_RELAXED, lulab::simt::host::Scope::device, site,             \
                                            [value]([[maybe_unused]] T old) { return static_cast<T>(expression); }); \
  }                                                                                                                  \
  template <class T>                                                                                                 \
  LULAB_INLINE T name##_block(T* p, std::type_identity_t<T> value,                                                   \
                              lulab::simt::host::Site site = lulab::simt::host::Site::here()) {                      \
    return lulab::simt::host::atomic_update(p, __ATOMIC_RELAXED, lulab::simt::host::Scope::block, site,              \
                                            [value]([[maybe_unused]] T old) { return static_cast<T>(expression); }); \
  }
LULAB_ATOMIC(atomicAdd, old + value)
LULAB_ATOMIC(atomicSub, old - value)
LULAB_ATOMIC(atomicExch, value)
LULAB_ATOMIC(atomicMin, value < old ? value : old)
LULAB_ATOMIC(atomicMax, old < value ? value : old)
LULAB_ATOMIC(atomicAnd, old& value)
LULAB_ATOMIC(atomicOr, old | value)
LULAB_ATOMIC(atomicXor, old ^ value)
LULAB_ATOMIC(atomicInc, old >= value ? T(0) : old + 1)
LULAB_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef LULAB_ATOMIC

template <class T>
LULAB_INLINE T atomicCAS(T* p, std::type_identity_t<T> compare, std::type_identity_t<T> value,
                         lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::atomic_compare_exchange(p, compare, value, __ATOMIC_RELAXED, lulab::simt::host::Scope::device,
                                             site);
  return compare;
}
template <class T>
LULAB_INLINE T atomicCAS_block(T* p, std::type_identity_t<T> compare, std::type_identity_t<T> value,
                               lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::atomic_compare_exchange(p, compare, value, __ATOMIC_RELAXED, lulab::simt::host::Scope::block,
                                             site);
  return compare;
}

#undef LULAB_INLINE
