// A front alone against the plain loops that its comment names.

#include "sparse_syncfree/11_fan_in_dense.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "testing/launch.h"

namespace lulab::sparse_syncfree {
namespace {

/// X of a front in shared memory, eliminated.
/// x: (task.x_scalars)   pivot_columns: (task.pivots)   words: as many as the rest has entries, and one more
/// grid: 1   block: threads   shared: X
template <class T, int threads>
__global__ void front_kernel(DeviceFactorsView<T> f, FanInTask task, const std::uint32_t* pivot_columns, T* x,
                             Word<T>* words) {
  LULAB_DYNAMIC_SHARED(T, front);
  for (std::uint32_t i = threadIdx.x; i < task.x_scalars; i += threads) front[i] = x[i];
  __syncthreads();  // RACE: each thread brought some of X, all read it
  const FanInTables tables = {nullptr, reinterpret_cast<const char*>(pivot_columns), 0};
  eliminate_dense<threads>(f, tables, task, words, front);
  __syncthreads();  // RACE: each thread changed some of X, all read it
  for (std::uint32_t i = threadIdx.x; i < task.x_scalars; i += threads) x[i] = front[i];
}

/// A front, and what became of it.
template <class T>
struct Case {
  FanInTask task = {};
  std::vector<T> x;      // (x_scalars) NaN outside the front
  std::vector<T> words;  // of the rest by rows, then one that nobody writes
  std::int32_t perturbed = 0, failed_column = 0;

  T& at(std::uint32_t i, std::uint32_t j) { return x[i * task.stride + j]; }
  T at(std::uint32_t i, std::uint32_t j) const { return x[i * task.stride + j]; }
};

constexpr std::int32_t no_column = 1 << 20, first_column = 100;

template <class T>
Case<T> random_case(std::uint32_t pivots, std::uint32_t rows, std::uint32_t columns, std::mt19937_64& random) {
  std::uniform_real_distribution<T> uniform(-1, 1);
  Case<T> c;
  c.task.is_dense = c.task.counts_pivots = 1;
  c.task.pivots = pivots;
  c.task.rows = rows;
  c.task.columns = columns;
  const std::uint32_t size =
      (std::max(rows, columns) + FanInShape::size_step - 1) / FanInShape::size_step * FanInShape::size_step;
  c.task.stride = static_cast<std::uint32_t>(FanInShape::stride_of(static_cast<std::int32_t>(size)));
  c.task.x_scalars = size * c.task.stride;
  c.x.assign(c.task.x_scalars, std::numeric_limits<T>::quiet_NaN());
  for (std::uint32_t i = 0; i < rows; ++i)
    for (std::uint32_t j = 0; j < columns; ++j) c.at(i, j) = i == j ? T(8) + uniform(random) : uniform(random);
  return c;
}

/// The loops that eliminate_dense() names.
template <class T>
Case<T> by_loops(Case<T> c, T least) {
  c.failed_column = no_column;
  for (std::uint32_t k = 0; k < c.task.pivots; ++k) {
    if (std::abs(c.at(k, k)) < least) {
      c.at(k, k) = c.at(k, k) < T(0) ? -least : least;
      ++c.perturbed;
    }
    if (c.at(k, k) == T(0)) c.failed_column = std::min(c.failed_column, first_column + static_cast<std::int32_t>(k));
    for (std::uint32_t i = k + 1; i < c.task.rows; ++i) {
      c.at(i, k) /= c.at(k, k);
      for (std::uint32_t j = k + 1; j < c.task.columns; ++j) c.at(i, j) -= c.at(i, k) * c.at(k, j);
    }
  }
  for (std::uint32_t i = c.task.pivots; i < c.task.rows; ++i)
    for (std::uint32_t j = c.task.pivots; j < c.task.columns; ++j) c.words.push_back(-c.at(i, j));
  return c;
}

template <class T, int threads>
Result<Case<T>> by_kernel(Case<T> c, T least, std::uint64_t seed) {
  const simt::SimulatorScope scope({.seed = seed});
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  std::vector<std::uint32_t> columns(c.task.pivots);
  for (std::uint32_t k = 0; k < c.task.pivots; ++k) columns[k] = first_column + k;
  const std::int64_t rest = std::int64_t(c.task.rows - c.task.pivots) * (c.task.columns - c.task.pivots);
  LULAB_ASSIGN_OR_RETURN(auto d_columns, simt::DeviceBuffer<std::uint32_t>::create(columns, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_x, simt::DeviceBuffer<T>::create(c.x, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_words, simt::DeviceBuffer<Word<T>>::create(rest + 1));
  LULAB_ASSIGN_OR_RETURN(auto d_notes,
                         simt::DeviceBuffer<std::int32_t>::create(std::vector<std::int32_t>{0, no_column}, stream));
  LULAB_ASSIGN_OR_RETURN(auto d_max, simt::DeviceBuffer<T>::create(std::vector<T>{T(1)}, stream));
  LULAB_RETURN_IF_ERROR(d_words.fill_bytes(0xff, stream));
  DeviceFactorsView<T> f = {};
  f.perturbed = d_notes.data();
  f.failed_column = d_notes.data() + 1;
  f.perturb_pivots = least;
  f.a_max = d_max.data();
  LULAB_RETURN_IF_ERROR(simt::launch(front_kernel<T, threads>,
                                     {.grid = 1, .block = threads, .shared_bytes = sizeof(T) * c.task.x_scalars},
                                     stream, f, c.task, d_columns.data(), d_x.data(), d_words.data()));
  std::vector<std::int32_t> notes(2);
  std::vector<Word<T>> words(static_cast<std::size_t>(rest + 1));
  LULAB_RETURN_IF_ERROR(d_notes.download(notes, stream));
  LULAB_RETURN_IF_ERROR(d_x.download(c.x, stream));
  LULAB_RETURN_IF_ERROR(d_words.download(words, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  EXPECT_EQ(words.back(), not_yet<T>) << "a word of another front";
  words.pop_back();
  for (const Word<T> w : words) {
    EXPECT_NE(w, not_yet<T>) << "a word that was not written";
    c.words.push_back(std::bit_cast<T>(w));
  }
  c.perturbed = notes[0];
  c.failed_column = notes[1];
  return c;
}

template <class T>
void expect_near(T found, T expected, T scale) {
  EXPECT_TRUE(std::abs(found - expected) <= 200 * std::numeric_limits<T>::epsilon() * scale)
      << found << " instead of " << expected;
}

template <class T>
void expect_same(const Case<T>& found, const Case<T>& expected, T scale) {
  SCOPED_TRACE(::testing::Message() << expected.task.pivots << " pivots, " << expected.task.rows << " x "
                                    << expected.task.columns);
  for (std::uint32_t i = 0; i < expected.task.rows; ++i)
    for (std::uint32_t j = 0; j < expected.task.columns; ++j)
      if (std::min(i, j) < expected.task.pivots) expect_near(found.at(i, j), expected.at(i, j), scale);
  ASSERT_EQ(found.words.size(), expected.words.size());
  for (std::size_t w = 0; w < expected.words.size(); ++w) expect_near(found.words[w], expected.words[w], scale);
  EXPECT_EQ(found.perturbed, expected.perturbed);
  EXPECT_EQ(found.failed_column, expected.failed_column);
}

template <class T, int threads>
void expect_shapes(int step) {
  std::mt19937_64 random(threads + sizeof(T));
  const auto most = static_cast<std::uint32_t>(FanInShape{threads}.max_front());
  int at = 0;
  for (const std::uint32_t pivots : {1, 2, 7, 8, 9, 15, 16, 17, 24, 29})
    for (const std::uint32_t more_rows : {0, 1, 7, 8, 9, 25, 128})
      for (const std::uint32_t more_columns : {0, 1, 7, 8, 9, 25, 128}) {
        if (at++ % step != 0) continue;
        const auto c =
            random_case<T>(pivots, std::min(pivots + more_rows, most), std::min(pivots + more_columns, most), random);
        const auto found = by_kernel<T, threads>(c, T(0), static_cast<std::uint64_t>(at));
        LULAB_ASSERT_OK(found);
        expect_same(*found, by_loops(c, T(0)), T(10));
        if (::testing::Test::HasFailure()) return;
      }
}

// Prime steps: each meets all numbers of pivots, rows and columns, if not all together.
TEST(FanInFront, OfAnyShapeIsEliminated) {
  LULAB_NEED_DEVICE();
  const int step = simt::race_detection ? 97 : simt::instrumented ? 11 : 1;
  expect_shapes<double, fan_in_batch_threads>(step);
  expect_shapes<float, fan_in_batch_threads>(step);
  expect_shapes<double, fan_in_threads>(3 * step);
  expect_shapes<float, fan_in_threads>(5 * step);
}

// A pivot that nothing changes before it is its turn, at each place of whole blocks and of a part of one.
TEST(FanInFront, CountsEachPivotThatIsPerturbedOrLost) {
  LULAB_NEED_DEVICE();
  std::mt19937_64 random(4);
  constexpr std::uint32_t pivots = 21, size = 46;
  for (std::uint32_t k = 0; k < pivots; k += simt::race_detection ? 10 : simt::instrumented ? 5 : 1)
    for (const double pivot : {0.0, 1e-310, -1e-12}) {
      SCOPED_TRACE(::testing::Message() << "pivot " << k << " is " << pivot);
      auto c = random_case<double>(pivots, size, size + 3, random);
      for (std::uint32_t i = 0; i < size; ++i)
        if (i != k) c.at(i, k) = 0;
      c.at(k, k) = pivot;
      const auto found = by_kernel<double, fan_in_batch_threads>(c, 1e-8, k);
      LULAB_ASSERT_OK(found);
      const auto expected = by_loops(c, 1e-8);
      EXPECT_EQ(expected.perturbed, 1);
      expect_same(*found, expected, 10.0);
      if (pivot == 0) {
        const auto lost = by_kernel<double, fan_in_batch_threads>(c, 0.0, k);
        LULAB_ASSERT_OK(lost);
        EXPECT_EQ(lost->failed_column, first_column + static_cast<std::int32_t>(k));
        EXPECT_EQ(lost->perturbed, 0);
      }
    }
}

}  // namespace
}  // namespace lulab::sparse_syncfree
