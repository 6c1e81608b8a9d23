#include <algorithm>
#include <functional>
#include <new>
#include <queue>

#include "symbolic/fill.h"
#include "symbolic/rungs.h"

namespace lulab {

std::span<const FillRung* const> every_fill_rung() {
  static constexpr const FillRung* all[] = {
#define LULAB_RUNG(name) &fill_rungs::name,
#include "symbolic/rungs.def"
#undef LULAB_RUNG
  };
  return all;
}

const FillRung fill_rungs::reference = {
    .id = "symbolic/00_reference",
    .paper = "Gilbert & Peierls 1988, section 2; Rose & Tarjan 1978, theorem 1",
    .idea = "the definition: column by column, the union of the columns of L that it needs",
    .device = Device::cpu,
    .fill = [](CscPatternView b, const FillLimits&, FillWork*) { return fill_reference(b); }};

namespace {

FilledPattern eliminate_by_definition(CscPatternView b) {
  using AscendingQueue = std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<std::int32_t>>;
  FilledPattern f;
  f.n = b.n_cols;
  std::vector<bool> in_x(f.n, false);
  std::vector<std::int32_t> x;  // pattern of column j
  AscendingQueue upper;         // its rows k < j whose column is still to be subtracted
  for (std::int32_t j = 0; j < f.n; ++j) {
    x.clear();
    const auto add = [&](std::int32_t i) {
      if (in_x[i]) return;
      in_x[i] = true;
      x.push_back(i);
      if (i < j) upper.push(i);
    };
    add(j);
    for (std::int64_t s = b.col_ptr[j]; s < b.col_ptr[j + 1]; ++s) add(b.row_idx[s]);  // x = B(:,j)
    while (!upper.empty()) {
      const std::int32_t k = upper.top();  // x(k) != 0, ascending
      upper.pop();
      for (std::int64_t s = f.diag[k] + 1; s < f.col_ptr[k + 1]; ++s) add(f.row_idx[s]);  // x -= L(:,k) x(k)
    }
    std::sort(x.begin(), x.end());
    f.diag.push_back(f.nnz() + (std::lower_bound(x.begin(), x.end(), j) - x.begin()));
    f.row_idx.insert(f.row_idx.end(), x.begin(), x.end());
    f.col_ptr.push_back(f.nnz());
    for (const std::int32_t i : x) in_x[i] = false;
  }
  return f;
}

}  // namespace

Status check_fillable(CscPatternView b) {
  if (b.n_rows != b.n_cols) return Status::error(StatusCode::invalid_argument, "fill needs a square matrix");
  return check_sorted(b);
}

Status no_memory_for_fill() {
  return Status::error(StatusCode::out_of_memory, "the pattern of L + U does not fit into memory; try another order");
}

Result<FilledPattern> fill_reference(CscPatternView b) try {
  LULAB_RETURN_IF_ERROR(check_fillable(b));
  return eliminate_by_definition(b);
} catch (const std::bad_alloc&) {
  return no_memory_for_fill();
}

double factor_flops(const FilledPattern& f) {
  std::vector<std::int64_t> u(f.n, 0);
  for (std::int32_t j = 0; j < f.n; ++j)
    for (std::int64_t s = f.col_ptr[j]; s < f.diag[j]; ++s) ++u[f.row_idx[s]];
  double flops = 0;
  for (std::int32_t k = 0; k < f.n; ++k) {
    const auto l = static_cast<double>(f.col_ptr[k + 1] - f.diag[k] - 1);
    flops += l + 2 * l * static_cast<double>(u[k]);
  }
  return flops;
}

}  // namespace lulab
