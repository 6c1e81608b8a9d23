#include "app/mpi/mpi_ranks.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include "app/command.h"
#ifdef LULAB_NCCL
#include "app/mpi/nccl_gather.h"
#endif

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
#ifdef LULAB_NCCL
    nccl_.reset();
#endif
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

#ifdef LULAB_NCCL
  /// Collective. Once each rank has chosen its device.
  void start_nccl() { nccl_ = NcclGather::create(*this); }

  Status all_gather_on_device(const void* d_mine, std::span<const std::int64_t> bytes, void* d_all,
                              simt::Stream& stream) override {
    if (!nccl_) return Ranks::all_gather_on_device(d_mine, bytes, d_all, stream);
    const Status sent = nccl_->all_gather(d_mine, bytes, d_all, stream);
    if (sent.ok()) return sent;
    // The others may wait inside NCCL, where no agreement reaches them.
    print_error(fmt::format("lulab: error: rank {} of {}: {}\n", rank_, count_, sent.to_string()));
    abort(exit_device);
    return sent;
  }
#endif

  void abort(int exit_code) override {
    if (count_ == 1) return;
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }

 private:
  int rank_ = 0, count_ = 1;
#ifdef LULAB_NCCL
  std::unique_ptr<NcclGather> nccl_;  // null: what is gathered goes through the host
#endif
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
  auto ranks = std::make_unique<MpiRanks>();
  const int on_host = rank_on_host();
  // Where no GPU answers, the search that needs one says so.
  const auto devices = simt::device_count();
  LULAB_RETURN_IF_ERROR(agree(*ranks, devices.ok() ? simt::use_device(on_host % *devices) : Status()));
#ifdef LULAB_NCCL
  if (ranks->count() > 1) ranks->start_nccl();
#endif
  return std::unique_ptr<Ranks>(std::move(ranks));
}

}  // namespace lulab::app
