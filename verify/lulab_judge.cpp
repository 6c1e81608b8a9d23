#include "verify/lulab_judge.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include <fmt/format.h>

#include "verify/foreign.h"

namespace lulab {

namespace {

static_assert(static_cast<int>(Convention::lapack_ipiv) == LULAB_JUDGE_LAPACK_IPIV);
static_assert(static_cast<int>(Fault::solution) == LULAB_FAULT_SOLUTION);

struct BadInput {
  std::string what;
};

void copy_text(char* to, const std::string& text) {
  std::size_t length = std::min<std::size_t>(text.size(), LULAB_JUDGE_TEXT - 1);
  while (length < text.size() && length > 0 && (text[length] & 0xC0) == 0x80) --length;  // no half of a letter
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

CscMatrix<double> matrix_of(const char* name, const lulab_judge_matrix& given, std::int32_t n, std::int64_t base) {
  if (given.col_ptr == nullptr) throw BadInput{fmt::format("{}: col_ptr is null", name)};
  if (given.col_ptr[0] != base)
    throw BadInput{
        fmt::format("{}: col_ptr begins with {}, expected {}; see index_base", name, given.col_ptr[0], base)};
  for (std::int32_t j = 0; j < n; ++j)
    if (given.col_ptr[j] > given.col_ptr[j + 1] || given.col_ptr[j + 1] - given.col_ptr[j] > n)
      throw BadInput{fmt::format("{}: column {} has {} entries", name, j + 1,
                                 static_cast<double>(given.col_ptr[j + 1]) - static_cast<double>(given.col_ptr[j]))};
  if (given.col_ptr[n] > base && (given.row_idx == nullptr || given.values == nullptr))
    throw BadInput{fmt::format("{}: row_idx or values is null", name)};
  CscMatrix<double> m;
  m.n_rows = m.n_cols = n;
  std::vector<std::pair<std::int32_t, double>> column;
  for (std::int32_t j = 0; j < n; ++j) {
    column.clear();
    for (std::int64_t k = given.col_ptr[j] - base; k < given.col_ptr[j + 1] - base; ++k) {
      const std::int64_t i = given.row_idx[k] - base;
      if (i < 0 || i >= n)
        throw BadInput{fmt::format("{}: row {} in column {} is not in {}..{}; see index_base", name, given.row_idx[k],
                                   j + base, base, n - 1 + base)};
      column.emplace_back(static_cast<std::int32_t>(i), given.values[k]);
    }
    std::ranges::sort(column, {}, [](const auto& entry) { return entry.first; });
    for (const auto& [i, v] : column) {
      m.row_idx.push_back(i);
      m.values.push_back(v);
    }
    m.col_ptr.push_back(m.nnz());
  }
  return m;
}

template <class T>
std::vector<T> vector_of(const T* given, std::int32_t n) {
  return given == nullptr ? std::vector<T>{} : std::vector<T>(given, given + n);
}

void write_report(const Judgement& judgement, lulab_judge_report& out) {
  out.accepted = judgement.accepted;
  out.convention = static_cast<std::int32_t>(judgement.convention);
  for (const JudgedCheck& check : judgement.checks) {
    if (out.check_count == LULAB_JUDGE_CHECKS) break;
    const int verdict = check.result == JudgedCheck::Result::passed   ? LULAB_CHECK_PASSED
                        : check.result == JudgedCheck::Result::failed ? LULAB_CHECK_FAILED
                                                                      : LULAB_CHECK_REPORTED;
    out.checks[out.check_count++] = {check.name.data(), check.formula.data(), check.value, check.limit, verdict};
  }
  if (!judgement.finding) return;
  const Finding& f = *judgement.finding;
  out.fault = static_cast<std::int32_t>(f.fault);
  out.row = f.row;
  out.column = f.column;
  out.found = f.found;
  out.wanted = f.wanted;
  copy_text(out.what, f.what);
  copy_text(out.advice, f.advice);
  if (!f.window) return;
  out.window_row = f.window->row;
  out.window_column = f.window->column;
  out.window_rows = f.window->rows;
  out.window_columns = f.window->columns;
  std::ranges::copy(f.window->wanted, out.window_wanted);
  std::ranges::copy(f.window->found, out.window_found);
}

int judge_input(const lulab_judge_input& in, lulab_judge_report& out) {
  if (in.n < 0) throw BadInput{fmt::format("n = {} is negative", in.n)};
  if (in.convention < LULAB_JUDGE_AUTO || in.convention > LULAB_JUDGE_LAPACK_IPIV)
    throw BadInput{fmt::format("there is no convention {}", in.convention)};
  if (in.index_base != 0 && in.index_base != 1) throw BadInput{"index_base is neither 0 nor 1"};
  ForeignFactors given;
  const CscMatrix<double> a = matrix_of("A", in.a, in.n, in.index_base);
  given.l = matrix_of("L", in.l, in.n, in.index_base);
  given.u = matrix_of("U", in.u, in.n, in.index_base);
  if (in.f.col_ptr != nullptr) given.f = matrix_of("F", in.f, in.n, in.index_base);
  given.p = vector_of(in.p, in.n);
  given.q = vector_of(in.q, in.n);
  given.r = vector_of(in.r, in.n);
  given.c = vector_of(in.c, in.n);
  JudgeOptions options;
  options.convention = static_cast<Convention>(in.convention);
  options.index_base = in.order_base;
  if (in.tolerance != 0) options.tolerance = in.tolerance;
  options.seed = in.seed;
  options.x = vector_of(in.x, in.n);
  options.b = vector_of(in.b, in.n);
  const Result<Judgement> judgement = judge_foreign(a, given, options);
  if (!judgement.ok()) throw BadInput{judgement.status().message};
  write_report(*judgement, out);
  return LULAB_JUDGE_OK;
}

}  // namespace

}  // namespace lulab

extern "C" {

void lulab_judge_init(lulab_judge_input* input, size_t input_size, lulab_judge_report* report, size_t report_size) {
  if (input != nullptr && input_size >= sizeof(size_t)) {
    lulab_judge_input fresh{};
    fresh.size = input_size;
    fresh.order_base = -1;
    fresh.tolerance = 30;
    fresh.seed = 1;
    std::memset(input, 0, input_size);
    std::memcpy(input, &fresh, std::min(input_size, sizeof fresh));
  }
  if (report != nullptr && report_size >= sizeof(size_t)) {
    std::memset(report, 0, report_size);
    std::memcpy(report, &report_size, sizeof report_size);
  }
}

int lulab_judge(const lulab_judge_input* input, lulab_judge_report* report) {
  // Smaller structs are those of older callers; the first version had all members below.
  if (input == nullptr || report == nullptr || input->size < sizeof(lulab_judge_input) ||
      report->size < sizeof(lulab_judge_report))
    return LULAB_JUDGE_BAD_INPUT;
  lulab_judge_report out{};
  out.size = report->size;
  out.row = out.column = -1;
  int code = LULAB_JUDGE_INTERNAL;
  try {
    code = lulab::judge_input(*input, out);
  } catch (const lulab::BadInput& bad) {
    code = LULAB_JUDGE_BAD_INPUT;
    lulab::copy_text(out.what, bad.what);
  } catch (const std::bad_alloc&) {
    code = LULAB_JUDGE_OUT_OF_MEMORY;
  } catch (const std::length_error&) {
    code = LULAB_JUDGE_OUT_OF_MEMORY;
  } catch (...) {
    code = LULAB_JUDGE_INTERNAL;
  }
  std::memcpy(report, &out, sizeof out);
  return code;
}

const char* lulab_judge_convention_name(int convention) {
  return lulab::to_string(static_cast<lulab::Convention>(convention)).data();
}

const char* lulab_judge_fault_name(int fault) { return lulab::to_string(static_cast<lulab::Fault>(fault)).data(); }
}
