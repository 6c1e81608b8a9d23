// liblulab_lapack.so as a program sees it, beside the LAPACK of the system where there is one.
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "testing/program.h"
#include "testing/read_only.h"
#include "testing/refused_memory.h"

namespace {
std::vector<std::pair<std::string, int>> complaints;  // routine, argument
}
extern "C" __attribute__((visibility("default"))) void xerbla_(const char* name, const int* argument,
                                                               std::size_t length) {
  complaints.emplace_back(std::string(name, length), *argument);
}

namespace lulab {
namespace {

const std::string lapack_shaped = LULAB_LAPACK_LIBRARY;
using Complaints = decltype(complaints);

/// The functions of one library. Of ours those that it calls itself are its own; of another one, too: RTLD_LOCAL.
template <class T>
struct Lapack {
  using Factor = void (*)(const int* m, const int* n, T* a, const int* lda, int* ipiv, int* info);

  explicit Lapack(const std::string& path) : library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library == nullptr) return;
    get(getrf_, "getrf_"), get(getrf2_, "getrf2_"), get(getf2_, "getf2_"), get(getrs_, "getrs_"), get(gesv_, "gesv_");
  }
  template <class Function>
  void get(Function*& function, const std::string& name) {
    function = reinterpret_cast<Function*>(dlsym(library, ((sizeof(T) == 8 ? "d" : "s") + name).c_str()));
    EXPECT_NE(function, nullptr) << name;
  }
  std::vector<Factor> factors() const { return {getrf_, getrf2_, getf2_}; }

  int getrs(char trans, int n, int nrhs, const T* a, int lda, const int* ipiv, T* b, int ldb) const {
    int info = 99;
    getrs_(&trans, &n, &nrhs, a, &lda, ipiv, b, &ldb, &info, 1);
    return info;
  }
  int gesv(int n, int nrhs, T* a, int lda, int* ipiv, T* b, int ldb) const {
    int info = 99;
    gesv_(&n, &nrhs, a, &lda, ipiv, b, &ldb, &info);
    return info;
  }

  void* library;
  Factor getrf_ = nullptr, getrf2_ = nullptr, getf2_ = nullptr;
  void (*getrs_)(const char*, const int*, const int*, const T*, const int*, const int*, T*, const int*, int*,
                 std::size_t) = nullptr;
  void (*gesv_)(const int*, const int*, T*, const int*, int*, T*, const int*, int*) = nullptr;
};
template <class T>
int call(typename Lapack<T>::Factor factor, int m, int n, T* a, int lda, int* ipiv) {
  int info = 99;
  factor(&m, &n, a, &lda, ipiv, &info);
  return info;
}

/// m x n with poison between the rows m and ld, where nothing may be read or written.
template <class T>
struct Full {
  Full(int rows, int columns, int more_rows, std::uint64_t seed)
      : m(rows), n(columns), ld(std::max(1, rows + more_rows)), values(std::size_t(ld) * columns, poison()) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<T> uniform(-1, 1);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) at(i, j) = uniform(random);
  }
  static T poison() { return std::numeric_limits<T>::quiet_NaN(); }
  T& at(int i, int j) { return values[i + std::size_t(j) * ld]; }
  T at(int i, int j) const { return values[i + std::size_t(j) * ld]; }
  T* data() { return values.data(); }
  bool has_poison() const {
    for (int j = 0; j < n; ++j)
      for (int i = m; i < ld; ++i)
        if (!std::isnan(at(i, j))) return false;
    return true;
  }
  bool equals(const Full& other) const {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i)
        if (!(at(i, j) == other.at(i, j))) return false;
    return has_poison();
  }
  int m, n, ld;
  std::vector<T> values;
};

/// max |P·A − L·U| / (max|A| n eps), of LAPACK's ipiv; infinite where ipiv is none or |L| is above 1.
template <class T>
double product_error(const Full<T>& a, const Full<T>& lu, const std::vector<int>& ipiv) {
  const int size = std::min(a.m, a.n);
  Full<T> pa = a;
  for (int k = 0; k < size; ++k) {
    if (ipiv[k] < k + 1 || ipiv[k] > a.m) return std::numeric_limits<double>::infinity();
    for (int j = 0; j < a.n; ++j) std::swap(pa.at(k, j), pa.at(ipiv[k] - 1, j));
  }
  double worst = 0, largest = std::numeric_limits<double>::min();
  for (int j = 0; j < a.n; ++j)
    for (int i = 0; i < a.m; ++i) {
      if (i > j && !(std::abs(lu.at(i, j)) <= 1)) return std::numeric_limits<double>::infinity();
      double sum = 0;
      for (int k = 0; k <= std::min({i, j, size - 1}); ++k)
        sum += (k == i ? 1.0 : double(lu.at(i, k))) * double(lu.at(k, j));
      const double error = std::abs(pa.at(i, j) - sum);
      worst = error <= worst ? worst : error;
      largest = std::max(largest, std::abs(double(a.at(i, j))));
    }
  return worst / (largest * std::max(1, a.n) * std::numeric_limits<T>::epsilon());
}

/// max |B − op(A) X| / (max|A| max|X| n eps)
template <class T>
double solution_error(const Full<T>& a, const Full<T>& x, const Full<T>& b, bool transposed) {
  double worst = 0, of_a = 0, of_x = 0;
  for (int j = 0; j < b.n; ++j)
    for (int i = 0; i < a.n; ++i) {
      double r = b.at(i, j);
      for (int k = 0; k < a.n; ++k) {
        const double entry = transposed ? a.at(k, i) : a.at(i, k);
        r -= entry * x.at(k, j);
        of_a = std::max(of_a, std::abs(entry));
      }
      of_x = std::max(of_x, std::abs(double(x.at(i, j))));
      worst = std::abs(r) <= worst ? worst : std::abs(r);
    }
  return worst / (of_a * of_x * a.n * std::numeric_limits<T>::epsilon());
}

template <class T>
class LapackShape : public ::testing::Test {
 public:
  void SetUp() override {
    complaints.clear();
    ASSERT_NE(lulab.library, nullptr);
  }
  /// lulab, and the system's where it is found.
  std::vector<const Lapack<T>*> both() const {
    return system.library == nullptr ? std::vector{&lulab} : std::vector{&lulab, &system};
  }
  Lapack<T> lulab{lapack_shaped}, system{"liblapack.so.3"};
};
using LapackScalars = ::testing::Types<double, float>;
TYPED_TEST_SUITE(LapackShape, LapackScalars);

TYPED_TEST(LapackShape, FactorsEveryShapeAndTouchesNothingElse) {
  using T = TypeParam;
  for (const auto factor : this->lulab.factors())
    for (const auto& [m, n] :
         {std::pair{1, 1}, {2, 5}, {5, 2}, {17, 17}, {16, 40}, {40, 16}, {33, 70}, {70, 33}, {65, 65}})
      for (const int more : {0, 3}) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + ", lda " + std::to_string(m + more));
        const Full<T> a(m, n, more, 7 * m + n);
        Full<T> lu = a;
        std::vector<int> ipiv(std::min(m, n) + 1, -77);
        ASSERT_EQ(call<T>(factor, m, n, lu.data(), lu.ld, ipiv.data()), 0);
        const double error = product_error(a, lu, ipiv);
        EXPECT_TRUE(error <= 30) << error;
        EXPECT_TRUE(lu.has_poison());
        EXPECT_EQ(ipiv.back(), -77);
      }
}

TYPED_TEST(LapackShape, TakesThePivotsOfTheSystem) {
  using T = TypeParam;
  for (const auto& [m, n] : {std::pair{3, 3}, {20, 9}, {9, 20}, {50, 50}})
    for (const int zero_column : {-1, 2}) {
      std::vector<std::tuple<int, std::vector<int>>> found;
      for (const auto* lapack : this->both())
        for (const auto factor : lapack->factors()) {
          Full<T> a(m, n, 1, m + n);
          for (int i = 0; i < m && zero_column >= 0; ++i) a.at(i, zero_column) = 0;
          std::vector<int> ipiv(std::min(m, n), -77);
          const int info = call<T>(factor, m, n, a.data(), a.ld, ipiv.data());
          found.emplace_back(info, ipiv);
          EXPECT_EQ(info, zero_column + 1);
        }
      for (const auto& each : found) EXPECT_EQ(each, found[0]);
    }
}

TYPED_TEST(LapackShape, GoesOnAfterTheFirstZeroPivot) {
  using T = TypeParam;
  for (const auto factor : this->lulab.factors())
    for (const auto& [m, n] : {std::pair{30, 30}, {30, 50}, {50, 30}}) {
      Full<T> a(m, n, 2, m);
      for (int i = 0; i < m; ++i) a.at(i, 11) = a.at(i, 25) = 0;
      Full<T> lu = a;
      std::vector<int> ipiv(std::min(m, n), -77);
      EXPECT_EQ(call<T>(factor, m, n, lu.data(), lu.ld, ipiv.data()), 12);
      EXPECT_EQ(lu.at(11, 11), T(0));
      const double error = product_error(a, lu, ipiv);
      EXPECT_TRUE(error <= 30) << error;
    }
}

TYPED_TEST(LapackShape, SolvesWithAAndItsTranspose) {
  using T = TypeParam;
  for (const int n : {1, 3, 40})
    for (const int nrhs : {1, 7})
      for (const char trans : {'N', 'n', 'T', 't', 'C', 'c'}) {
        SCOPED_TRACE(std::string(1, trans) + ", n " + std::to_string(n));
        const Full<T> a(n, n, 2, n), b(n, nrhs, 3, n + 1);
        Full<T> lu = a, x = b;
        std::vector<int> ipiv(n, -77);
        ASSERT_EQ(call<T>(this->lulab.getrf_, n, n, lu.data(), lu.ld, ipiv.data()), 0);
        const Full<T> factors = lu;
        ASSERT_EQ(this->lulab.getrs(trans, n, nrhs, lu.data(), lu.ld, ipiv.data(), x.data(), x.ld), 0);
        const double error = solution_error(a, x, b, trans != 'N' && trans != 'n');
        EXPECT_TRUE(error <= 30) << error;
        EXPECT_TRUE(x.has_poison());
        EXPECT_TRUE(lu.equals(factors));
        if (trans != 'N') continue;
        lu = a, x = b;
        ASSERT_EQ(this->lulab.gesv(n, nrhs, lu.data(), lu.ld, ipiv.data(), x.data(), x.ld), 0);
        EXPECT_TRUE(solution_error(a, x, b, false) <= 30);
        EXPECT_TRUE(lu.equals(factors));
      }
}

TYPED_TEST(LapackShape, LeavesBWhereAIsSingular) {
  using T = TypeParam;
  for (const auto* lapack : this->both()) {
    Full<T> a(5, 5, 0, 1), b(5, 2, 1, 2);
    for (int i = 0; i < 5; ++i) a.at(i, 3) = 0;
    const Full<T> before = b;
    int ipiv[5];
    EXPECT_EQ(lapack->gesv(5, 2, a.data(), 5, ipiv, b.data(), 6), 4);
    EXPECT_TRUE(b.equals(before));
  }
}

TYPED_TEST(LapackShape, LeavesEverythingWhereNothingIsAskedFor) {
  using T = TypeParam;
  for (const auto* lapack : this->both()) {
    T value = 7;
    int row = -77;
    for (const auto factor : lapack->factors()) {
      EXPECT_EQ(call<T>(factor, 0, 3, &value, 1, &row), 0);
      EXPECT_EQ(call<T>(factor, 3, 0, &value, 3, &row), 0);
    }
    EXPECT_EQ(lapack->getrs('N', 0, 1, &value, 1, &row, &value, 1), 0);
    EXPECT_EQ(lapack->getrs('N', 1, 0, &value, 1, &row, &value, 1), 0);
    EXPECT_EQ(lapack->gesv(0, 1, &value, 1, &row, &value, 1), 0);
    EXPECT_EQ(value, T(7));
    EXPECT_EQ(row, -77);
    EXPECT_EQ(lapack->gesv(1, 0, &value, 1, &row, &value, 1), 0);  // factors
    EXPECT_EQ(row, 1);
  }
  EXPECT_TRUE(complaints.empty());
}

TYPED_TEST(LapackShape, TellsXerblaAndInfoWhichArgumentIsWrong) {
  using T = TypeParam;
  const std::string d = sizeof(T) == 8 ? "D" : "S";
  for (const auto* lapack : this->both()) {
    complaints.clear();
    T a[9] = {}, b[9] = {};
    int ipiv[3] = {1, 2, 3};
    for (const auto factor : lapack->factors()) {
      EXPECT_EQ(call<T>(factor, -1, 2, a, 2, ipiv), -1);
      EXPECT_EQ(call<T>(factor, 2, -1, a, 2, ipiv), -2);
      EXPECT_EQ(call<T>(factor, 2, 2, a, 1, ipiv), -4);
      EXPECT_EQ(call<T>(factor, 0, 2, a, 0, ipiv), -4);
    }
    EXPECT_EQ(lapack->getrs('/', 2, 1, a, 2, ipiv, b, 2), -1);
    EXPECT_EQ(lapack->getrs('N', -1, 1, a, 2, ipiv, b, 2), -2);
    EXPECT_EQ(lapack->getrs('N', 2, -1, a, 2, ipiv, b, 2), -3);
    EXPECT_EQ(lapack->getrs('N', 2, 1, a, 1, ipiv, b, 2), -5);
    EXPECT_EQ(lapack->getrs('N', 2, 1, a, 2, ipiv, b, 1), -8);
    EXPECT_EQ(lapack->gesv(-1, 1, a, 2, ipiv, b, 2), -1);
    EXPECT_EQ(lapack->gesv(2, -1, a, 2, ipiv, b, 2), -2);
    EXPECT_EQ(lapack->gesv(2, 1, a, 1, ipiv, b, 2), -4);
    EXPECT_EQ(lapack->gesv(2, 1, a, 2, ipiv, b, 1), -7);
    Complaints expected;
    for (const char* name : {"GETRF", "GETRF2", "GETF2"})
      for (const int argument : {1, 2, 4, 4}) expected.emplace_back(d + name, argument);
    for (const int argument : {1, 2, 3, 5, 8}) expected.emplace_back(d + "GETRS", argument);
    for (const int argument : {1, 2, 4, 7}) expected.emplace_back(d + "GESV ", argument);
    EXPECT_EQ(complaints, expected);
  }
}

// LAPACK would write there.
TYPED_TEST(LapackShape, RefusesRowsThatAreNone) {
  using T = TypeParam;
  T a[4] = {1, 0, 0, 1}, b[2] = {1, 2};
  for (const int wrong : {0, 3, -77}) {
    const int ipiv[2] = {1, wrong};
    EXPECT_EQ(this->lulab.getrs('N', 2, 1, a, 2, ipiv, b, 2), -6);
  }
  EXPECT_EQ(complaints.size(), 3u);
  EXPECT_EQ(b[1], T(2));
}

TYPED_TEST(LapackShape, LetsNanSpread) {
  using T = TypeParam;
  for (const auto* lapack : this->both())
    for (const auto factor : lapack->factors())
      for (const int n : {3, 40})
        for (const int row : {0, 1, n - 1}) {
          Full<T> a(n, n, 0, 5), b(n, 1, 0, 6);
          a.at(row, 0) = Full<T>::poison();
          std::vector<int> ipiv(n, -77);
          EXPECT_EQ(call<T>(factor, n, n, a.data(), n, ipiv.data()), 0);
          for (int k = 0; k < n; ++k) EXPECT_TRUE(k < ipiv[k] && ipiv[k] <= n) << ipiv[k];
          EXPECT_EQ(lapack->getrs('N', n, 1, a.data(), n, ipiv.data(), b.data(), n), 0);
          for (int i = 0; i < n; ++i) EXPECT_TRUE(std::isnan(b.at(i, 0))) << i;
        }
}

TYPED_TEST(LapackShape, SaysThatThereIsNoMemory) {
  using T = TypeParam;
  const Full<T> a(40, 40, 0, 3), b(40, 2, 0, 4);
  std::vector<int> ipiv(40);
  int info = 0, failed = 0;
  bool was_refused = true;
  for (int k = 0; was_refused; ++k) {
    Full<T> lu = a, x = b;
    was_refused = testing::without_memory_after(
        k, [&] { info = this->lulab.gesv(40, 2, lu.data(), 40, ipiv.data(), x.data(), 40); });
    EXPECT_TRUE(info == 0 ? solution_error(a, x, b, false) <= 30 : info == -1010) << info;
    failed += info != 0;
  }
  EXPECT_EQ(info, 0);
  EXPECT_GE(failed, 1);
}

// LAPACK would read and write there.
TYPED_TEST(LapackShape, RefusesNullAndOnlyReadsFactors) {
  using T = TypeParam;
  T a[4] = {1, 0, 0, 1}, b[2] = {1, 2}, *const none = nullptr;
  int ipiv[2] = {1, 2}, *const no_rows = nullptr;
  for (const auto factor : this->lulab.factors()) {
    EXPECT_EQ(call<T>(factor, 2, 2, none, 2, ipiv), -3);
    EXPECT_EQ(call<T>(factor, 2, 2, a, 2, no_rows), -5);
  }
  EXPECT_EQ(this->lulab.getrs('N', 2, 1, none, 2, ipiv, b, 2), -4);
  EXPECT_EQ(this->lulab.getrs('N', 2, 1, a, 2, no_rows, b, 2), -6);
  EXPECT_EQ(this->lulab.getrs('N', 2, 1, a, 2, ipiv, none, 2), -7);
  EXPECT_EQ(this->lulab.gesv(2, 1, none, 2, ipiv, b, 2), -3);
  EXPECT_EQ(this->lulab.gesv(2, 1, a, 2, no_rows, b, 2), -5);
  EXPECT_EQ(this->lulab.gesv(2, 1, a, 2, ipiv, none, 2), -6);
  EXPECT_EQ(complaints.size(), 12u);
  const testing::ReadOnly lu(std::vector<T>{1, 0, 0, 1});
  const testing::ReadOnly rows(std::vector<int>{1, 2});
  for (const char trans : {'N', 'T'}) EXPECT_EQ(this->lulab.getrs(trans, 2, 1, lu.data(), 2, rows.data(), b, 2), 0);
  EXPECT_EQ(b[1], T(2));
}

TYPED_TEST(LapackShape, ServesManyThreads) {
  using T = TypeParam;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        const Full<T> a(50 + t, 50 + t, 0, round), b(50 + t, 3, 0, t);
        Full<T> lu = a, x = b;
        std::vector<int> ipiv(a.n, -77);
        EXPECT_EQ(this->lulab.gesv(a.n, 3, lu.data(), lu.ld, ipiv.data(), x.data(), x.ld), 0);
        const double error = solution_error(a, x, b, false);
        EXPECT_TRUE(error <= 30) << error;
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// On the GPU, or in the simulator, in a process of its own: where is asked once. There a NaN is the pivot wherever it
// is; on the CPU only where it is first.
TEST(LapackDevice, DISABLED_TakesTheNan) {
  double a[9] = {1, std::nan(""), 2, 1, 2, 4, 3, 1, 1};
  int ipiv[3];
  EXPECT_EQ(call<double>(Lapack<double>(lapack_shaped).getrf_, 3, 3, a, 3, ipiv), 0);
  EXPECT_EQ(ipiv[0], 2);
}
TEST(LapackDevice, FactorsToo) {
  if (LULAB_FOR_GPU && !std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "no GPU";
  // Without memory the CPU takes over.
  const std::string tests =
      "' --gtest_also_run_disabled_tests --gtest_filter='LapackShape*:LapackDevice.DISABLED_*-*NoMemory'";
  const testing::Answer device = testing::run_command("LULAB_LAPACK=gpu '" + testing::this_program().string() + tests);
  EXPECT_EQ(device.code, 0) << device.out << device.err;
  const testing::Answer cpu = testing::run_command("LULAB_LAPACK=cpu '" + testing::this_program().string() + tests);
  EXPECT_EQ(cpu.code, 1) << "the probe does not tell them apart";
}

TEST(LapackLibrary, ExportsItsFunctionsAndNothingElse) {
  std::set<std::string> exported, expected;
  const std::regex symbol(" (\\w) (\\w+)\n");
  const testing::Answer answer = testing::run_command("nm -D --defined-only '" + lapack_shaped + "'");
  for (std::sregex_iterator it(answer.out.begin(), answer.out.end(), symbol), end; it != end; ++it)
    exported.insert((*it)[2]);
  for (const std::string scalar : {"d", "s"})
    for (const char* name : {"getrf_", "getrf2_", "getf2_", "getrs_", "gesv_"}) expected.insert(scalar + name);
  EXPECT_EQ(exported, expected);
}

}  // namespace
}  // namespace lulab
