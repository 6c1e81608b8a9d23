// A panel factored by one cluster, with the columns left and right of it, against the definition: every width, heights
// around blocks, every variant, ties, zeros, NaN and infinities.

#include "dense/06_cluster_panel.h"

#include <cstring>

#include "testing/device.h"
#include "testing/getrf.h"

namespace lulab::testing {
namespace {

using dense::ClusterPanelLimits;

constexpr std::int32_t rows_of_a_block = 2048;  // in panels of 8 columns
ClusterPanelLimits limits_of(int max_blocks) { return {max_blocks, max_blocks * rows_of_a_block}; }

/// Panel [first, first + width) in the block of columns [begin, end).
struct Shape {
  std::int32_t n, first, width, begin, end;
  std::int32_t rows() const { return n - first; }
};
std::string trace(const Shape& s, int max_blocks) {
  return "n = " + std::to_string(s.n) + ", panel " + std::to_string(s.first) + " + " + std::to_string(s.width) +
         ", block " + std::to_string(s.begin) + ".." + std::to_string(s.end) + ", at most " +
         std::to_string(max_blocks) + " blocks";
}
/// A panel of m rows with `left` columns of the block before it and `right` behind it, one more column on both sides of
/// the block where there is room.
Shape shape_of(std::int32_t m, std::int32_t width, std::int32_t left, std::int32_t right) {
  const std::int32_t first = left + 1;
  return {first + m, first, width, 1, std::min(first + width + right, first + m)};
}

/// A, ipiv and info as they lie in device memory, the padding and the column behind the block included.
template <class T>
struct Memory {
  std::int64_t ld = 0;
  std::vector<T> a;
  std::vector<std::int32_t> ipiv;
  std::int32_t info = 0;

  T& operator()(std::int64_t i, std::int64_t j) { return a[i + j * ld]; }
  T operator()(std::int64_t i, std::int64_t j) const { return a[i + j * ld]; }
};

/// Rows beyond n hold a number that arithmetic would change, or a NaN that would spread.
template <class T>
Memory<T> random_memory(const Shape& s, std::uint64_t seed) {
  Memory<T> m;
  m.ld = s.n + static_cast<std::int64_t>(seed % 3);
  m.a.resize(m.ld * std::min(s.end + 1, s.n));
  std::memset(m.a.data(), seed % 2 == 0 ? 0x41 : 0xFF, m.a.size() * sizeof(T));
  m.ipiv.assign(s.n, -7);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (std::int32_t j = 0; j < std::min(s.end + 1, s.n); ++j)
    for (std::int32_t i = 0; i < s.n; ++i) m(i, j) = static_cast<T>(unit(random));
  return m;
}

/// What `enqueue(a, stream)` leaves of the memory.
template <class T, class Enqueue>
Result<Memory<T>> on_device(Memory<T> m, Enqueue&& enqueue) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_a, simt::DeviceBuffer<T>::create(m.a, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_ipiv, simt::DeviceBuffer<std::int32_t>::create(m.ipiv, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_info,
                         simt::DeviceBuffer<std::int32_t>::create(std::span<const std::int32_t>(&m.info, 1), stream));
  const auto n = static_cast<std::int32_t>(m.ipiv.size());
  LULAB_RETURN_IF_ERROR(enqueue(dense::DeviceDense<T>{n, m.ld, d_a.data(), d_ipiv.data(), d_info.data()}, stream));
  LULAB_RETURN_IF_ERROR(d_a.download(m.a, stream));
  LULAB_RETURN_IF_ERROR(d_ipiv.download(m.ipiv, stream));
  LULAB_RETURN_IF_ERROR(d_info.download(std::span(&m.info, 1), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return m;
}
template <class T>
Result<Memory<T>> factor_panel(const Memory<T>& m, const Shape& s, int max_blocks) {
  return on_device(m, [&](const dense::DeviceDense<T>& a, simt::Stream& stream) {
    return dense::factor_cluster_panel(a, s.first, s.width, s.begin, s.end, limits_of(max_blocks), stream);
  });
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}
/// Both the same infinity, or both a NaN, or both finite.
template <class T>
bool same_class(T a, T b) {
  return std::isfinite(a) ? std::isfinite(b) : std::isnan(a) ? std::isnan(b) : a == b;
}

/// The panel as a matrix of its own, factored by the reference.
template <class T>
struct ReferencePanel {
  DenseMatrix<T> lu;
  std::vector<std::int32_t> ipiv;  // in the panel
  std::int32_t info = 0;
};
template <class T>
ReferencePanel<T> reference_panel(const Memory<T>& before, const Shape& s) {
  ReferencePanel<T> r{DenseMatrix<T>(s.rows(), s.width), std::vector<std::int32_t>(s.width, -1)};
  for (std::int32_t j = 0; j < s.width; ++j)
    for (std::int32_t i = 0; i < s.rows(); ++i) r.lu(i, j) = before(s.first + i, s.first + j);
  r.info = dense::getrf_reference(r.lu.view(), std::span(r.ipiv));
  return r;
}

/// The swaps that `after` names, carried out one after the other on the block's columns of `before`.
template <class T>
Memory<T> swapped(Memory<T> before, const Memory<T>& after, const Shape& s) {
  for (std::int32_t k = s.first; k < s.first + s.width; ++k)
    for (std::int32_t j = s.begin; j < s.end; ++j) std::swap(before(k, j), before(after.ipiv[k], j));
  return before;
}

/// Everything outside the panel and U12, and ipiv and info, must be what the swaps make of it, to the bit; L and U of
/// the panel and U12 are measured entry by entry:
///   |P·A − L·U| <= 4 (w + 4) eps |L|·|U|     Higham, Accuracy and Stability, sec. 9.3, with room for the reciprocal
template <class T>
void expect_right(const Memory<T>& before, const Memory<T>& after, const Shape& s, Pivots pivots) {
  const ReferencePanel<T> reference = reference_panel(before, s);
  const double close = 1 - 1000 * static_cast<double>(std::numeric_limits<T>::epsilon());
  std::int32_t steps = s.width;  // before a near tie
  for (std::int32_t k = 0; k < steps && pivots == Pivots::until_near_tie; ++k)
    for (std::int32_t i = k + 1; i < s.rows(); ++i)
      if (reference.lu(k, k) != T(0) && std::abs(reference.lu(i, k)) >= close) steps = k;
  for (std::int32_t k = 0; k < s.n; ++k) {
    const std::int32_t in_panel = k - s.first;
    if (in_panel < 0 || in_panel >= s.width)
      ASSERT_EQ(after.ipiv[k], -7) << "ipiv[" << k << "] is not the panel's";
    else if (in_panel < steps)
      ASSERT_EQ(after.ipiv[k] - s.first, reference.ipiv[in_panel]) << "step " << in_panel;
    else
      ASSERT_TRUE(k <= after.ipiv[k] && after.ipiv[k] < s.n) << "ipiv[" << k << "] = " << after.ipiv[k];
  }
  if (steps == s.width) {
    EXPECT_EQ(after.info, reference.info == 0 ? 0 : s.first + reference.info);
  }

  const Memory<T> moved = swapped(before, after, s);
  const auto l = [&](std::int32_t i, std::int32_t k) { return i == k ? T(1) : after(s.first + i, s.first + k); };
  const long double bound = 4 * (s.width + 4) * static_cast<long double>(std::numeric_limits<T>::epsilon());
  std::int32_t wrong = 0;
  for (std::int32_t j = 0; j < static_cast<std::int32_t>(moved.a.size() / moved.ld); ++j)
    for (std::int32_t i = 0; i < moved.ld; ++i) {
      const std::int32_t row = i - s.first, column = j - s.first;
      const bool in_rows = row >= 0 && row < s.rows();
      const bool of_panel = in_rows && column >= 0 && column < s.width;
      const bool of_u12 = in_rows && row < s.width && column >= s.width && j < s.end;
      bool right = true;
      if (of_panel || of_u12) {
        long double product = 0, magnitudes = 0;
        const std::int32_t last = of_u12 ? row : std::min(row, column);
        for (std::int32_t k = 0; k <= last; ++k) {
          const long double term = static_cast<long double>(l(row, k)) * after(s.first + k, j);
          product += term;
          magnitudes += std::abs(term);
        }
        const long double tol = bound * magnitudes + 64 * std::numeric_limits<T>::denorm_min();
        right = std::abs(moved(i, j) - product) <= tol;
        if (row > column && of_panel)
          right = right && std::abs(after(i, j)) <= 1 + 2 * std::numeric_limits<T>::epsilon();
      } else {
        right = same_bits(after(i, j), moved(i, j));
      }
      if (!right && ++wrong <= 3)
        ADD_FAILURE() << (of_panel ? "panel"
                          : of_u12 ? "U12"
                                   : "outside")
                      << " (" << row << ", " << column << ") of the panel: " << after(i, j) << ", was " << moved(i, j);
    }
  EXPECT_EQ(wrong, 0);
}

/// Finite where the definition is, the same infinity or a NaN where it is not: in the panel, and in U12 as the unit
/// lower triangle makes it from what the swaps bring.
template <class T>
void expect_same_classes(const Memory<T>& before, const Memory<T>& after, const Shape& s) {
  const ReferencePanel<T> reference = reference_panel(before, s);
  for (std::int32_t k = 0; k < s.width; ++k)
    ASSERT_EQ(after.ipiv[s.first + k] - s.first, reference.ipiv[k]) << "step " << k;
  EXPECT_EQ(after.info, reference.info == 0 ? 0 : s.first + reference.info);
  Memory<T> u = swapped(before, after, s);
  for (std::int32_t j = s.first + s.width; j < s.end; ++j)
    for (std::int32_t k = 0; k < s.width; ++k)
      for (std::int32_t i = k + 1; i < s.width; ++i) u(s.first + i, j) -= reference.lu(i, k) * u(s.first + k, j);
  for (std::int32_t j = s.begin; j < s.end; ++j)
    for (std::int32_t i = 0; i < s.n; ++i) {
      const bool of_panel = i >= s.first && j >= s.first && j < s.first + s.width;
      const T expected = of_panel ? reference.lu(i - s.first, j - s.first) : u(i, j);
      ASSERT_TRUE(same_class(after(i, j), expected))
          << "(" << i - s.first << ", " << j - s.first << ") of the panel: " << after(i, j) << " for " << expected;
    }
}

template <class T>
class ClusterPanel : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto limits = dense::cluster_panel_limits<T>(1);
    max_blocks_ = limits.ok() ? limits->max_blocks : 0;
  }
  /// A cluster of so many blocks of 128 threads: the simulated device holds more of these than of larger ones.
  static bool fits(int blocks) {
#ifdef __SANITIZE_THREAD__
    return blocks <= 4;
#endif
    return simt::machine() == simt::Machine::simulator || blocks <= max_blocks_;
  }
  void expect_factored(const Shape& s, int max_blocks, std::uint64_t seed) {
    SCOPED_TRACE(trace(s, max_blocks));
    const auto before = random_memory<T>(s, seed);
    const auto after = factor_panel(before, s, max_blocks);
    LULAB_ASSERT_OK(after);
    expect_right(before, *after, s, Pivots::until_near_tie);
  }
  static inline int max_blocks_ = 0;
};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ClusterPanel, Scalars);

TYPED_TEST(ClusterPanel, FactorsEveryWidthBetweenOtherColumns) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (std::int32_t width = 1; width <= 32; ++width) {
    const int max_blocks = 1 << width % 3;
    this->expect_factored(shape_of(width + 37, width, width % 5, 3 + width % 37), max_blocks, width);
    this->expect_factored(shape_of(max_blocks * 128 - width % 2, width, 2, 2), max_blocks, 100 + width);
  }
  for (const std::int32_t width : {1, 5, 31, 32}) this->expect_factored(shape_of(width, width, 40, 0), 4, width);
}

TYPED_TEST(ClusterPanel, FactorsHeightsAroundWarpsAndBlocks) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const int max_blocks : {1, 2, 4})
    for (const std::int32_t m : {1, 2, 3, 31, 32, 33, 127, 128, 129, 255, 257, 384, 385, 511, 512, 700}) {
      if (dense::cluster_panel_columns(m, limits_of(max_blocks)) < 32 || !this->fits(max_blocks)) continue;
      if (m < 129 && max_blocks == 2) continue;
      this->expect_factored(shape_of(m, std::min(m, 19), 4, 34), max_blocks, m);
    }
}

TYPED_TEST(ClusterPanel, FactorsPanelsOfLargeClusters) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const int max_blocks : {8, 16}) {
    if (!this->fits(max_blocks)) continue;
    this->expect_factored(shape_of(max_blocks * 128 - 5, 11, 3, 5), max_blocks, max_blocks);
    this->expect_factored(shape_of(max_blocks * 96, 32, 0, 0), max_blocks, max_blocks);
  }
}

// More rows than threads: two rows a thread in 16 columns, four in 8.
TYPED_TEST(ClusterPanel, FactorsTallPanelsInFewerColumns) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const auto& [m, max_blocks, columns] : {std::tuple{513, 1, 16},
                                               {900, 1, 16},
                                               {1024, 1, 16},
                                               {1025, 1, 8},
                                               {1999, 1, 8},
                                               {2048, 1, 8},
                                               {1100, 2, 16},
                                               {2049, 2, 8}}) {
    if (!this->fits(max_blocks)) continue;
    ASSERT_EQ(dense::cluster_panel_columns(m, limits_of(max_blocks)), columns);
    for (const std::int32_t width : {columns, columns / 2 + 1})
      this->expect_factored(shape_of(m, width, 2, 3 + width), max_blocks, m + width);
  }
}

// Values -1, 0, 1 that stay so: no rounding, most pivots among exact ties, zero columns. Rows far apart tie, too.
TYPED_TEST(ClusterPanel, TakesTheFirstOfEquals) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::int32_t m = seed % 3 == 0 ? 350 : 40 + static_cast<std::int32_t>(seed), max_blocks = 4;
    const Shape s = shape_of(m, 32 - seed % 2, 3, 4);
    SCOPED_TRACE(trace(s, max_blocks) + ", seed " + std::to_string(seed));
    auto before = random_memory<TypeParam>(s, seed);
    const DenseMatrix<double> ties = interval_matrix(m, seed);
    for (std::int32_t j = 0; j < s.width; ++j)
      for (std::int32_t i = 0; i < m; ++i) before(s.first + i, s.first + j) = static_cast<TypeParam>(ties(i, j));
    const auto after = factor_panel(before, s, max_blocks);
    LULAB_ASSERT_OK(after);
    expect_right(before, *after, s, Pivots::exact);
    const auto reference = reference_panel(before, s);
    for (std::int32_t j = 0; j < s.width; ++j)
      for (std::int32_t i = 0; i < m; ++i) ASSERT_EQ((*after)(s.first + i, s.first + j), reference.lu(i, j));
  }
}

// The swap of step 0 has put row 0 behind the row that ties with it: position decides, not the place in memory. That
// row belongs to another block, or (900 rows in 480 threads, 1999 in 512) to the same thread.
TYPED_TEST(ClusterPanel, TakesTheFirstOfEqualsInTheOrderAfterTheSwaps) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const auto& [m, max_blocks, first_pivot, tie] : {std::tuple{450, 4, 400, 200},
                                                        {900, 1, 700, 480},
                                                        {1999, 1, 1800, 1024},
                                                        {1999, 1, 600, 512},
                                                        {900, 1, 300, 480}}) {
    const Shape s = shape_of(m, 7, 2, 3);
    SCOPED_TRACE(trace(s, max_blocks));
    auto before = random_memory<TypeParam>(s, 5);
    const auto panel = [&](std::int32_t i, std::int32_t j) -> TypeParam& { return before(s.first + i, s.first + j); };
    panel(first_pivot, 0) = 2;
    panel(0, 0) = panel(tie, 0) = 0;
    panel(0, 1) = 8;
    panel(tie, 1) = -8;
    const auto after = factor_panel(before, s, max_blocks);
    LULAB_ASSERT_OK(after);
    EXPECT_EQ(after->ipiv[s.first] - s.first, first_pivot);
    EXPECT_EQ(after->ipiv[s.first + 1] - s.first, std::min(first_pivot, tie));  // where row 0 is now, or the other
    expect_right(before, *after, s, Pivots::until_near_tie);
  }
}

// Equal in the leading bits, the only ones that the fast comparison of a warp or of the blocks uses.
TYPED_TEST(ClusterPanel, TakesTheLargestOfNearlyEquals) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const auto& [m, max_blocks] : {std::pair{32, 4}, {128, 4}, {300, 4}, {900, 1}, {1999, 1}})
    for (const std::int32_t largest : {0, m / 3, m - 1}) {
      const Shape s = shape_of(m, 6, 0, 0);
      SCOPED_TRACE(trace(s, max_blocks));
      auto before = random_memory<TypeParam>(s, m);
      for (std::int32_t i = 0; i < m; ++i) {
        const int ulps = (7 * (i - largest + m) + m - 1) % m;  // all different, m - 1 in row `largest`
        before(s.first + i, s.first) = (i % 2 == 0 ? 1 : -1) * (1 + ulps * std::numeric_limits<TypeParam>::epsilon());
      }
      const auto after = factor_panel(before, s, max_blocks);
      LULAB_ASSERT_OK(after);
      EXPECT_EQ(after->ipiv[s.first] - s.first, largest);
      EXPECT_EQ((*after)(s.first, s.first), before(s.first + largest, s.first));
    }
}

TYPED_TEST(ClusterPanel, InfoNamesTheFirstZeroColumnAndStaysOnceSet) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const auto& [m, width, zero] : {std::tuple{40, 9, 0}, {40, 9, 5}, {40, 32, 31}, {1, 1, 0}, {300, 20, 19}}) {
    const Shape s = shape_of(m, width, 3, 2);
    SCOPED_TRACE(trace(s, 4) + ", column " + std::to_string(zero) + " is zero");
    auto before = random_memory<TypeParam>(s, m);
    for (std::int32_t j = zero; j < width; j += 2)
      for (std::int32_t i = 0; i < m; ++i) before(s.first + i, s.first + j) = j == zero ? TypeParam(0) : -TypeParam(0);
    const auto after = factor_panel(before, s, 4);
    LULAB_ASSERT_OK(after);
    EXPECT_EQ(after->info, s.first + zero + 1);
    EXPECT_EQ(after->ipiv[s.first + zero], s.first + zero);
    expect_right(before, *after, s, Pivots::until_near_tie);
    before.info = 2;
    const auto later = factor_panel(before, s, 4);
    LULAB_ASSERT_OK(later);
    EXPECT_EQ(later->info, 2);
  }
}

// Pivots whose reciprocal is no normal number: the quotient itself must be taken.
TYPED_TEST(ClusterPanel, DividesByPivotsThatHaveNoReciprocal) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  using Limits = std::numeric_limits<TypeParam>;
  const TypeParam huge = std::ldexp(TypeParam(1), Limits::max_exponent - 1);  // its reciprocal is subnormal, too
  for (const TypeParam diagonal : {Limits::denorm_min() * 64, Limits::min() / 4, Limits::min(), huge}) {
    const Shape s = shape_of(140, 17, 1, 0);
    SCOPED_TRACE("pivots " + std::to_string(std::log2(diagonal)));
    auto before = random_memory<TypeParam>(s, 3);
    for (std::int32_t j = 0; j < s.width; ++j)
      for (std::int32_t i = 0; i < s.rows(); ++i)
        before(s.first + i, s.first + j) = i == s.rows() - 1 - j ? diagonal : i == j ? -diagonal / 4 : TypeParam(0);
    const auto after = factor_panel(before, s, 4);
    LULAB_ASSERT_OK(after);
    const auto reference = reference_panel(before, s);  // no rounding happens
    for (std::int32_t j = 0; j < s.width; ++j) {
      EXPECT_EQ(after->ipiv[s.first + j] - s.first, reference.ipiv[j]);
      for (std::int32_t i = 0; i < s.rows(); ++i) ASSERT_EQ((*after)(s.first + i, s.first + j), reference.lu(i, j));
    }
    EXPECT_EQ(after->info, 0);
  }
}

TYPED_TEST(ClusterPanel, TakesTheFirstNanAsPivotAndKeepsFinishedRows) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  const TypeParam nan = std::numeric_limits<TypeParam>::quiet_NaN();
  const auto larger_bits = static_cast<TypeParam>(std::nan("0x4000000000005"));
  for (const auto& [m, width] : {std::pair{50, 32}, {300, 13}, {700, 9}})
    for (const std::int32_t column : {0, width / 2, width - 1}) {
      const Shape s = shape_of(m, width, 2, 5);
      SCOPED_TRACE(trace(s, 2) + ", NaN in column " + std::to_string(column));
      auto before = random_memory<TypeParam>(s, m);
      before(s.first + m - 1, s.first + column) = larger_bits;
      before(s.first + m - 2, s.first + column) = -nan;
      before(s.first + 2 * m / 3, s.first + column) = nan;
      const auto after = factor_panel(before, s, 2);
      LULAB_ASSERT_OK(after);
      expect_same_classes(before, *after, s);
    }
}

// A row with an infinity becomes a pivot at once, or in a later column than the infinity's: rows that are finished keep
// their finite values. In the columns to the right it reaches the rows below it alone.
TYPED_TEST(ClusterPanel, AnInfinityDoesNotReachFinishedRows) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  const TypeParam inf = std::numeric_limits<TypeParam>::infinity();
  for (const auto& [m, width] : {std::pair{50, 32}, {300, 13}, {700, 9}})
    for (const std::int32_t column : {0, width / 2, width - 1, width + 1})
      for (const bool is_early_pivot : {false, true}) {
        const Shape s = shape_of(m, width, 2, 5);
        SCOPED_TRACE(trace(s, 2) + ", infinity in column " + std::to_string(column));
        auto before = random_memory<TypeParam>(s, m);
        const std::int32_t row = m - 3;
        before(s.first + row, s.first + column) = -inf;
        if (is_early_pivot) before(s.first + row, s.first + std::min(column, width - 1) / 2) = 50;
        const auto after = factor_panel(before, s, 2);
        LULAB_ASSERT_OK(after);
        expect_same_classes(before, *after, s);
      }
}

TYPED_TEST(ClusterPanel, RepeatsItselfBitForBitUnderEverySchedule) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const auto& [m, width, max_blocks] : {std::tuple{60, 32, 1}, {500, 9, 4}}) {
    const Shape s = shape_of(m, width, 3, 9);
    const auto before = random_memory<TypeParam>(s, m);
    const auto usual = factor_panel(before, s, max_blocks);
    LULAB_ASSERT_OK(usual);
    for (const std::uint64_t seed : simt::schedule_seeds()) {
      const simt::SimulatorScope scope({.seed = seed});
      const auto after = factor_panel(before, s, max_blocks);
      LULAB_ASSERT_OK(after);
      EXPECT_EQ(after->ipiv, usual->ipiv) << "schedule " << seed;
      EXPECT_EQ(std::memcmp(after->a.data(), usual->a.data(), usual->a.size() * sizeof(TypeParam)), 0)
          << "schedule " << seed;
    }
  }
}

TYPED_TEST(ClusterPanel, RefusesWrongArguments) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  auto stream = simt::Stream::create();
  LULAB_ASSERT_OK(stream);
  const auto code = [&](std::int32_t n, std::int32_t first, std::int32_t width, std::int32_t begin, std::int32_t end) {
    const dense::DeviceDense<TypeParam> a{n, n, nullptr, nullptr, nullptr};
    return dense::factor_cluster_panel(a, first, width, begin, end, limits_of(1), *stream).code;
  };
  EXPECT_EQ(code(40, -1, 4, 0, 40), StatusCode::invalid_argument);
  EXPECT_EQ(code(40, 0, 0, 0, 40), StatusCode::invalid_argument);
  EXPECT_EQ(code(40, 0, 33, 0, 40), StatusCode::invalid_argument);
  EXPECT_EQ(code(600, 0, 17, 0, 40), StatusCode::invalid_argument);  // 16 columns at most
  EXPECT_EQ(code(2049, 0, 1, 0, 40), StatusCode::invalid_argument);  // too tall for one block
  EXPECT_EQ(code(40, 37, 4, 0, 40), StatusCode::invalid_argument);   // fewer rows than columns
  EXPECT_EQ(code(40, 8, 4, 9, 40), StatusCode::invalid_argument);
  EXPECT_EQ(code(40, 8, 4, -1, 40), StatusCode::invalid_argument);
  EXPECT_EQ(code(40, 8, 4, 0, 11), StatusCode::invalid_argument);
  EXPECT_EQ(code(40, 8, 4, 0, 41), StatusCode::invalid_argument);
  LULAB_ASSERT_OK(stream->wait());
  const auto too_many = dense::cluster_panel_limits<TypeParam>(1 << 30);
  EXPECT_EQ(too_many.status().code, StatusCode::invalid_argument);
}

// The block is cut in panels, and halved when it is wider than four of them.
TYPED_TEST(ClusterPanel, BlocksOfSeveralPanelsAreFactoredAsOne) {
  LULAB_NEED_DEVICE();
  LULAB_NEED_CLUSTERS();
  for (const auto& [n, first, end, max_blocks] : {std::tuple{70, 3, 36, 1},
                                                  {200, 0, 96, 2},
                                                  {150, 2, 131, 2},
                                                  {220, 20, 149, 4},
                                                  {310, 5, 295, 4},
                                                  {620, 4, 74, 1},
                                                  {1100, 3, 40, 1}}) {
    // As a panel of its own in the measure above: no other columns in the block.
    const Shape s{n, first, end - first, first, end};
    SCOPED_TRACE(trace(s, max_blocks));
    const auto before = random_memory<TypeParam>(s, n);
    const auto after = on_device(
        before,
        [&, first = first, end = end, max_blocks = max_blocks](const dense::DeviceDense<TypeParam>& a,
                                                               simt::Stream& stream) -> Status {
          LULAB_ASSIGN_OR_RETURN(auto blas, simt::Blas::create(stream));
          LULAB_RETURN_IF_ERROR(dense::factor_block_by_panels(a, first, end, limits_of(max_blocks), blas, stream));
          return stream.wait();
        });
    LULAB_ASSERT_OK(after);
    expect_right(before, *after, s, Pivots::until_near_tie);
  }
}

}  // namespace
}  // namespace lulab::testing
