// The C interface through its header alone.
#include "capi/lulab.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "testing/read_only.h"

namespace lulab {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// How a matrix is given.
struct Form {
  int32_t format = LULAB_CSC, base = 0, pointer_bits = 64, index_bits = 32;
  bool sorted = true;
};

/// A random unsymmetric matrix, its entries in the order of the form.
struct Matrix {
  int32_t n;
  Form form;
  std::vector<int32_t> rows, columns;  // of each entry, from 0
  std::vector<double> values;
  std::vector<int64_t> ptr64, idx64;
  std::vector<int32_t> ptr32, idx32;

  Matrix(int32_t size, std::uint64_t seed, Form as = {}) : n(size), form(as) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int32_t major = 0; major < n; ++major) {
      std::vector<int32_t> minors = {major};
      for (int k = 0; k < 4; ++k) minors.push_back(static_cast<int32_t>(random() % n));
      std::ranges::sort(minors);
      minors.erase(std::ranges::unique(minors).begin(), minors.end());
      if (!form.sorted) std::ranges::shuffle(minors, random);
      for (const int32_t minor : minors) {
        rows.push_back(form.format == LULAB_CSC ? minor : major);
        columns.push_back(form.format == LULAB_CSC ? major : minor);
        values.push_back(minor == major ? 3 + uniform(random) : uniform(random));
      }
    }
    compress();
  }
  Matrix(int32_t size, std::vector<int32_t> i, std::vector<int32_t> j, std::vector<double> v, Form as = {})
      : n(size), form(as), rows(std::move(i)), columns(std::move(j)), values(std::move(v)) {
    compress();
  }

  void compress() {
    const auto& major = form.format == LULAB_CSC ? columns : rows;
    const auto& minor = form.format == LULAB_CSC ? rows : columns;
    ptr64.assign(n + 1, form.base);
    for (const int32_t j : major)
      for (int32_t k = j + 1; k <= n; ++k) ++ptr64[k];
    for (const int32_t i : minor) idx64.push_back(i + form.base);
    ptr32.assign(ptr64.begin(), ptr64.end());
    idx32.assign(idx64.begin(), idx64.end());
  }
  int64_t nnz() const { return static_cast<int64_t>(values.size()); }
  lulab_matrix view() const {
    lulab_matrix a{};
    a.size = sizeof a;
    a.n = n;
    a.nnz = nnz();
    a.format = form.format;
    a.index_base = form.base;
    a.pointer_bits = form.pointer_bits;
    a.index_bits = form.index_bits;
    a.ptr = form.pointer_bits == 64 ? static_cast<const void*>(ptr64.data()) : ptr32.data();
    a.idx = form.index_bits == 64 ? static_cast<const void*>(idx64.data()) : idx32.data();
    a.values = values.data();
    return a;
  }
  std::vector<double> other_values(std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(0.7, 1.3);
    std::vector<double> v = values;
    for (double& entry : v) entry *= uniform(random);
    return v;
  }
};

std::vector<double> random_vector(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> v(size);
  for (double& entry : v) entry = uniform(random);
  return v;
}

/// max_i |b - A x|_i / (|A||x| + |b|)_i; NaN where x has one.   b, x: the first n of these
double backward_error(const Matrix& a, const double* values, const double* b, const double* x,
                      bool transposed = false) {
  std::vector<double> r(b, b + a.n), size(a.n);
  for (int32_t i = 0; i < a.n; ++i) size[i] = std::abs(b[i]);
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    const int32_t i = transposed ? a.columns[k] : a.rows[k], j = transposed ? a.rows[k] : a.columns[k];
    r[i] -= values[k] * x[j];
    size[i] += std::abs(values[k] * x[j]);
  }
  double worst = 0;
  for (int32_t i = 0; i < a.n; ++i)
    if (!(std::abs(r[i]) <= worst * size[i])) worst = std::abs(r[i]) / size[i];
  return worst;
}

lulab_error last_error() {
  lulab_error error{};
  error.size = sizeof error;
  EXPECT_EQ(lulab_last_error(&error), LULAB_OK);
  return error;
}
std::string last_message() { return last_error().message; }
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct Solver {
  explicit Solver(int32_t precision = LULAB_DOUBLE) {
    EXPECT_EQ(lulab_create(&handle, precision, LULAB_ABI), LULAB_OK) << last_message();
  }
  ~Solver() { EXPECT_EQ(lulab_destroy(handle), LULAB_OK) << last_message(); }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  operator lulab_solver*() const { return handle; }

  int set(const char* key, const char* value) const { return lulab_set_option(handle, key, value); }
  std::string get(const char* key) const {
    char value[100];
    return lulab_get_option(handle, key, value, sizeof value) == LULAB_OK ? value : "?" + last_message();
  }
  int analyze(const Matrix& a) const {
    const lulab_matrix view = a.view();
    return lulab_analyze(handle, &view);
  }
  int factor(const Matrix& a) const { return lulab_factor(handle, a.nnz(), a.values.data()); }
  /// analyze() and factor()
  int prepare(const Matrix& a) const {
    const int status = analyze(a);
    return status != LULAB_OK ? status : factor(a);
  }
  lulab_statistics statistics() const {
    lulab_statistics s{};
    s.size = sizeof s;
    EXPECT_EQ(lulab_get_statistics(handle, &s), LULAB_OK) << last_message();
    return s;
  }

  lulab_solver* handle = nullptr;
};

constexpr Form all_forms[] = {
    {},
    {LULAB_CSC, 1, 32, 32},
    {LULAB_CSC, 0, 64, 64},
    {LULAB_CSC, 0, 32, 32, false},
    {LULAB_CSR, 0, 64, 32},
    {LULAB_CSR, 1, 32, 32, false},
    {LULAB_CSR, 1, 64, 64},
};

TEST(LulabInC, SolvesRandomMatricesInEveryForm) {
  for (const int32_t precision : {LULAB_DOUBLE, LULAB_FLOAT})
    for (std::uint64_t seed = 1; const Form& form : all_forms) {
      const Matrix a(60, ++seed, form);
      const Solver s(precision);
      ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
      const auto b = random_vector(3 * 60, seed);
      std::vector<double> x(b.size(), nan), t(b.size(), nan);
      ASSERT_EQ(lulab_solve(s, 3 * 60, b.data(), x.data()), LULAB_OK) << last_message();
      ASSERT_EQ(lulab_tsolve(s, 3 * 60, b.data(), t.data()), LULAB_OK) << last_message();
      for (int column = 0; column < 3; ++column) {  // 1e-12: the option backward_error
        const std::ptrdiff_t at = 60 * column;
        EXPECT_LE(backward_error(a, a.values.data(), &b[at], &x[at]), 1e-12);
        EXPECT_LE(backward_error(a, a.values.data(), &b[at], &t[at], true), 1e-12);
      }
      std::vector<double> in_place = b;
      ASSERT_EQ(lulab_solve(s, 3 * 60, in_place.data(), in_place.data()), LULAB_OK) << last_message();
      EXPECT_EQ(in_place, x);
    }
}

TEST(LulabInC, StepsAndRefactorizationsTakeTheNewValues) {
  for (const Form& form : all_forms) {
    const Matrix a(80, 7, form);
    const Solver s;
    ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
    for (std::uint64_t step = 1; step <= 5; ++step) {
      const auto values = a.other_values(step), b = random_vector(80, step);
      std::vector<double> x(80, nan), y(80, nan);
      ASSERT_EQ(lulab_step(s, a.nnz(), values.data(), 80, b.data(), x.data()), LULAB_OK) << last_message();
      EXPECT_LE(backward_error(a, values.data(), b.data(), x.data()), 1e-12);
      EXPECT_EQ(lulab_wait(s), LULAB_OK);
      const auto next = a.other_values(step + 100);
      ASSERT_EQ(lulab_refactor(s, a.nnz(), next.data()), LULAB_OK) << last_message();
      ASSERT_EQ(lulab_solve(s, 80, b.data(), y.data()), LULAB_OK) << last_message();
      EXPECT_LE(backward_error(a, next.data(), b.data(), y.data()), 1e-12);
    }
  }
}

TEST(LulabInC, EmptyMatricesAreSolved) {
  const Solver s;
  const Matrix a(0, 1);
  EXPECT_EQ(s.prepare(a), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_solve(s, 0, nullptr, nullptr), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_step(s, 0, nullptr, 0, nullptr, nullptr), LULAB_OK) << last_message();
}

TEST(LulabInC, StatisticsAndConditionAreThoseOfTheFactors) {
  const Solver s;
  const Matrix a(50, 3);
  ASSERT_EQ(s.set("rung", "sparse_leftlooking/00_reference"), LULAB_OK) << last_message();
  ASSERT_EQ(s.set("order", "colamd"), LULAB_OK) << last_message();
  ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
  EXPECT_TRUE(std::isnan(s.statistics().omega));
  const auto b = random_vector(50, 1);
  std::vector<double> x(50, nan);
  ASSERT_EQ(lulab_solve(s, 50, b.data(), x.data()), LULAB_OK);
  const lulab_statistics known = s.statistics();
  EXPECT_EQ(known.n, 50);
  EXPECT_EQ(known.nnz, a.nnz());
  EXPECT_GE(known.nnz_l + known.nnz_u, 50);
  EXPECT_EQ(known.numerical_rank, 50);
  EXPECT_GE(known.pivot_growth, 0.1);
  EXPECT_GE(known.rcond, 1e-6);
  EXPECT_LE(known.omega, 1e-12);
  EXPECT_STREQ(known.rung, "sparse_leftlooking/00_reference");
  EXPECT_STREQ(known.order, "colamd");
  double rcond = nan, scaled = nan;
  ASSERT_EQ(lulab_condition(s, &rcond, &scaled), LULAB_OK) << last_message();
  EXPECT_GT(rcond, 1e-4);
  EXPECT_LE(rcond, 1);
  EXPECT_GT(scaled, 1e-4);
  EXPECT_EQ(lulab_condition(s, nullptr, nullptr), LULAB_OK);
}

TEST(LulabInC, TakesAnOrderOfTheCallers) {
  const Solver s;
  const Matrix a(30, 5);
  for (const int32_t base : {0, 1}) {
    std::vector<int64_t> columns(30);
    for (int64_t k = 0; k < 30; ++k) columns[k] = 7 * k % 30 + base;
    ASSERT_EQ(lulab_set_column_order(s, 30, columns.data(), base), LULAB_OK) << last_message();
    EXPECT_EQ(s.get("order"), "given");
    ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
    EXPECT_STREQ(s.statistics().order, "given");
    const auto b = random_vector(30, 1);
    std::vector<double> x(30, nan);
    ASSERT_EQ(lulab_solve(s, 30, b.data(), x.data()), LULAB_OK) << last_message();
    EXPECT_LE(backward_error(a, a.values.data(), b.data(), x.data()), 1e-13);
  }
  EXPECT_EQ(s.prepare(Matrix(31, 5)), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(last_message(), "the given order has 30 columns, but A has n = 31");
  EXPECT_EQ(s.set("order", "given"), LULAB_OK) << "it is what it was";
  ASSERT_EQ(s.set("order", "amd"), LULAB_OK);
  ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
  EXPECT_STREQ(s.statistics().order, "amd");
  EXPECT_EQ(s.set("order", "given"), LULAB_INVALID_ARGUMENT) << "the columns went";
  EXPECT_TRUE(has(last_message(), "lulab_set_column_order()")) << last_message();
}

TEST(LulabInC, RefusesWhatIsNoOrder) {
  const Solver s;
  const int64_t twice[] = {1, 2, 1}, too_large[] = {0, 1, 3}, below[] = {0, 1, 2};
  EXPECT_EQ(lulab_set_column_order(s, 3, twice, 0), LULAB_INVALID_ARGUMENT);
  EXPECT_TRUE(has(last_message(), "columns[2] = 1 occurs earlier, too")) << last_message();
  EXPECT_EQ(lulab_set_column_order(s, 3, too_large, 0), LULAB_INVALID_ARGUMENT);
  EXPECT_TRUE(has(last_message(), "columns[2] = 3 is none of 0..2")) << last_message();
  EXPECT_EQ(lulab_set_column_order(s, 3, below, 1), LULAB_INVALID_ARGUMENT);
  EXPECT_TRUE(has(last_message(), "columns[0] = 0 is none of 1..3")) << last_message();
  EXPECT_EQ(lulab_set_column_order(s, 3, nullptr, 0), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_set_column_order(s, 3, below, 2), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_set_column_order(s, -1, below, 0), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(s.get("order"), "auto");
}

TEST(LulabInC, ABatchTellsOfEachSystem) {
  for (const Form& form : {all_forms[0], all_forms[5]}) {
    const Matrix a(40, 5, form);
    const Solver s;
    const lulab_matrix view = a.view();
    constexpr int32_t systems = 3;
    ASSERT_EQ(lulab_analyze_batch(s, &view, systems), LULAB_OK) << last_message();
    std::vector<double> values;
    for (std::uint64_t k = 0; k < systems; ++k) {
      const auto v = a.other_values(k);
      values.insert(values.end(), v.begin(), v.end());
    }
    const auto count = static_cast<int64_t>(values.size()), size = int64_t{systems} * 40;
    const auto b = random_vector(size, 9);
    std::vector<double> x(size, nan), y(size, nan);
    ASSERT_EQ(lulab_factor(s, count, values.data()), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_solve(s, size, b.data(), x.data()), LULAB_OK) << last_message();
    ASSERT_EQ(lulab_step(s, count, values.data(), size, b.data(), y.data()), LULAB_OK) << last_message();
    for (int32_t k = 0; k < systems; ++k) {
      EXPECT_LE(backward_error(a, &values[k * a.nnz()], &b[k * 40], &x[k * 40]), 1e-12);
      EXPECT_LE(backward_error(a, &values[k * a.nnz()], &b[k * 40], &y[k * 40]), 1e-12);
      EXPECT_EQ(lulab_system_status(s, k, nullptr), LULAB_OK);
    }
    EXPECT_EQ(s.statistics().systems, systems);

    const std::size_t spoilt = a.nnz() + 11;  // in the second system
    values[spoilt] = nan;
    EXPECT_EQ(lulab_factor(s, count, values.data()), LULAB_NOT_FINITE) << last_message();
    EXPECT_EQ(last_error().system, 1);
    EXPECT_EQ(last_error().row, a.rows[11] + form.base);
    EXPECT_EQ(last_error().column, a.columns[11] + form.base);
    EXPECT_TRUE(has(last_message(), "system 2 of 3")) << last_message();
    lulab_error error{};
    error.size = sizeof error;
    EXPECT_EQ(lulab_system_status(s, 0, &error), LULAB_OK);
    EXPECT_EQ(error.status, LULAB_OK);
    EXPECT_EQ(lulab_system_status(s, 1, &error), LULAB_NOT_FINITE);
    EXPECT_EQ(error.status, LULAB_NOT_FINITE);
    EXPECT_EQ(error.row, a.rows[11] + form.base);
    EXPECT_EQ(s.statistics().failed, 1);
    EXPECT_EQ(lulab_solve(s, size, b.data(), x.data()), LULAB_NOT_FINITE);
    EXPECT_LE(backward_error(a, values.data(), b.data(), x.data()), 1e-12);  // the first system is not affected
    EXPECT_TRUE(std::isnan(x[40]));

    values[spoilt] = 1;
    ASSERT_EQ(lulab_factor(s, count, values.data()), LULAB_OK) << last_message();
    auto bad_b = b;
    bad_b[2 * 40 + 7] = nan;  // of the third system
    EXPECT_EQ(lulab_solve(s, size, bad_b.data(), x.data()), LULAB_NOT_FINITE) << last_message();
    EXPECT_EQ(last_error().system, 2);
    EXPECT_EQ(last_error().row, 7 + form.base);
    EXPECT_LE(backward_error(a, &values[a.nnz()], &b[40], &x[40]), 1e-12);
    EXPECT_TRUE(std::all_of(x.begin() + 80, x.end(), [](double v) { return std::isnan(v); }));

    EXPECT_EQ(lulab_system_status(s, 3, &error), LULAB_INVALID_ARGUMENT);
    x.assign(size, 7.0);
    EXPECT_EQ(lulab_tsolve(s, size, b.data(), x.data()), LULAB_NOT_IMPLEMENTED);
    EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x.back()));
    EXPECT_EQ(lulab_condition(s, nullptr, nullptr), LULAB_NOT_IMPLEMENTED);
    EXPECT_EQ(lulab_system_status(s, 0, &error), LULAB_WRONG_ORDER);  // tsolve says nothing of systems
    EXPECT_EQ(lulab_solve(s, size - 1, b.data(), x.data()), LULAB_INVALID_ARGUMENT);
    EXPECT_EQ(lulab_analyze_batch(s, &view, 0), LULAB_INVALID_ARGUMENT);
  }
}

// --- errors ----------------------------------------------------------------------------------------------------------

TEST(LulabInC, StaleAndForeignHandlesAreKnown) {
  lulab_solver* s = nullptr;
  ASSERT_EQ(lulab_create(&s, LULAB_DOUBLE, LULAB_ABI), LULAB_OK);
  lulab_solver* const stale = s;
  EXPECT_EQ(lulab_destroy(s), LULAB_OK);
  EXPECT_EQ(lulab_destroy(stale), LULAB_WRONG_HANDLE);
  lulab_solver* other = nullptr;
  ASSERT_EQ(lulab_create(&other, LULAB_DOUBLE, LULAB_ABI), LULAB_OK);
  EXPECT_NE(other, stale);  // never given out again
  double stranger = 0;
  auto* const foreign = reinterpret_cast<lulab_solver*>(&stranger);
  lulab_statistics statistics{};
  statistics.size = sizeof statistics;
  char text[10];
  const Matrix matrix(3, 1);
  const lulab_matrix a = matrix.view();
  for (lulab_solver* wrong : {stale, foreign, static_cast<lulab_solver*>(nullptr)}) {
    EXPECT_EQ(lulab_destroy(wrong), wrong == nullptr ? LULAB_OK : LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_set_option(wrong, "order", "amd"), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_get_option(wrong, "order", text, sizeof text), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_analyze(wrong, &a), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_analyze_batch(wrong, &a, 2), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_check_pattern(wrong, &a), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_set_memory(wrong, LULAB_HOST, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_factor(wrong, 0, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_refactor(wrong, 0, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_solve(wrong, 0, nullptr, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_tsolve(wrong, 0, nullptr, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_step(wrong, 0, nullptr, 0, nullptr, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_wait(wrong), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_condition(wrong, nullptr, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_get_statistics(wrong, &statistics), LULAB_WRONG_HANDLE);
    EXPECT_EQ(lulab_system_status(wrong, 0, nullptr), LULAB_WRONG_HANDLE);
    EXPECT_FALSE(last_message().empty());
  }
  EXPECT_EQ(lulab_destroy(nullptr), LULAB_OK);
  EXPECT_EQ(last_message(), "");
  EXPECT_EQ(lulab_destroy(other), LULAB_OK);
}

TEST(LulabInC, AnotherAbiIsRefused) {
  EXPECT_EQ(lulab_abi(), LULAB_ABI);
  EXPECT_GT(std::strlen(lulab_version()), 4u);
  lulab_solver* s = reinterpret_cast<lulab_solver*>(&s);
  EXPECT_EQ(lulab_create(&s, LULAB_DOUBLE, LULAB_ABI + 1), LULAB_WRONG_ABI);
  EXPECT_EQ(s, nullptr);
  EXPECT_TRUE(has(last_message(), "ABI 2")) << last_message();
  EXPECT_EQ(lulab_create(&s, 7, LULAB_ABI), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_create(nullptr, LULAB_DOUBLE, LULAB_ABI), LULAB_INVALID_ARGUMENT);
}

TEST(LulabInC, TheLayoutOfTheFirstAbiStays) {
  static_assert(sizeof(lulab_matrix) == 64 && offsetof(lulab_matrix, format) == 24);
  static_assert(offsetof(lulab_matrix, ptr) == 40 && offsetof(lulab_matrix, values) == 56);
  static_assert(sizeof(lulab_error) == 544 && offsetof(lulab_error, row) == 16 && offsetof(lulab_error, message) == 32);
  static_assert(sizeof(lulab_statistics) == 552 && offsetof(lulab_statistics, pivot_growth) == 112);
  static_assert(offsetof(lulab_statistics, pivots_ms) == 152 && offsetof(lulab_statistics, rung) == 200);
  static_assert(LULAB_NOT_FINITE == 8 && LULAB_INTERNAL == 16);
  std::map<std::string, int> names;
  for (int status = LULAB_OK; status <= LULAB_INTERNAL; ++status) ++names[lulab_status_name(status)];
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_STREQ(lulab_status_name(LULAB_INTERNAL + 1), "unknown");
  EXPECT_STREQ(lulab_status_name(-1), "unknown");
}

TEST(LulabInC, StructsOfLaterCallersAreFilledAsFarAsKnown) {
  const Solver s;
  ASSERT_EQ(s.prepare(Matrix(10, 1)), LULAB_OK);
  struct {
    lulab_statistics known;
    int later;
  } larger{{}, 42};
  larger.known.size = sizeof larger;
  EXPECT_EQ(lulab_get_statistics(s, &larger.known), LULAB_OK);
  EXPECT_EQ(larger.later, 42);
  EXPECT_EQ(larger.known.size, sizeof larger);
  EXPECT_EQ(larger.known.n, 10);
  larger.known.size = 8;
  EXPECT_EQ(lulab_get_statistics(s, &larger.known), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_get_statistics(s, nullptr), LULAB_INVALID_ARGUMENT);
  lulab_error error{};
  EXPECT_EQ(lulab_last_error(&error), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_last_error(nullptr), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(last_error().status, LULAB_INVALID_ARGUMENT);  // still that of get_statistics
}

TEST(LulabInC, RefusesWhatIsNoMatrix) {
  const Solver s;
  const auto refused = [&](auto&& spoil, const char* why, Form form = {}) {
    Matrix a(6, 2, form);
    lulab_matrix view = a.view();
    spoil(a, view);
    EXPECT_EQ(lulab_analyze(s, &view), LULAB_INVALID_ARGUMENT) << why;
    EXPECT_TRUE(has(last_message(), why)) << last_message();
    EXPECT_EQ(s.factor(a), LULAB_WRONG_ORDER);
  };
  EXPECT_EQ(lulab_analyze(s, nullptr), LULAB_INVALID_ARGUMENT);
  for (const Form& form : all_forms) {
    refused([](Matrix&, lulab_matrix& m) { m.size = 8; }, "size", form);
    refused([](Matrix&, lulab_matrix& m) { m.n = -1; }, "n = -1", form);
    refused([](Matrix&, lulab_matrix& m) { m.n = int64_t{1} << 40; }, "n = 1099511627776", form);
    refused([](Matrix&, lulab_matrix& m) { m.nnz = -1; }, "nnz", form);
    refused([](Matrix&, lulab_matrix& m) { ++m.nnz; }, "nnz", form);
    refused([](Matrix&, lulab_matrix& m) { --m.nnz; }, "ptr", form);
    refused([](Matrix&, lulab_matrix& m) { m.format = 2; }, "format", form);
    refused([](Matrix&, lulab_matrix& m) { m.index_base = 2; }, "index_base", form);
    refused([](Matrix&, lulab_matrix& m) { m.index_base = 1 - m.index_base; }, "index_base", form);
    refused([](Matrix&, lulab_matrix& m) { m.pointer_bits = 0; }, "pointer_bits", form);
    refused([](Matrix&, lulab_matrix& m) { m.index_bits = 16; }, "index_bits", form);
    refused([](Matrix&, lulab_matrix& m) { m.ptr = nullptr; }, "ptr", form);
    refused([](Matrix&, lulab_matrix& m) { m.idx = nullptr; }, "idx", form);
    refused([](Matrix&, lulab_matrix& m) { m.values = nullptr; }, "values", form);
    refused([](Matrix& a, lulab_matrix&) { a.ptr32[2] = -3, a.ptr64[2] = -3; }, "ptr[2]", form);
    refused([](Matrix& a, lulab_matrix&) { a.ptr32[2] = 1 << 30, a.ptr64[2] = INT64_MAX; }, "ptr[2]", form);
    refused([](Matrix& a, lulab_matrix&) { a.idx32[3] = 7, a.idx64[3] = 7; }, "idx[3]", form);
    refused([](Matrix& a, lulab_matrix&) { a.idx32[3] = -1, a.idx64[3] = INT64_MIN; }, "idx[3]", form);
    refused([](Matrix& a, lulab_matrix&) { a.idx32[1] = a.idx32[0], a.idx64[1] = a.idx64[0]; }, "twice", form);
  }
}

TEST(LulabInC, RefusesAWrongOrderOfCallsAndWrongSizes) {
  const Solver s;
  const Matrix a(20, 2);
  std::vector<double> b = random_vector(20, 1), x(20, nan);
  const auto step = [&](int64_t count, int64_t size) {
    return lulab_step(s, count, a.values.data(), size, b.data(), x.data());
  };
  lulab_statistics statistics{};
  statistics.size = sizeof statistics;
  const lulab_matrix view = a.view();
  EXPECT_EQ(lulab_factor(s, a.nnz(), a.values.data()), LULAB_WRONG_ORDER);
  EXPECT_EQ(lulab_get_statistics(s, &statistics), LULAB_WRONG_ORDER);
  EXPECT_EQ(lulab_check_pattern(s, &view), LULAB_WRONG_ORDER);
  EXPECT_EQ(lulab_system_status(s, 0, nullptr), LULAB_WRONG_ORDER);
  EXPECT_EQ(lulab_wait(s), LULAB_OK);
  ASSERT_EQ(s.analyze(a), LULAB_OK);
  EXPECT_EQ(lulab_refactor(s, a.nnz(), a.values.data()), LULAB_WRONG_ORDER);
  EXPECT_EQ(lulab_solve(s, 20, b.data(), x.data()), LULAB_WRONG_ORDER);
  EXPECT_EQ(lulab_tsolve(s, 20, b.data(), x.data()), LULAB_WRONG_ORDER);
  EXPECT_EQ(step(a.nnz(), 20), LULAB_WRONG_ORDER);
  EXPECT_EQ(lulab_condition(s, nullptr, nullptr), LULAB_WRONG_ORDER);
  ASSERT_EQ(s.factor(a), LULAB_OK);

  EXPECT_EQ(lulab_factor(s, a.nnz() - 1, a.values.data()), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_refactor(s, a.nnz() + 1, a.values.data()), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_refactor(s, a.nnz(), nullptr), LULAB_INVALID_ARGUMENT);
  for (const int64_t size : {int64_t{0}, int64_t{-20}, int64_t{19}, int64_t{21}, INT64_MAX, INT64_MIN}) {
    EXPECT_EQ(lulab_solve(s, size, b.data(), x.data()), LULAB_INVALID_ARGUMENT) << size;
    EXPECT_EQ(lulab_tsolve(s, size, b.data(), x.data()), LULAB_INVALID_ARGUMENT) << size;
    EXPECT_EQ(step(a.nnz(), size), LULAB_INVALID_ARGUMENT) << size;
  }
  EXPECT_EQ(step(a.nnz() + 1, 20), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(step(a.nnz(), 40), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_solve(s, 20, nullptr, x.data()), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_solve(s, 20, b.data(), nullptr), LULAB_INVALID_ARGUMENT);
  std::vector<double> both(30, 1.0);
  EXPECT_EQ(lulab_solve(s, 20, both.data(), both.data() + 10), LULAB_INVALID_ARGUMENT);  // they overlap
  EXPECT_EQ(lulab_set_memory(s, 2, nullptr), LULAB_INVALID_ARGUMENT);
  EXPECT_TRUE(std::isnan(x[0]));
  EXPECT_EQ(lulab_solve(s, 20, b.data(), x.data()), LULAB_OK);  // nothing of this has changed anything
  EXPECT_LE(backward_error(a, a.values.data(), b.data(), x.data()), 1e-12);
}

TEST(LulabInC, NullIsRefusedWhereSomethingIsNeeded) {
  const Solver s;
  const Matrix a(20, 2);
  const auto b = random_vector(20, 1);
  std::vector<double> x(20, 7.0);
  EXPECT_EQ(lulab_analyze_batch(s, nullptr, 2), LULAB_INVALID_ARGUMENT);
  ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
  const double *const v = a.values.data(), *const none = nullptr;
  for (const int status :
       {lulab_factor(s, a.nnz(), none), lulab_refactor(s, a.nnz(), none), lulab_solve(s, 20, none, x.data()),
        lulab_solve(s, 20, b.data(), nullptr), lulab_tsolve(s, 20, none, x.data()),
        lulab_tsolve(s, 20, b.data(), nullptr), lulab_step(s, a.nnz(), none, 20, b.data(), x.data()),
        lulab_step(s, a.nnz(), v, 20, none, x.data()), lulab_step(s, a.nnz(), v, 20, b.data(), nullptr),
        lulab_analyze(s, nullptr)})
    EXPECT_EQ(status, LULAB_INVALID_ARGUMENT);
  EXPECT_TRUE(has(last_message(), "NULL")) << last_message();
  EXPECT_EQ(x, std::vector<double>(20, 7.0));
}

TEST(LulabInC, AfterAnErrorNoOldXIsLeft) {
  for (const Form& form : {all_forms[0], all_forms[5]}) {
    const Matrix a(20, 2, form);
    const Solver s;
    const auto b = random_vector(20, 1);
    auto not_finite = a.values;
    not_finite[7] = nan;
    const auto expect_no_x = [&](const char* state) {
      const auto is_nan = [](double v) { return std::isnan(v); };
      std::vector<double> x(20, 7.0), t(20, 7.0), stepped(20, 7.0), in_place = b, both(30, 7.0);
      EXPECT_NE(lulab_solve(s, 20, b.data(), x.data()), LULAB_OK) << state;
      EXPECT_NE(lulab_tsolve(s, 20, b.data(), t.data()), LULAB_OK) << state;
      EXPECT_NE(lulab_step(s, a.nnz(), not_finite.data(), 20, b.data(), stepped.data()), LULAB_OK) << state;
      EXPECT_NE(lulab_solve(s, 20, in_place.data(), in_place.data()), LULAB_OK) << state;
      for (const auto* left : {&x, &t, &stepped, &in_place}) EXPECT_TRUE(std::ranges::all_of(*left, is_nan)) << state;
      EXPECT_EQ(lulab_solve(s, 20, both.data(), both.data() + 10), LULAB_INVALID_ARGUMENT) << state;
      EXPECT_EQ(both, std::vector<double>(30, 7.0)) << state;
      double rcond = 7, scaled = 7;
      EXPECT_NE(lulab_condition(s, &rcond, &scaled), LULAB_OK) << state;
      EXPECT_TRUE(std::isnan(rcond) && std::isnan(scaled)) << state;
    };
    expect_no_x("without an analysis");
    ASSERT_EQ(s.analyze(a), LULAB_OK) << last_message();
    expect_no_x("without factors");
    ASSERT_EQ(s.factor(a), LULAB_OK) << last_message();
    EXPECT_EQ(lulab_refactor(s, a.nnz(), not_finite.data()), LULAB_NOT_FINITE);
    expect_no_x("after values that are not finite");
    ASSERT_EQ(s.factor(a), LULAB_OK) << last_message();
    auto bad_b = b;
    bad_b[19] = nan;
    bad_b.resize(40, 1.0);
    std::vector<double> x(40, 7.0);
    EXPECT_EQ(lulab_solve(s, 40, bad_b.data(), x.data()), LULAB_NOT_FINITE);
    EXPECT_TRUE(std::ranges::all_of(x, [](double v) { return std::isnan(v); }));
    x.assign(20, 7.0);
    EXPECT_EQ(lulab_solve(s, 19, b.data(), x.data()), LULAB_INVALID_ARGUMENT);
    EXPECT_EQ(lulab_step(s, a.nnz(), nullptr, 20, b.data(), x.data()), LULAB_INVALID_ARGUMENT);
    EXPECT_EQ(lulab_solve(nullptr, 20, b.data(), x.data()), LULAB_WRONG_HANDLE);
    EXPECT_EQ(x, std::vector<double>(20, 7.0));
  }
}

TEST(LulabInC, AnotherPatternIsKnown) {
  const Solver s;
  for (const Form& form : all_forms) {
    const Matrix a(20, 2, form);
    ASSERT_EQ(s.analyze(a), LULAB_OK);
    lulab_matrix view = a.view();
    view.values = nullptr;
    EXPECT_EQ(lulab_check_pattern(s, &view), LULAB_OK) << last_message();
    const Matrix larger(21, 2, form);
    const lulab_matrix larger_view = larger.view();
    EXPECT_EQ(lulab_check_pattern(s, &larger_view), LULAB_PATTERN_CHANGED);
    const Matrix moved(20, 3, form);
    const lulab_matrix moved_view = moved.view();
    EXPECT_EQ(lulab_check_pattern(s, &moved_view), LULAB_PATTERN_CHANGED);
    view.format = 1 - view.format;
    EXPECT_EQ(lulab_check_pattern(s, &view), LULAB_PATTERN_CHANGED);
    EXPECT_EQ(lulab_check_pattern(s, nullptr), LULAB_INVALID_ARGUMENT);
  }
}

TEST(LulabInC, NumbersThatAreNotFiniteAreNamedInTheBaseOfTheCaller) {
  for (const Form& form : all_forms) {
    Matrix a(20, 2, form);
    const Solver s;
    const auto good = a.values, b = random_vector(20, 1);
    std::vector<double> x(20, 7.0);
    const auto expect_place = [&] {
      EXPECT_EQ(last_error().row, a.rows[5] + form.base) << last_message();
      EXPECT_EQ(last_error().column, a.columns[5] + form.base) << last_message();
    };
    a.values[5] = nan;
    EXPECT_EQ(s.analyze(a), LULAB_NOT_FINITE) << last_message();
    expect_place();
    a.values = good;
    ASSERT_EQ(s.analyze(a), LULAB_OK);
    a.values[5] = std::numeric_limits<double>::infinity();
    EXPECT_EQ(s.factor(a), LULAB_NOT_FINITE) << last_message();
    expect_place();
    a.values = good;
    ASSERT_EQ(s.factor(a), LULAB_OK);
    a.values[5] = nan;
    EXPECT_EQ(lulab_refactor(s, a.nnz(), a.values.data()), LULAB_NOT_FINITE) << last_message();
    expect_place();
    EXPECT_NE(lulab_solve(s, 20, b.data(), x.data()), LULAB_OK);  // there are no factors
    EXPECT_TRUE(std::isnan(x[3]));
    a.values = good;
    ASSERT_EQ(s.factor(a), LULAB_OK) << last_message();
    EXPECT_EQ(lulab_solve(s, 20, b.data(), x.data()), LULAB_OK) << last_message();
    auto spoilt = b;
    spoilt[4] = nan;
    EXPECT_EQ(lulab_solve(s, 20, spoilt.data(), x.data()), LULAB_NOT_FINITE) << last_message();
    EXPECT_EQ(last_error().row, 4 + form.base);
    EXPECT_EQ(lulab_step(s, a.nnz(), good.data(), 20, spoilt.data(), x.data()), LULAB_NOT_FINITE) << last_message();
    EXPECT_EQ(lulab_step(s, a.nnz(), good.data(), 20, b.data(), x.data()), LULAB_OK) << last_message();
    EXPECT_LE(backward_error(a, good.data(), b.data(), x.data()), 1e-12);
  }
}

TEST(LulabInC, SingularMatricesHaveTheirStatusAndPlace) {
  const Solver s;
  const Matrix no_matching(3, {0, 0, 0, 1, 2}, {0, 1, 2, 2, 2}, {1, 1, 1, 1, 1}, {LULAB_CSC, 1});
  EXPECT_EQ(s.analyze(no_matching), LULAB_STRUCTURALLY_SINGULAR) << last_message();
  EXPECT_GE(last_error().column, 1);
  const Matrix ones(2, {0, 1, 0, 1}, {0, 0, 1, 1}, {1, 1, 1, 1}, {LULAB_CSC, 1});
  ASSERT_EQ(s.analyze(ones), LULAB_OK) << last_message();
  EXPECT_EQ(s.factor(ones), LULAB_NUMERICALLY_SINGULAR) << last_message();
  EXPECT_GE(last_error().column, 1);
  EXPECT_TRUE(has(last_message(), "column")) << last_message();
  std::vector<double> b = {1, 2}, x = {7, 7};
  EXPECT_EQ(lulab_solve(s, 2, b.data(), x.data()), LULAB_NUMERICALLY_SINGULAR);
  EXPECT_TRUE(std::isnan(x[0]) && std::isnan(x[1]));
}

TEST(LulabInC, PivotsThatDoNotSuitTheValuesAreReplacedOrReported) {
  const Matrix a(2, {0, 1, 0, 1}, {0, 0, 1, 1}, {4, 1, 1, 4});
  const std::vector<double> swapped = {0, 4, 4, 0}, b = {1, 2};
  for (const bool repivot : {true, false}) {
    const Solver s;
    ASSERT_EQ(s.set("rung", "07_threads"), LULAB_OK);
    ASSERT_EQ(s.set("repivot", repivot ? "on" : "off"), LULAB_OK);
    ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
    std::vector<double> x(2, nan);
    const int status = lulab_step(s, 4, swapped.data(), 2, b.data(), x.data());
    EXPECT_EQ(status, repivot ? LULAB_OK : LULAB_NEEDS_REPIVOT) << last_message();
    if (repivot) {
      EXPECT_LE(backward_error(a, swapped.data(), b.data(), x.data()), 1e-12);
      EXPECT_EQ(s.statistics().repivots, 1);
    }
  }
}

TEST(LulabInC, AnXThatDoesNotConvergeSaysSo) {
  const Solver s;
  const Matrix a(30, 4);
  for (const auto& [key, value] : {std::pair{"rung", "07_threads"},
                                   {"matching", "off"},
                                   {"perturb_pivots", "1"},
                                   {"repivot", "off"},
                                   {"probe", "off"},
                                   {"refine", "never"}})
    ASSERT_EQ(s.set(key, value), LULAB_OK) << last_message();
  ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
  EXPECT_GT(s.statistics().perturbed_pivots, 0);
  const auto b = random_vector(30, 1);
  std::vector<double> x(30, nan);
  EXPECT_EQ(lulab_solve(s, 30, b.data(), x.data()), LULAB_NOT_CONVERGED) << last_message();
  EXPECT_GT(s.statistics().omega, 1e-8);
  EXPECT_TRUE(std::isfinite(x[0]));
}

TEST(LulabInC, AfterAGoodXTheNextOnesAreNotLookedAt) {
  const Solver s;
  ASSERT_EQ(s.set("refine", "first"), LULAB_OK) << last_message();
  const Matrix a(30, 4);
  ASSERT_EQ(s.prepare(a), LULAB_OK) << last_message();
  for (const bool is_first : {true, false}) {
    const auto b = random_vector(30, is_first ? 1 : 2);
    std::vector<double> x(30, nan);
    ASSERT_EQ(lulab_solve(s, 30, b.data(), x.data()), LULAB_OK) << last_message();
    EXPECT_EQ(std::isnan(s.statistics().backward_error), !is_first);
    EXPECT_EQ(std::isnan(s.statistics().omega), !is_first);
    EXPECT_TRUE(backward_error(a, a.values.data(), b.data(), x.data()) <= 1e-13);
  }
}

// --- options ---------------------------------------------------------------------------------------------------------

TEST(LulabInC, EveryOptionIsReadBackAsItWasSet) {
  const std::map<std::string, std::pair<const char*, const char*>> other = {
      {"rung", {"07_threads", "sparse_leftlooking/07_threads"}},
      {"order", {"btf+amd", "btf+amd"}},
      {"matching", {"off", "off"}},
      {"scaling", {"0", "off"}},
      {"power_of_two", {"off", "off"}},
      {"pivot_tol", {"0.25", "0.25"}},
      {"perturb_pivots", {"1e-8", "1e-08"}},
      {"threads", {"2", "2"}},
      {"repivot", {"false", "off"}},
      {"max_growth", {"inf", "inf"}},
      {"first", {"klu", "klu"}},
      {"probe", {"off", "off"}},
      {"backward_error", {"0", "0"}},
      {"refine", {"always", "always"}},
      {"expected_steps", {"5", "5"}},
      {"prepare_at_once", {"on", "on"}},
      {"solve", {"solve/00_reference", "solve/00_reference"}},
  };
  std::size_t keys = 0;
  for (int32_t k = 0; lulab_option_key(k) != nullptr; ++k, ++keys) {
    const char* const key = lulab_option_key(k);
    const Solver s;
    const std::string before = s.get(key);
    ASSERT_EQ(other.count(key), 1u) << key;
    const auto& [given, read] = other.at(key);
    EXPECT_NE(before, read) << key;
    ASSERT_EQ(s.set(key, given), LULAB_OK) << last_message();
    EXPECT_EQ(s.get(key), read);
    EXPECT_EQ(s.set(key, "no such value"), LULAB_INVALID_ARGUMENT) << key;
    EXPECT_TRUE(has(last_message(), std::string("option ") + key)) << last_message();
    EXPECT_EQ(s.get(key), read) << "changed by a value that was refused";
    ASSERT_EQ(s.set(key, before.c_str()), LULAB_OK) << last_message();
    EXPECT_EQ(s.get(key), before);
  }
  EXPECT_EQ(keys, other.size());
  EXPECT_EQ(lulab_option_key(-1), nullptr);
}

TEST(LulabInC, UnknownOptionsAndValuesOutOfRangeAreNamed) {
  const Solver s;
  char value[8];
  EXPECT_EQ(s.set("piwot_tol", "1"), LULAB_UNKNOWN_OPTION);
  EXPECT_TRUE(has(last_message(), "piwot_tol") && has(last_message(), "pivot_tol, ")) << last_message();
  EXPECT_EQ(lulab_get_option(s, "piwot_tol", value, sizeof value), LULAB_UNKNOWN_OPTION);
  EXPECT_EQ(s.set("rung.no_such", "1"), LULAB_UNKNOWN_OPTION);
  EXPECT_EQ(s.set("pivot_tol", "2"), LULAB_INVALID_ARGUMENT);
  EXPECT_TRUE(has(last_message(), "0..1")) << last_message();
  EXPECT_EQ(s.set("threads", "1.5"), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(s.set("threads", "65"), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(s.set("max_growth", "0.5"), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(s.set("expected_steps", "nan"), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(s.set("order", ""), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(s.set(nullptr, "1"), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(s.set("order", nullptr), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_get_option(s, "order", nullptr, 5), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_get_option(s, nullptr, value, 5), LULAB_INVALID_ARGUMENT);
  EXPECT_EQ(lulab_get_option(s, "order", value, 4), LULAB_INVALID_ARGUMENT);  // "auto" and its end take 5
  EXPECT_EQ(lulab_get_option(s, "order", value, 5), LULAB_OK);
  EXPECT_STREQ(value, "auto");
}

TEST(LulabInC, OptionsHoldFromTheNextAnalysisOn) {
  const Solver s;
  const Matrix a(30, 1);
  ASSERT_EQ(s.prepare(a), LULAB_OK);
  ASSERT_EQ(s.set("rung", "90_klu"), LULAB_OK);
  ASSERT_EQ(s.factor(a), LULAB_OK);
  EXPECT_STRNE(s.statistics().rung, "sparse_leftlooking/90_klu");
  ASSERT_EQ(s.prepare(a), LULAB_OK);
  EXPECT_STREQ(s.statistics().rung, "sparse_leftlooking/90_klu");
}

// --- memory and output -----------------------------------------------------------------------------------------------

TEST(LulabInC, OnlyReadsWhatItIsGiven) {
  const Matrix a(30, 1);
  const testing::ReadOnly values(a.values), b(random_vector(30, 2));
  const testing::ReadOnly ptr(a.ptr64);
  const testing::ReadOnly idx(a.idx32);
  lulab_matrix view = a.view();
  view.ptr = ptr.data(), view.idx = idx.data(), view.values = values.data();
  const Solver s;
  ASSERT_EQ(lulab_analyze(s, &view), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_check_pattern(s, &view), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_factor(s, a.nnz(), values.data()), LULAB_OK) << last_message();
  std::vector<double> x(30, nan), t(30, nan), on_values = a.values;  // the step may put x where its values were
  EXPECT_EQ(lulab_solve(s, 30, b.data(), x.data()), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_tsolve(s, 30, b.data(), t.data()), LULAB_OK) << last_message();
  EXPECT_EQ(lulab_step(s, a.nnz(), on_values.data(), 30, b.data(), on_values.data() + 7), LULAB_OK) << last_message();
  for (const double* solved : {x.data(), on_values.data() + 7})
    EXPECT_LE(backward_error(a, a.values.data(), b.data(), solved), 1e-12);
  EXPECT_LE(backward_error(a, a.values.data(), b.data(), t.data(), true), 1e-12);
}

TEST(LulabInC, PrintsNothingAndLeavesTheLocale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  {
    const Solver s;
    const Matrix a(300, 1);
    s.prepare(a);
    s.set("order", "metis");
    s.prepare(a);
    s.set("nonsense", "1");
    s.analyze(Matrix(2, {0}, {0}, {1}));
    lulab_destroy(reinterpret_cast<lulab_solver*>(std::uintptr_t{77}));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), before);
}

}  // namespace
}  // namespace lulab
