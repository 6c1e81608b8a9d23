// Records a run of 01_sflu: the same kernel, whose blocks write down the time at the four moments of Protocol.

#include "bench/timeline.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/factorizer.h"
#include "sparse_syncfree/01_sflu_kernel.h"

namespace lulab::bench {
namespace {

using sparse_syncfree::Protocol;
using sparse_syncfree::SfluBackend;

/// Thread 0 of a block writes; each element is written by one block.
struct Recording : Protocol {
  std::int64_t *begin, *end;            // (n)
  std::int32_t* multiprocessor;         // (n)
  std::int64_t *wait_begin, *wait_end;  // (nnz(L+U)), at entries of U

  __device__ void takes(std::int32_t k) const {
    Protocol::takes(k);
    if (threadIdx.x == 0) multiprocessor[k] = simt::multiprocessor();
    note(begin, k);
  }
  __device__ void begins_wait(std::int64_t ik, std::int32_t i) const {
    Protocol::begins_wait(ik, i);
    note(wait_begin, ik);
  }
  __device__ void ends_wait(std::int64_t ik) const { note(wait_end, ik); }
  __device__ void finishes(std::int32_t k) const { note(end, k); }

 private:
  __device__ static void note(std::int64_t* of, std::int64_t at) {
    if (threadIdx.x == 0) of[at] = simt::global_time();
  }
};

struct Moments {
  simt::DeviceBuffer<std::int64_t> d_begin, d_end, d_wait_begin, d_wait_end;
  simt::DeviceBuffer<std::int32_t> d_multiprocessor;
};

class RecordingBackend final : public SfluBackend<double, Recording> {
 public:
  explicit RecordingBackend(Moments& moments) : moments_(moments) {}

 private:
  Status prepare_rung() override {
    const FilledPattern& f = analysis().filled;
    for (auto* d : {&moments_.d_begin, &moments_.d_end}) LULAB_RETURN_IF_ERROR(simt::make(*d, f.n));
    for (auto* d : {&moments_.d_wait_begin, &moments_.d_wait_end}) LULAB_RETURN_IF_ERROR(simt::make(*d, f.nnz()));
    LULAB_RETURN_IF_ERROR(simt::make(moments_.d_multiprocessor, f.n));
    log_.begin = moments_.d_begin.data();
    log_.end = moments_.d_end.data();
    log_.multiprocessor = moments_.d_multiprocessor.data();
    log_.wait_begin = moments_.d_wait_begin.data();
    log_.wait_end = moments_.d_wait_end.data();
    return SfluBackend::prepare_rung();
  }

  Moments& moments_;
};

/// Median time of several refactorizations; none in the simulator, where one is run.   Unit ms.
Result<std::optional<double>> refactor_ms(Factorizer<double>& f, const Analysis& analysis,
                                          std::span<const double> values) {
  const bool is_timed = simt::machine() == simt::Machine::gpu;
  std::vector<double> times(is_timed ? 11 : 1);
  LULAB_ASSIGN_OR_RETURN(auto timer, simt::Timer::create());
  LULAB_RETURN_IF_ERROR(f.analyze(analysis));
  LULAB_RETURN_IF_ERROR(f.upload(values));
  LULAB_RETURN_IF_ERROR(f.factor());
  LULAB_RETURN_IF_ERROR(f.wait());
  for (double& ms : times) {
    LULAB_RETURN_IF_ERROR(f.upload(values));
    LULAB_RETURN_IF_ERROR(f.stream()->wait());
    LULAB_RETURN_IF_ERROR(timer.start(*f.stream()));
    LULAB_RETURN_IF_ERROR(f.refactor());
    LULAB_RETURN_IF_ERROR(timer.stop(*f.stream()));
    LULAB_RETURN_IF_ERROR(f.wait());
    LULAB_ASSIGN_OR_RETURN(ms, timer.elapsed_ms());
  }
  std::ranges::nth_element(times, times.begin() + times.size() / 2);
  return is_timed ? std::optional(times[times.size() / 2]) : std::nullopt;
}

template <class T>
Result<std::vector<T>> downloaded(const simt::DeviceBuffer<T>& d, simt::Stream& stream) {
  std::vector<T> values(d.size());
  LULAB_RETURN_IF_ERROR(d.download(values, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return values;
}

}  // namespace

Result<Timeline> record_sflu(const Analysis& analysis, std::span<const double> values) {
  const FilledPattern& f = analysis.filled;
  Timeline timeline;
  auto plain = factorizer_of<SfluBackend<double>>();
  LULAB_ASSIGN_OR_RETURN(timeline.plain_ms, refactor_ms(plain, analysis, values));
  Moments moments;
  auto recorded = factorizer_of<RecordingBackend>(moments);
  LULAB_ASSIGN_OR_RETURN(timeline.recorded_ms, refactor_ms(recorded, analysis, values));

  simt::Stream& stream = *recorded.stream();
  LULAB_ASSIGN_OR_RETURN(const auto begin, downloaded(moments.d_begin, stream));
  LULAB_ASSIGN_OR_RETURN(const auto end, downloaded(moments.d_end, stream));
  LULAB_ASSIGN_OR_RETURN(const auto multiprocessor, downloaded(moments.d_multiprocessor, stream));
  LULAB_ASSIGN_OR_RETURN(const auto wait_begin, downloaded(moments.d_wait_begin, stream));
  LULAB_ASSIGN_OR_RETURN(const auto wait_end, downloaded(moments.d_wait_end, stream));
  const std::int64_t start = begin.empty() ? 0 : *std::ranges::min_element(begin);
  for (std::int32_t k = 0; k < f.n; ++k) {
    ColumnRun& run = timeline.columns.emplace_back();
    run.multiprocessor = multiprocessor[k];
    run.begin = begin[k] - start;
    run.end = end[k] - start;
    for (std::int64_t ik = f.col_ptr[k]; ik < f.diag[k]; ++ik)
      run.waits.push_back({f.row_idx[ik], wait_begin[ik] - start, wait_end[ik] - start});
  }
  return timeline;
}

nlohmann::ordered_json to_json(const Timeline& timeline) {
  std::vector<std::int64_t> moments;
  auto columns = nlohmann::ordered_json::array();
  for (const ColumnRun& run : timeline.columns) {
    auto waits = nlohmann::ordered_json::array();
    moments.insert(moments.end(), {run.begin, run.end});
    for (const ColumnWait& wait : run.waits) {
      waits.push_back({wait.on + 1, wait.begin, wait.end});
      moments.insert(moments.end(), {wait.begin, wait.end});
    }
    columns.push_back({run.multiprocessor, run.begin, run.end, std::move(waits)});
  }
  std::ranges::sort(moments);
  std::int64_t resolution = 0, last = 0;
  for (const std::int64_t moment : moments) {
    if (moment > last && (resolution == 0 || moment - last < resolution)) resolution = moment - last;
    last = moment;
  }
  nlohmann::ordered_json json;
  if (timeline.plain_ms) json["plain_ms"] = *timeline.plain_ms;
  if (timeline.recorded_ms) json["recorded_ms"] = *timeline.recorded_ms;
  json["resolution"] = resolution;
  json["columns"] = std::move(columns);
  return json;
}

}  // namespace lulab::bench
