#pragma once
// The time of one refactorization by sparse_leftlooking/02_pipeline, predicted from the pattern alone.
//
// A column is a sequence of subnodes, all done by one warp: load A(:,j) into x; for each U(k,j) != 0 an update by
// L(:,k), once column k is finished; store. What a subnode costs comes from bench/warp_model.h, when a column is
// finished from bench/column_queue.h.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/column_queue.h"
#include "bench/limits.h"
#include "bench/warp_model.h"

namespace lulab::bench {

enum class PipelineModel {
  published,  // Chen et al. 2015: an update is ceil(|L(:,k)| / 32) memory periods, and a finished column is seen at once
  extended,   // the periods that our kernel really waits for, a hop for every column waited for, warps at work
};
std::string_view to_string(PipelineModel model);

struct ModelOptions {
  PipelineModel model = PipelineModel::extended;
  int warps_per_sm = 32;  // resident
  int scalar_bytes = 8;
};

/// What a prediction rests on and where its time goes.
struct Prediction {
  double ms = 0;
  WarpParameters warp;  // published: with the mean miss rate, and #warp resident; extended: #warp at work
  std::array<std::int64_t, 3> subnodes = {};  // by WarpCase, the first at [0]
  WarpCase most_common = WarpCase::latency;
  double warps_at_work = 0;  // on one multiprocessor, mean over the time
  // The critical path. Its columns follow each other without a gap.
  std::int64_t critical_columns = 0;
  std::int64_t critical_updates = 0;  // entries of U above its diagonal in them
  std::int64_t critical_hops = 0;     // steps to a column that waited; the others: the warp took it after its last one
  double hop_ms = 0;                  // until a waiting warp saw the flags
  double work_ms = 0;                 // loading, updating and storing
  double launch_ms = 0;               // before the first column
};

/// Predicts one refactorization on As = analysis.filled.
///
/// Requires  scalar_bytes is 4 or 8; warps_per_sm >= 1; an Analysis as analyze() makes it.
/// Cost      O(nnz(U) + n log warps) a pass; the extended model takes a few.
/// Source    Chen et al. 2015, section 6 and appendix C.2.
Prediction predict_pipeline(const Analysis& analysis, const DeviceConstants& constants, const ModelOptions& options);

/// One JSON object, keys named as the members; with mem_cycle, mwp, mwp_req and warp_exp.
std::string to_json(const Prediction& prediction);
/// Several lines for people.
std::string to_text(const Prediction& prediction);

}  // namespace lulab::bench
