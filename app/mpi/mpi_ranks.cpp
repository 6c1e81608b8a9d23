#include "app/mpi/mpi_ranks.h"

#include <algorithm>
#include <cstdio>

#include <mpi.h>

namespace lulab::app {
namespace {

/// MPI's own errors end the job: MPI_ERRORS_ARE_FATAL is the default.
class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &count_);
  }
  /// Once a rank has ended with an error the launcher stops the others: what they print is written before.
  ~MpiRanks() override {
    std::fflush(nullptr);
    MPI_Finalize();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  int rank() const override { return rank_; }
  int count() const override { return count_; }

  void broadcast(std::span<std::byte> data, int root) override {
    constexpr std::size_t most = std::size_t{1} << 30;  // MPI counts in int
    for (; !data.empty(); data = data.subspan(std::min(most, data.size())))
      MPI_Bcast(data.data(), static_cast<int>(std::min(most, data.size())), MPI_BYTE, root, MPI_COMM_WORLD);
  }

  void all_gather(std::span<const std::int64_t> mine, std::span<std::int64_t> all) override {
    const auto size = static_cast<int>(mine.size());
    MPI_Allgather(mine.data(), size, MPI_INT64_T, all.data(), size, MPI_INT64_T, MPI_COMM_WORLD);
  }

  void abort(int exit_code) override {
    if (count_ == 1) return;
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }

 private:
  int rank_ = 0, count_ = 1;
};

int rank_on_host() {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_rank(host, &rank);
  MPI_Comm_free(&host);
  return rank;
}

}  // namespace

Result<std::unique_ptr<Ranks>> start_mpi() {
  MPI_Init(nullptr, nullptr);
  std::unique_ptr<Ranks> ranks = std::make_unique<MpiRanks>();
  const int on_host = rank_on_host();
  // Where no GPU answers, the search that needs one says so.
  const auto devices = simt::device_count();
  LULAB_RETURN_IF_ERROR(agree(*ranks, devices.ok() ? simt::use_device(on_host % *devices) : Status()));
  return ranks;
}

}  // namespace lulab::app
