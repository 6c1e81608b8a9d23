#pragma once
// When each block of a sync-free factorization took its column, waited, and for which column.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/plan.h"
#include "core/status.h"

namespace lulab::bench {

struct ColumnWait {
  std::int32_t on = 0;  // column of L+U
  std::int64_t begin = 0, end = 0;
};

/// What the block of one column did.   Unit ns since the first block took a column; in the simulator scheduler steps.
struct ColumnRun {
  std::int32_t multiprocessor = 0;
  std::int64_t begin = 0, end = 0;  // it takes the column; its thread 0 has divided, before the barrier and the release
  std::vector<ColumnWait> waits;    // one for each entry of U above the diagonal, in order, also those that were short
};

struct Timeline {
  std::vector<ColumnRun> columns;  // (n) in the order of L+U
  std::optional<double> plain_ms,
      recorded_ms;  // median kernel times without and with the records; none in the simulator
};

/// The last of several factorizations by sparse_syncfree/01_sflu, whose blocks write down when.
///
/// Shapes    values: (nnz(A)), as of Factorizer::upload().
/// Errors    those of the rung.
/// Memory    20 n + 16 nnz(L+U) bytes on the device beside the rung's.
Result<Timeline> record_sflu(const Analysis& analysis, std::span<const double> values);

/// plain_ms, recorded_ms and resolution (the smallest step that the clock made), then "columns": for each
/// [multiprocessor, begin, end, [[on, begin, end], ...]], columns from 1.
nlohmann::ordered_json to_json(const Timeline& timeline);

}  // namespace lulab::bench
