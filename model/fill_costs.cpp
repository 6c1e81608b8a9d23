#include "model/fill_costs.h"

#include <algorithm>

namespace lulab {
namespace {

constexpr double host_entry_us = 0.02;                                  // of L + U
constexpr double download_entry_us = 0.0012, gather_entry_us = 0.0025;  // of L + U
constexpr double call_us = 404, entry_us = 0.0064, filled_entry_us = 0.00075, renumber_us = 1500;

}  // namespace

FillCosts fill_costs(std::int64_t nnz, std::int64_t nnz_lu, bool renumbers) {
  const auto entries = static_cast<double>(nnz), filled = static_cast<double>(nnz_lu);
  return {.gilbert_peierls_us = host_entry_us * filled,
          .depth_bitmaps_us = call_us + entry_us * entries + filled_entry_us * filled + (renumbers ? renumber_us : 0)};
}

double ranks_us(double one_rank_us, std::int64_t nnz_lu, int ranks, double imbalance) {
  if (ranks == 1) return one_rank_us;
  const auto entries = static_cast<double>(nnz_lu);
  const double search_us = std::max(0.0, one_rank_us - download_entry_us * entries);
  return search_us * imbalance / ranks + gather_entry_us * entries;
}

const FillRung& choose_fill_rung(std::int64_t nnz, bool renumbers, bool gpu) {
  const FillCosts costs = fill_costs(nnz, nnz, renumbers);
  return gpu && costs.depth_bitmaps_us < costs.gilbert_peierls_us ? fill_rungs::depth_bitmaps
                                                                  : fill_rungs::gilbert_peierls;
}

}  // namespace lulab
