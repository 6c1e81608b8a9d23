#pragma once
// The time of one refactorization by sparse_leftlooking/02_pipeline, predicted from the pattern alone.
//
// One warp processes a column as a sequence of subnodes: load A(:,j) into x; for each U(k,j) != 0 wait for column k and
// update by L(:,k); store. model/warp_model.h gives the cost of a subnode, model/column_queue.h the time when each
// column is finished.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/column_queue.h"
#include "model/limits.h"
#include "model/warp_model.h"

namespace lulab {

enum class PipelineModel {
  published,  // Chen et al. 2015: an update takes ceil(|L(:,k)| / 32) periods; finished columns are visible at once
  extended,   // adds the periods our kernel waits for, a hop for every wait, and the number of working warps
};
std::string_view to_string(PipelineModel model);

struct ModelOptions {
  PipelineModel model = PipelineModel::extended;
  int warps_per_sm = 32;  // resident warps
  int scalar_bytes = 8;
};

/// A prediction: its parameters and the parts of its time.
struct Prediction {
  double ms = 0;
  WarpParameters warp;  // published: mean miss rate, #warp = resident warps; extended: #warp = working warps
  std::array<std::int64_t, 3> subnodes = {};  // number by WarpCase, case 1 at [0]
  WarpCase most_common = WarpCase::latency;
  double warps_at_work = 0;  // mean number on one multiprocessor
  // The critical path. Its columns follow each other without a gap.
  std::int64_t critical_columns = 0;
  std::int64_t critical_updates = 0;  // off-diagonal entries of U in them
  std::int64_t critical_hops = 0;     // steps to a column that waited (other steps: the same warp took the next column)
  double hop_ms = 0;                  // until a waiting warp sees the flag
  double work_ms = 0;                 // loading, updating and storing
  double launch_ms = 0;               // before the first column
};

/// Predicts one refactorization on As = analysis.filled.
///
/// Requires  scalar_bytes is 4 or 8; warps_per_sm >= 1; an Analysis made by analyze().
/// Cost      O(nnz(U) + n log warps) per pass; the extended model takes a few passes.
/// Source    Chen et al. 2015, section 6 and appendix C.2.
Prediction predict_pipeline(const Analysis& analysis, const DeviceConstants& constants, const ModelOptions& options);

/// One JSON object, keys named as the members, plus mem_cycle, mwp, mwp_req and warp_exp.
std::string to_json(const Prediction& prediction);
/// Several lines of text.
std::string to_text(const Prediction& prediction);

}  // namespace lulab
