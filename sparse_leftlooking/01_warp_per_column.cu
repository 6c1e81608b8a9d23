// Left-looking LU, one warp a column, one launch a level.         Chen et al. 2015, section 4 (cluster mode), appendix A
//
//   for each level, in order                      one kernel launch; its end orders the levels
//     for each column j of the level, in parallel one warp
//       x = A(:,j)                                uncompressed: x is a dense vector of length n       (appendix A.2.1)
//       for k < j with U(k,j) != 0, ascending     nonzeros sorted, so lanes touch neighbouring memory (appendix A.2.2)
//         x(k+1:n) -= x(k) · L(k+1:n, k)          lanes share the entries of L(:,k)
//       U(1:j,j) = x(1:j);  L(j+1:n,j) = x(j+1:n) / x(j)

#include <algorithm>

#include "core/device_factorizer.h"
#include "core/simt/kernel.h"
#include "sparse_leftlooking/rungs.h"

namespace lulab::sparse_leftlooking {
namespace {

constexpr int warps_per_block = 2;  // blocks this small spread a narrow level over all SMs
constexpr int max_blocks_per_sm = 16;
constexpr int batch = 8;   // entries of U(:,j) whose columns of L are fetched together
constexpr int strips = 4;  // of 32 entries of a long L(:,k) in flight together; 8 cost registers and lose on circuits
constexpr std::int32_t none = -1;

/// x(i) -= L(i,k) · u for entries s, s + 32, ... of `strips` strips before `last`: their rows differ, so all loads may come
/// before the first store and wait for memory together (7.7 -> 2.5 s on af23560, H200).
template <class T>
__device__ __forceinline__ void subtract_strips(const DeviceFactorsView<T>& f, std::int64_t s, std::int64_t last, T u,
                                                T* x) {
  std::int32_t row[strips];
  T l[strips], sum[strips];
#pragma unroll
  for (int q = 0; q < strips; ++q) {
    const bool mine = s + 32 * q < last;
    row[q] = mine ? f.row_idx[s + 32 * q] : none;
    l[q] = mine ? f.values[s + 32 * q] : T(0);
  }
#pragma unroll
  for (int q = 0; q < strips; ++q) sum[q] = row[q] != none ? x[row[q]] : T(0);
#pragma unroll
  for (int q = 0; q < strips; ++q)
    if (row[q] != none) x[row[q]] = sum[q] - l[q] * u;
}

/// One warp eliminates one column after the other of the current level.
/// grid: at most work_slots / warps_per_block   block: 32 * warps_per_block   shared: none
/// work: (work_slots, n), one dense column a warp; only positions of the column's own pattern are used
template <class T>
__global__ void eliminate_level_kernel(DeviceFactorsView<T> f, const std::int32_t* level_cols, std::int64_t level_size,
                                       T* work) {
  const int lane = threadIdx.x % 32;
  const std::int64_t warp = (std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const std::int64_t n_warps = std::int64_t(gridDim.x) * blockDim.x / 32;
  T* x = work + warp * f.n;  // (n)

  for (std::int64_t c = warp; c < level_size; c += n_warps) {
    const std::int32_t j = level_cols[c];
    const std::int64_t begin = f.col_ptr[j], diag = f.diag[j], end = f.col_ptr[j + 1];
    for (std::int64_t s = begin + lane; s < end; s += 32) x[f.row_idx[s]] = f.values[s];  // x = A(:,j), zero at fill-in
    __syncwarp();  // RACE: lanes wrote x(i); every lane reads x(k) below; the barrier orders them

    // U(k,j) != 0, ascending k, in batches: what does not depend on x is fetched for a whole batch at once, so that only
    // x(k) -> x(i) remains a chain of memory latencies (12.6 -> 8.5 ms on seq_nr_case13659pegase, H200).
    for (std::int64_t p = begin; p < diag; p += batch) {
      std::int32_t k[batch], row[batch];
      std::int64_t first[batch], last[batch];
      T l[batch];
#pragma unroll
      for (int e = 0; e < batch; ++e) k[e] = p + e < diag ? f.row_idx[p + e] : none;
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        first[e] = k[e] == none ? 0 : f.diag[k[e]] + 1;  // L(:,k) lies at [first, last); an earlier launch finished it
        last[e] = k[e] == none ? 0 : f.col_ptr[k[e] + 1];
      }
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        const bool mine = first[e] + lane < last[e];
        row[e] = mine ? f.row_idx[first[e] + lane] : none;
        l[e] = mine ? f.values[first[e] + lane] : T(0);
      }
#pragma unroll
      for (int e = 0; e < batch; ++e) {
        if (k[e] == none) break;
        const T u = x[k[e]];  // final: every k' < k has been applied
        if (row[e] != none) x[row[e]] -= l[e] * u;
        for (std::int64_t s = first[e] + 32 + lane; s < last[e]; s += 32 * strips)
          subtract_strips(f, s, last[e], u, x);  // x(i) -= L(i,k) · U(k,j)
        __syncwarp();  // RACE: lanes wrote x(i); the next k and the lanes below read them; the barrier orders them
      }
    }

    const T pivot = x[j];
    bool sound = pivot != T(0);
    for (std::int64_t s = begin + lane; s < end; s += 32) {
      const T value = s <= diag ? x[f.row_idx[s]] : x[f.row_idx[s]] / pivot;  // U(1:j,j), then L(j+1:n,j)
      f.values[s] = value;
      sound = sound && value - value == T(0);  // false for NaN and infinity
    }
    // RACE: warps of this launch lower failed_column; the atomic orders them, the end of the launch publishes it
    if (!sound) atomicMin(f.failed_column, j);
    __syncwarp();  // RACE: lanes read x(i) of this column, lanes write x with the next; the barrier orders them
  }
}

template <class T>
class WarpPerColumn final : public DeviceFactorizer<T> {
 protected:
  // As many dense columns as warps can be resident and useful, within a quarter of the device's memory.
  Status prepare() override {
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    auto blocks_per_sm = simt::max_resident_blocks_per_sm(eliminate_level_kernel<T>, 32 * warps_per_block);
    if (!blocks_per_sm.ok()) return blocks_per_sm.status();
    const auto& level_ptr = this->analysis().schedule.level_ptr;
    std::int64_t widest = 0;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l) widest = std::max(widest, level_ptr[l + 1] - level_ptr[l]);

    const std::int64_t n = this->analysis().filled.n;
    const std::int64_t block_bytes = warps_per_block * std::max<std::int64_t>(n, 1) * std::int64_t(sizeof(T));
    const std::int64_t resident = std::int64_t(device->sm_count) * std::min(*blocks_per_sm, max_blocks_per_sm);
    const std::int64_t affordable = std::int64_t(device->memory_bytes / 4) / block_bytes;
    max_blocks_ = std::max<std::int64_t>(1, std::min({resident, blocks_for(widest), affordable}));

    auto work = simt::DeviceBuffer<T>::create(max_blocks_ * warps_per_block * n);
    if (!work.ok()) return work.status();
    d_work_ = std::move(*work);
    auto level_cols = simt::DeviceBuffer<std::int32_t>::create(this->analysis().schedule.level_cols, *this->stream());
    if (!level_cols.ok()) return level_cols.status();
    d_level_cols_ = std::move(*level_cols);
    return {};
  }

  Status enqueue(const DeviceFactorsView<T>& f, simt::Stream& stream) override {
    const auto& level_ptr = this->analysis().schedule.level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l) {
      const std::int64_t size = level_ptr[l + 1] - level_ptr[l];
      const auto grid = static_cast<unsigned>(std::min(max_blocks_, blocks_for(size)));
      LULAB_RETURN_IF_ERROR(simt::launch(eliminate_level_kernel<T>, {.grid = grid, .block = 32 * warps_per_block},
                                         stream, f, d_level_cols_.data() + level_ptr[l], size, d_work_.data()));
    }
    return {};
  }

  std::int64_t work_bytes() const override {
    return std::int64_t(sizeof(T)) * d_work_.size() + std::int64_t(sizeof(std::int32_t)) * d_level_cols_.size();
  }

 private:
  static std::int64_t blocks_for(std::int64_t columns) { return (columns + warps_per_block - 1) / warps_per_block; }

  simt::DeviceBuffer<std::int32_t> d_level_cols_;
  simt::DeviceBuffer<T> d_work_;
  std::int64_t max_blocks_ = 1;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<WarpPerColumn<T>>();
}

}  // namespace

const Rung warp_per_column = {
    .facts = {.id = "sparse_leftlooking/01_warp_per_column",
              .stage = "sparse_leftlooking",
              .paper = "Chen et al. 2015, section 4, cluster mode",
              .idea = "one warp eliminates one column in a dense work vector; one launch a level",
              .pivoting = Pivoting::fixed,
              .device = Device::gpu,
              .deterministic = true,
              .refactors = true},
    .make_float = make<float>,
    .make_double = make<double>};

}  // namespace lulab::sparse_leftlooking
