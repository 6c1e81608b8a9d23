#pragma once
// Processes ("ranks") that run the same program side by side, each with a device of its own, and what they tell each
// other. The MPI behind it is the program's business: app/mpi/.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/simt/device.h"
#include "core/status.h"

namespace lulab {

/// Collective functions: all ranks call them, in the same order and with data of the same size. Where the connection
/// breaks, the whole job ends.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;  // 0 .. count() - 1
  virtual int count() const = 0;

  /// Collective. Everyone's data becomes that of `root`.
  virtual void broadcast(std::span<std::byte> data, int root) = 0;
  /// Collective. all: (count, mine.size()) what each rank has, rank after rank.
  virtual void all_gather(std::span<const std::int64_t> mine, std::span<std::int64_t> all) = 0;
  /// Collective. Everyone's d_all (device memory) becomes what the ranks have at d_mine, rank after rank.
  /// bytes: (count) how many of each.
  /// Waits for the stream.   Errors out_of_memory, on all ranks; device_error, on any rank alone.
  virtual Status all_gather_on_device(const void* d_mine, std::span<const std::int64_t> bytes, void* d_all,
                                      simt::Stream& stream);
  /// Ends the other ranks, and then this one with this exit code. Returns where there are no others.
  virtual void abort(int exit_code) = 0;
};

/// A program on its own.
class OneRank final : public Ranks {
 public:
  int rank() const override { return 0; }
  int count() const override { return 1; }
  void broadcast(std::span<std::byte>, int) override {}
  void all_gather(std::span<const std::int64_t> mine, std::span<std::int64_t> all) override;
  void abort(int) override {}
};

/// Collective. ok if every rank is; else the error of the first rank that has one, on all ranks, its message beginning
/// with "rank 2 of 4: ". So no rank goes on to wait for one that gave up.
Status agree(Ranks& ranks, Status mine);

/// Collective. Everyone's values (a vector, string, array or span, of one size everywhere) become those of `root`.
template <class Values>
void broadcast_values(Ranks& ranks, Values&& values, int root) {
  ranks.broadcast(std::as_writable_bytes(std::span(values)), root);
}

}  // namespace lulab
