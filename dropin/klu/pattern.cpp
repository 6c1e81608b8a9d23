#include "dropin/klu/pattern.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <klu.h>

#include "core/matrix/permutation.h"

namespace lulab::klu_shape {

namespace {

std::vector<int> identity(std::size_t n) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Rows and columns in block triangular form, each block in its own order still.
int find_blocks(std::span<int> Ap, std::span<int> Ai, const OrderOptions& options, BlockOrder& order) {
  const int n = static_cast<int>(Ap.size()) - 1;
  const bool is_given = options.ordering == Ordering::given;
  order.p = options.rows.empty() ? identity(n) : std::vector(options.rows.begin(), options.rows.end());
  order.q = options.columns.empty() ? identity(n) : std::vector(options.columns.begin(), options.columns.end());
  order.block_ptr = {0, n};
  if (!options.blocks) return KLU_OK;
  order.block_ptr.assign(std::size_t(n) + 1, 0);
  std::vector<int> work(5 * std::size_t(n));
  int blocks = 0;
  if (is_given) {  // the components of what is given, without a matching
    const std::vector<int> row_of = std::move(order.p), to = inverse(row_of);
    std::vector<int> Bi(Ai.size() + 1);
    std::ranges::transform(Ai, Bi.begin(), [&](int i) { return to[i]; });
    order.p.resize(n);
    blocks =
        btf_strongcomp(n, Ap.data(), Bi.data(), order.q.data(), order.p.data(), order.block_ptr.data(), work.data());
    for (int& i : order.p) i = row_of[i];
  } else {
    blocks = btf_order(n, Ap.data(), Ai.data(), options.max_work, &order.work, order.p.data(), order.q.data(),
                       order.block_ptr.data(), &order.structural_rank, work.data());
    for (int& j : order.q) j = BTF_UNFLIP(j);
  }
  order.block_ptr.resize(std::size_t(blocks) + 1);
  return KLU_OK;
}

/// The order of one block, and the entries of L in it.
int order_block(std::vector<int>& Cp, std::vector<int>& Ci, const OrderOptions& options, std::vector<int>& of_block,
                bool is_largest, BlockOrder& order) {
  const int n = static_cast<int>(Cp.size()) - 1;
  double lnz = -1, flops = -1;
  of_block = identity(n);
  if (n <= 3) {
    lnz = n * (n + 1) / 2;
    flops = n * (n - 1) / 2 + (n - 1) * n * (2 * n - 1) / 6;
  } else if (options.ordering == Ordering::amd) {
    double info[AMD_INFO];
    const int result = amd_order(n, Cp.data(), Ci.data(), of_block.data(), nullptr, info);
    if (result == AMD_OUT_OF_MEMORY) return KLU_OUT_OF_MEMORY;
    if (result < AMD_OK) return KLU_INVALID;
    lnz = info[AMD_LNZ] + n;
    flops = 2 * info[AMD_NMULTSUBS_LU] + info[AMD_NDIV];
    order.amd_bytes = std::max(order.amd_bytes, info[AMD_MEMORY]);
    if (is_largest) order.symmetry = info[AMD_SYMMETRY];
  } else if (options.ordering == Ordering::colamd) {
    int stats[COLAMD_STATS];
    const std::size_t room = colamd_recommended(Cp.back(), n, n);
    if (room == 0) return KLU_OUT_OF_MEMORY;
    if (room > std::size_t(std::numeric_limits<int>::max())) return KLU_TOO_LARGE;
    Ci.resize(room);
    if (!colamd(n, n, static_cast<int>(room), Ci.data(), Cp.data(), nullptr, stats)) return KLU_INVALID;
    std::copy_n(Cp.begin(), n, of_block.begin());
  } else {
    lnz = options.user_order(Cp, Ci, of_block);
    if (lnz == 0 || !is_permutation(of_block)) return KLU_INVALID;
  }
  order.block_lnz.push_back(lnz);
  const auto add = [](double& sum, double more) { sum = sum == -1 || more == -1 ? -1 : sum + more; };
  add(order.lnz, lnz);
  add(order.flops, flops);
  return KLU_OK;
}

}  // namespace

int order_blocks(std::span<int> Ap, std::span<int> Ai, const OrderOptions& options, BlockOrder& order) {
  if (const int status = find_blocks(Ap, Ai, options, order); status != KLU_OK) return status;
  const std::vector<int> row_to = inverse(order.p);
  const bool is_given = options.ordering == Ordering::given;
  if (!is_given) order.lnz = order.flops = 0;
  std::vector<int> Cp, Ci, of_block, before_p, before_q;
  std::size_t most = 0;
  for (int b = 0; b < order.n_blocks(); ++b) {
    const int first = order.block_ptr[b], last = order.block_ptr[b + 1];
    order.biggest = std::max(order.biggest, last - first);
    Cp = {0};
    Ci.clear();
    for (int k = first; k < last; ++k) {
      const int j = order.q[k];
      for (int at = Ap[j]; at < Ap[j + 1]; ++at) {
        if (const int i = row_to[Ai[at]]; i < first)
          ++order.outside;
        else
          Ci.push_back(i - first);
      }
      Cp.push_back(static_cast<int>(Ci.size()));
    }
    if (is_given) {
      order.block_lnz.push_back(-1);
      continue;
    }
    most = std::max(most, Ci.size());
    const bool is_largest = Ci.size() == most;
    if (const int status = order_block(Cp, Ci, options, of_block, is_largest, order); status != KLU_OK) return status;
    before_p.assign(order.p.begin() + first, order.p.begin() + last);
    before_q.assign(order.q.begin() + first, order.q.begin() + last);
    for (int k = first; k < last; ++k) {
      order.p[k] = before_p[of_block[k - first]];
      order.q[k] = before_q[of_block[k - first]];
    }
  }
  return KLU_OK;
}

void FreedPatterns::keep(std::shared_ptr<Pattern> pattern) noexcept {
  constexpr std::size_t most_entries = 500'000;
  const bool is_known_by_options = pattern->ordering == Ordering::amd || pattern->ordering == Ordering::colamd;
  if (!is_known_by_options || pattern->Ai.size() > most_entries) return;
  std::unique_ptr<Solver<double>> too_large;  // both end after the locks: that may take long
  std::shared_ptr<Pattern> dropped;
  {
    const std::scoped_lock of_pattern(pattern->lock);
    pattern->is_freed = true;
    if (pattern->spare && pattern->spare->filled().nnz() > most_kept_entries) too_large = std::move(pattern->spare);
  }
  const std::scoped_lock lock(lock_);
  auto leaves = search(pattern->n(), pattern->Ap.data(), pattern->Ai.data(), *pattern);
  if (leaves == patterns_.end() && patterns_.size() == most_patterns) leaves = patterns_.begin();
  if (leaves != patterns_.end()) {
    dropped = std::move(*leaves);
    patterns_.erase(leaves);
  }
  patterns_.push_back(std::move(pattern));
}

void complete(Pattern& pattern) {
  const int n = static_cast<int>(pattern.Ap.size()) - 1;
  CscPattern& a = pattern.a;
  a.n_rows = a.n_cols = n;
  a.col_ptr.assign(pattern.Ap.begin(), pattern.Ap.end());
  a.row_idx = pattern.Ai;
  if (!check_sorted(a).ok()) {
    pattern.place = identity(a.row_idx.size());
    for (int j = 0; j < n; ++j)
      std::sort(pattern.place.begin() + pattern.Ap[j], pattern.place.begin() + pattern.Ap[j + 1],
                [&](int s, int t) { return pattern.Ai[s] < pattern.Ai[t]; });
    std::ranges::transform(pattern.place, a.row_idx.begin(), [&](int s) { return pattern.Ai[s]; });
  }
  const BlockOrder& order = pattern.order;
  pattern.block_of_row.resize(n);
  for (int b = 0; b < order.n_blocks(); ++b)
    for (int k = order.block_ptr[b]; k < order.block_ptr[b + 1]; ++k) pattern.block_of_row[order.p[k]] = b;
}

}  // namespace lulab::klu_shape
