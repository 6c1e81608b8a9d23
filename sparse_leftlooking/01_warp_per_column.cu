// Left-looking LU, one warp a column, one launch a level.              Chen et al. 2015, section 4 (cluster mode),
// appendix A
//
//   for each level, in order                      one kernel launch; its end orders the levels
//     for each column j of the level, in parallel one warp
//       x = A(:,j)                                uncompressed: x is a dense vector of length n       (appendix A.2.1)
//       for k < j with U(k,j) != 0, ascending     nonzeros sorted, so lanes touch neighbouring memory (appendix A.2.2)
//         x(k+1:n) -= x(k) · L(k+1:n, k)          lanes share the entries of L(:,k)
//       U(1:j,j) = x(1:j);  L(j+1:n,j) = x(j+1:n) / x(j)

#include <algorithm>
#include <optional>

#include "core/device_factors.h"
#include "core/rung.h"
#include "core/simt/kernel.h"

namespace lulab::sparse_leftlooking {
namespace {

constexpr int warps_per_block = 2;  // blocks this small spread a narrow level over all SMs
constexpr int max_warps_per_sm = 32;

/// One warp eliminates one column after the other of the current level.
/// grid: at most work_slots / warps_per_block   block: 32 * warps_per_block   shared: none
/// work: (work_slots, n), one dense column a warp; only positions of the column's own pattern are read, after being
/// written.
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

    for (std::int64_t p = begin; p < diag; ++p) {  // U(k,j) != 0, ascending k
      const std::int32_t k = f.row_idx[p];
      const T u = x[k];  // final: every k' < k has been applied
      for (std::int64_t s = f.diag[k] + 1 + lane; s < f.col_ptr[k + 1]; s += 32)
        x[f.row_idx[s]] -= f.values[s] * u;  // x(i) -= L(i,k) · U(k,j); L(:,k) was finished by an earlier launch
      __syncwarp();  // RACE: lanes wrote x(i); the next k and the lanes below read them; the barrier orders them
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
    __syncwarp();  // RACE: lanes read x(i) of this column before any lane overwrites x with the next; the barrier
                   // orders them
  }
}

template <class T>
class WarpPerColumn final : public Factorizer<T> {
 public:
  Status analyze(const Analysis& analysis) override {
    factored_ = Status::error(StatusCode::invalid_argument, "there are no factors yet; call upload() and factor()");
    analysis_ = &analysis;
    auto stream = simt::Stream::create();
    if (!stream.ok()) return stream.status();
    stream_.emplace(std::move(*stream));
    auto factors = DeviceFactors<T>::create(analysis, *stream_);
    if (!factors.ok()) return factors.status();
    factors_.emplace(std::move(*factors));
    auto level_cols = simt::DeviceBuffer<std::int32_t>::create(analysis.schedule.level_cols, *stream_);
    if (!level_cols.ok()) return level_cols.status();
    d_level_cols_ = std::move(*level_cols);
    uploaded_ = false;
    return allocate_work();
  }

  Status upload(std::span<const T> values) override {
    if (!factors_) return Status::error(StatusCode::invalid_argument, "upload() needs analyze() first");
    uploaded_ = true;
    return factors_->upload(values, *stream_);
  }

  Status factor() override {
    if (!uploaded_) return Status::error(StatusCode::invalid_argument, "factor() needs analyze() and upload() first");
    factored_ = enqueue();
    return factored_;
  }

  Status wait() override {
    if (factored_.ok()) factored_ = factors_->wait(*stream_);
    return factored_;
  }

  Result<Factors<T>> download() override {
    LULAB_RETURN_IF_ERROR(wait());
    auto f = factors_->download(*stream_);
    if (f.ok()) f->statistics.peak_bytes += static_cast<std::int64_t>(sizeof(T)) * d_work_.size();
    return f;
  }

  simt::Stream* stream() override { return stream_ ? &*stream_ : nullptr; }

 private:
  // As many dense columns as warps can be resident and useful, within a quarter of the device's memory.
  Status allocate_work() {
    auto device = simt::device_properties();
    if (!device.ok()) return device.status();
    auto blocks = simt::max_resident_blocks_per_sm(eliminate_level_kernel<T>, 32 * warps_per_block, 0);
    if (!blocks.ok()) return blocks.status();
    std::int64_t widest = 0;
    const auto& level_ptr = analysis_->schedule.level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l) widest = std::max(widest, level_ptr[l + 1] - level_ptr[l]);

    const std::int64_t column_bytes = std::max<std::int64_t>(1, analysis_->filled.n) * std::int64_t(sizeof(T));
    const std::int64_t resident =
        std::int64_t(device->sm_count) * std::min(*blocks, max_warps_per_sm / warps_per_block);
    const std::int64_t useful = (widest + warps_per_block - 1) / warps_per_block;
    const std::int64_t affordable = std::int64_t(device->memory_bytes / 4) / (column_bytes * warps_per_block);
    max_blocks_ = std::max<std::int64_t>(1, std::min({resident, useful, affordable}));
    auto work = simt::DeviceBuffer<T>::create(max_blocks_ * warps_per_block * analysis_->filled.n);
    if (!work.ok()) return work.status();
    d_work_ = std::move(*work);
    return {};
  }

  Status enqueue() {
    LULAB_RETURN_IF_ERROR(factors_->scatter(*stream_));
    const auto& level_ptr = analysis_->schedule.level_ptr;
    for (std::size_t l = 0; l + 1 < level_ptr.size(); ++l) {
      const std::int64_t size = level_ptr[l + 1] - level_ptr[l];
      const std::int64_t blocks = std::min(max_blocks_, (size + warps_per_block - 1) / warps_per_block);
      LULAB_RETURN_IF_ERROR(simt::launch(
          eliminate_level_kernel<T>, {.grid = static_cast<unsigned>(blocks), .block = 32 * warps_per_block}, *stream_,
          factors_->view(), d_level_cols_.data() + level_ptr[l], size, d_work_.data()));
    }
    return {};
  }

  const Analysis* analysis_ = nullptr;
  std::optional<simt::Stream> stream_;
  std::optional<DeviceFactors<T>> factors_;
  simt::DeviceBuffer<std::int32_t> d_level_cols_;
  simt::DeviceBuffer<T> d_work_;
  std::int64_t max_blocks_ = 1;
  bool uploaded_ = false;
  Status factored_;
};

template <class T>
std::unique_ptr<Factorizer<T>> make(const FactorOptions&) {
  return std::make_unique<WarpPerColumn<T>>();
}

}  // namespace

extern const Rung warp_per_column = {
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
