// lulab_judge() with n up to 6 and any col_ptr, row_idx, p, q in arrays of the full length: no access outside of them,
// and what it accepts is a factorization. The first characters: n, convention, bases and which arrays are given.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "fuzz/characters.h"
#include "fuzz/reproduces.h"
#include "verify/lulab_judge.h"

using namespace lulab;
using fuzz::require;

namespace {

struct Matrix {
  CscMatrix<double> m;

  Matrix(fuzz::Characters& in, int n, int base) {
    if (in.choice(2) == 0) {
      m = in.matrix(n);
      for (auto& v : m.col_ptr) v += base;
      for (auto& v : m.row_idx) v += base;
    } else {
      m.col_ptr.clear();
      m.n_rows = m.n_cols = n;
      for (int j = 0; j <= n; ++j) m.col_ptr.push_back(in.integer());
    }
    while (std::ssize(m.row_idx) < n * n) {
      m.row_idx.push_back(static_cast<std::int32_t>(in.integer()));
      m.values.push_back(in.entry().value_or(1));
    }
  }
  lulab_judge_matrix view() const { return {m.col_ptr.data(), m.row_idx.data(), m.values.data()}; }
  CscMatrix<double> from_zero(int base) const {  // accepted: col_ptr is valid
    CscMatrix<double> a = m;
    for (auto& v : a.col_ptr) v -= base;
    a.row_idx.resize(a.col_ptr.back());  // what follows is any number
    a.values.resize(a.col_ptr.back());
    for (auto& v : a.row_idx) v -= base;
    return a;
  }
};

std::vector<std::int64_t> order(fuzz::Characters& in, int n) {
  std::vector<std::int64_t> p;
  for (int k = 0; k < n; ++k) p.push_back(in.integer());
  return p;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Characters in(data, size);
  lulab_judge_input input;
  lulab_judge_report report;
  lulab_judge_init(&input, sizeof input, &report, sizeof report);
  const int n = input.n = in.choice(7);
  input.convention = in.choice(10);  // 9: there is none
  const int base = input.index_base = in.choice(2);
  input.order_base = in.choice(4) - 1;  // 2: there is none
  const int orders = in.choice(4), scales = in.choice(4), more = in.choice(4);
  const Matrix a(in, n, base), l(in, n, base), u(in, n, base);
  input.a = a.view(), input.l = l.view(), input.u = u.view();
  const std::vector<std::int64_t> p = order(in, n), q = order(in, n);
  if (orders & 1) input.p = p.data();
  if (orders & 2) input.q = q.data();
  const std::vector<double> r = in.vector(n), c = in.vector(n);
  if (scales & 1) input.r = r.data();
  if (scales & 2) input.c = c.data();
  const std::vector<double> x = in.vector(n), b = in.vector(n);
  if (more & 1) input.x = x.data(), input.b = b.data();
  const Matrix f(in, n, base);
  if (more & 2) input.f = f.view();

  const int code = lulab_judge(&input, &report);
  require(code == LULAB_JUDGE_OK || code == LULAB_JUDGE_BAD_INPUT, "lulab_judge returns {}", code);
  if (code == LULAB_JUDGE_BAD_INPUT) {
    require(report.what[0] != 0, "bad input without a sentence");
    return 0;
  }
  require(report.accepted == (report.fault == LULAB_FAULT_NONE), "accepted {}, fault {}", report.accepted,
          report.fault);
  if (!report.accepted || report.convention != LULAB_JUDGE_LULAB || (more & 2)) return 0;
  const auto from_zero = [&](const std::vector<std::int64_t>& given) {  // accepted: it is a permutation
    std::vector<std::int64_t> order = given;
    const std::int64_t sum = std::accumulate(order.begin(), order.end(), std::int64_t{0});
    for (std::int64_t& v : order) v -= sum == n * (n + 1) / 2 ? 1 : 0;
    return order;
  };
  fuzz::require_reproduced(a.from_zero(base), l.from_zero(base), u.from_zero(base),
                           orders & 1 ? from_zero(p) : std::vector<std::int64_t>{},
                           orders & 2 ? from_zero(q) : std::vector<std::int64_t>{},
                           scales & 1 ? r : std::vector<double>{}, scales & 2 ? c : std::vector<double>{}, 30);
  return 0;
}
