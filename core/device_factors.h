#pragma once
// As in device memory: what every GPU rung needs before and after its own kernel.

#include <span>
#include <vector>

#include "core/plan.h"
#include "core/simt/device.h"

namespace lulab {

/// What a numeric kernel sees of the filled pattern; passed by value.
template <class T>
struct DeviceFactorsView {
  std::int32_t n;
  const std::int64_t* col_ptr;  // (n + 1)
  const std::int32_t* row_idx;  // (nnz) ascending in each column (L's: see RowOrder)
  const std::int64_t* diag;     // (n) position of entry (j,j)
  T* values;                    // (nnz) P·R·A·C·Q, zero at fill-in; after begin() anything. On exit L and U
  std::int32_t* failed_column;  // smallest column with a zero pivot or a non-finite entry; n: none
  T perturb_pivots;             // see FactorOptions; of rungs that perturb
  const T* a_max;               // max |P·R·A·C·Q|; after begin() only where pivots are perturbed
  std::int32_t* perturbed;      // pivots that were; 0 on entry
};

/// P·R·A·C·Q entry by entry, in the order of A: values[k] times scale[k] or scale_short[k], whichever there is. For
/// rungs that take A's values themselves, instead of finding them in As.
template <class T>
struct ScaledValues {
  const T* values;           // (nnz(A)) of the first system
  const T* scale;            // (nnz(A)) or null
  const float* scale_short;  // (nnz(A)) or null
};

/// How the rows of L(:,j) lie in row_idx. Shuffled ones are for measuring what sorting wins (Chen et al. 2015, appendix
/// A.2.2), in kernels that do not ask for sorted rows of L; U's are sorted always.
enum class RowOrder { sorted, shuffled };

struct DeviceFactorsOptions {
  RowOrder order = RowOrder::sorted;
  double perturb_pivots = 0;  // see FactorOptions
  bool pattern = true;        // false: the view's col_ptr, row_idx and diag are null
  std::int32_t systems = 1;   // value sets of the one pattern
};

/// As, the values of A and their way into As, in device memory. With several systems, theirs lie one after another:
/// value p of system s at s · nnz + p, failed_column, perturbed and a_max at s.
///
/// Errors of all calls: out_of_memory, device_error, invalid_argument.
template <class T>
class DeviceFactors {
 public:
  /// Uploads the pattern-only data. `analysis` must outlive the object.
  static Result<DeviceFactors> create(const Analysis& analysis, simt::Stream& stream,
                                      const DeviceFactorsOptions& options = {});

  /// Other scalings in the plan of the analysis. Waits for the stream.
  Status take_scales(simt::Stream& stream);
  /// Enqueues the copy of A's values: (nnz(A), systems) in A's own order.
  Status upload(std::span<const T> a_values, simt::Stream& stream);
  /// The same from device memory.
  Status upload_from_device(const T* d_a_values, simt::Stream& stream);
  /// Enqueues As <- 0 and forgets earlier failures. Every (re)factorization starts with it.
  Status clear(simt::Stream& stream);
  /// The same without As <- 0, for rungs that take scaled_values().
  Status clear_outcome(simt::Stream& stream);
  /// Enqueues As <- P·R·A·C·Q.   Requires  clear() before it.
  Status scatter(simt::Stream& stream);
  /// In place of scatter() for rungs that take scaled_values(); enqueues a_max where pivots are perturbed.
  /// Requires  clear_outcome() before it.
  Status begin(simt::Stream& stream);
  ScaledValues<T> scaled_values() const;
  /// Of the first system.
  DeviceFactorsView<T> view() const;
  /// The values last uploaded.
  const T* a_values() const { return d_a_values_.data(); }
  /// Pivots that were perturbed, as of the last wait().
  std::int32_t perturbed_pivots(std::int32_t system = 0) const { return perturbed_.empty() ? 0 : perturbed_[system]; }
  /// Enqueues the copy that wait() reads; without this call wait() does so itself.
  Status download_outcome(simt::Stream& stream);
  /// Waits for the stream.   Errors needs_repivot with where.columns = the failed column in A's numbering, of the first
  /// system that failed.
  Status wait(simt::Stream& stream);
  /// Waits for the stream.   Shapes statuses: (systems), ok on entry; needs_repivot as above where a system failed.
  Status wait(std::span<Status> statuses, simt::Stream& stream);
  /// L and U on the host, with pivot growth. Waits for the stream.
  Result<Factors<T>> download(simt::Stream& stream, std::int32_t system = 0);
  /// Only the values. Waits for the stream.   Shapes values: (nnz).
  Status download_values(std::span<T> values, simt::Stream& stream, std::int32_t system = 0);
  /// Bytes of device memory held.
  std::int64_t bytes() const;

 private:
  Status clear(std::int64_t nnz, simt::Stream& stream);
  /// P·R·A·C·Q to `values`, or only its size where that is null.
  Status launch_scatter(T* values, simt::Stream& stream);
  template <class Place, class Scale>
  Status launch_scatter(T* values, const Place* d_place, const Scale* d_scale, simt::Stream& stream);

  const Analysis* analysis_ = nullptr;
  std::vector<std::int64_t> shuffled_;  // (nnz) where each entry of As lies; empty: in its place
  simt::DeviceBuffer<std::int64_t> d_col_ptr_, d_diag_;
  simt::DeviceBuffer<std::int32_t> d_row_idx_;
  simt::DeviceBuffer<std::int64_t> d_a_to_filled_;         // (nnz(A)), or none:
  simt::DeviceBuffer<std::uint32_t> d_a_to_filled_short_;  // the same where As has less than 2^32 entries
  simt::DeviceBuffer<T> d_a_scale_;                        // (nnz(A)), or none:
  simt::DeviceBuffer<float> d_a_scale_short_;              // the same where it is exact, as of powers of two
  simt::DeviceBuffer<T> d_values_, d_a_values_;
  simt::HostBuffer<std::int32_t> outcome_;      // (systems, 2) failed columns, then perturbed pivots
  simt::DeviceBuffer<std::int32_t> d_outcome_;  // the same
  simt::DeviceBuffer<T> d_a_max_;               // (systems) max |P·R·A·C·Q|
  bool lacks_a_max_ = false;                    // download() finds it
  bool fetched_ = false;                        // outcome_, since the last scatter() or begin()
  T perturb_pivots_ = T(0);
  std::int32_t systems_ = 1;
  std::vector<std::int32_t> perturbed_;  // (systems)
};

}  // namespace lulab
