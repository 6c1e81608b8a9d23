#pragma once
// Warp-level primitives. Shuffles, votes, matches and reductions exchange values; only __syncwarp orders memory
// (CUDA C++ Programming Guide, "Warp Shuffle Functions": "do not imply a memory barrier").

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/simt/host/runtime.h"
#include "core/simt/host/types.h"

namespace lulab::simt::host {

template <class T>
std::uint64_t to_bits(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "warp primitives move up to 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
T shuffle(unsigned mask, T value, int source_lane, Site site) {
  return from_bits<T>(warp_collective(WarpOp::shuffle, mask, to_bits(value), source_lane, site));
}

}  // namespace lulab::simt::host

inline void __syncwarp(unsigned mask = 0xffffffffu, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::sync, mask, 0, 0, site);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  const int first = lulab::simt::host::lane_id() & ~(width - 1);
  return lulab::simt::host::shuffle(mask, value, first | (source & (width - 1)), site);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  const int lane = lulab::simt::host::lane_id();
  const int source = lane - static_cast<int>(delta);
  return lulab::simt::host::shuffle(mask, value, source < (lane & ~(width - 1)) ? lane : source, site);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  const int lane = lulab::simt::host::lane_id();
  const int source = lane + static_cast<int>(delta);
  return lulab::simt::host::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, site);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  const int lane = lulab::simt::host::lane_id();
  const int source = lane ^ lane_mask;
  return lulab::simt::host::shuffle(mask, value, source > (lane | (width - 1)) ? lane : source, site);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::ballot, mask, predicate != 0, 0, site));
}
inline int __any_sync(unsigned mask, int predicate, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<int>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::any, mask, predicate != 0, 0, site));
}
inline int __all_sync(unsigned mask, int predicate, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<int>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::all, mask, predicate != 0, 0, site));
}
/// CUDA promises nothing about which other lanes are converged here, so the simulator names the caller alone.
inline unsigned __activemask() { return 1u << lulab::simt::host::lane_id(); }

template <class T>
unsigned __match_any_sync(unsigned mask, T value, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::match_any, mask,
                                                                  lulab::simt::host::to_bits(value), 0, site));
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* predicate,
                          lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  const auto all = static_cast<unsigned>(lulab::simt::host::warp_collective(
      lulab::simt::host::WarpOp::match_all, mask, lulab::simt::host::to_bits(value), 0, site));
  *predicate = all != 0;
  return all;
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value,
                                  lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::add, mask, value, 0, site));
}
inline int __reduce_add_sync(unsigned mask, int value, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value), site));
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value,
                                  lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::min_unsigned, mask, value, 0, site));
}
inline int __reduce_min_sync(unsigned mask, int value, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<int>(lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::min_signed, mask,
                                                             static_cast<unsigned>(value), 0, site));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value,
                                  lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::max_unsigned, mask, value, 0, site));
}
inline int __reduce_max_sync(unsigned mask, int value, lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<int>(lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::max_signed, mask,
                                                             static_cast<unsigned>(value), 0, site));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value,
                                  lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::bit_and, mask, value, 0, site));
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value,
                                 lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::bit_or, mask, value, 0, site));
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value,
                                  lulab::simt::host::Site site = lulab::simt::host::Site::here()) {
  return static_cast<unsigned>(
      lulab::simt::host::warp_collective(lulab::simt::host::WarpOp::bit_xor, mask, value, 0, site));
}
