// Panels and fronts that are found on the device are those that the host finds.

#include "symbolic/fill_on_device.h"

#include <algorithm>
#include <random>

#include "core/matrix/permutation.h"
#include "preprocess/graph_reduction.h"
#include "symbolic/fill.h"
#include "symbolic/supernodes_on_device.h"
#include "symbolic/tree_on_device.h"
#include "testing/device_memory_limit.h"
#include "testing/every_refusal.h"
#include "testing/failing_operations.h"
#include "testing/launch.h"
#include "testing/patterns.h"
#include "testing/torn_atomics.h"

namespace lulab {
namespace {

using testing::postordered;
using testing::random_matrix;

constexpr FrontCosts merges_all = {.tile = 1 << 20, .fixed = 1e15};
constexpr FrontCosts merges_none = {.tile = 1 << 20, .fixed = -1e9};

/// From A, p and q on the device, which are read only, and poisoned after the call.
Result<FillOnDevice> fill_of_device_arrays(const CscPattern& a, const Permutation& p, const Permutation& q,
                                           ColumnOrder order) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto d_a, PatternOnDevice::create(a, stream));
  simt::DeviceBuffer<std::int32_t> d_p, d_q;
  LULAB_RETURN_IF_ERROR(simt::make(d_p, p, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_q, q, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  LULAB_ASSIGN_OR_RETURN(auto fill, FillOnDevice::create(d_a.view(), d_p.data(), d_q.data(), order));
  const auto check_and_poison = [&](auto& d_array, const auto& expected) -> Status {
    auto now = expected;
    LULAB_RETURN_IF_ERROR(d_array.download(now, stream));
    LULAB_RETURN_IF_ERROR(stream.wait());
    EXPECT_EQ(now, expected);
    LULAB_RETURN_IF_ERROR(d_array.fill_bytes(0xff, stream));
    return stream.wait();
  };
  LULAB_RETURN_IF_ERROR(check_and_poison(d_a.d_col_ptr, a.col_ptr));
  LULAB_RETURN_IF_ERROR(check_and_poison(d_a.d_row_idx, a.row_idx));
  LULAB_RETURN_IF_ERROR(check_and_poison(d_p, p));
  LULAB_RETURN_IF_ERROR(check_and_poison(d_q, q));
  return fill;
}

Result<FillOnDevice> fill_of(const CscPattern& b) {
  const Permutation same = identity_permutation(b.n_cols);
  return FillOnDevice::create(b, same, same);
}

std::vector<FrontColumn> columns_on_host(const Fronts& fronts) {
  auto stream = simt::Stream::create();
  std::vector<FrontColumn> columns(fronts.d_columns->size());
  EXPECT_TRUE(fronts.d_columns->download(columns, *stream).ok() && stream->wait().ok());
  return columns;
}

struct Reached {
  std::int32_t unsymmetric = 0, several_tiles = 0, with_parent = 0;
};

/// device: of b
void expect_same_fronts(const CscPattern& b, FillOnDevice& device, Reached& reached) {
  const FilledPattern f = *fill_reference(b);
  const auto downloaded = device.download();
  LULAB_ASSERT_OK(downloaded);
  EXPECT_EQ(*downloaded, f);
  const RelaxedSupernodes panels = find_relaxed_supernodes(f, {});
  LULAB_ASSERT_OK(device.find_panels());
  const auto updates = device.count_updates();
  LULAB_ASSERT_OK(updates);
  EXPECT_EQ(*updates, count_updates(panels));
  const auto on_device = device.supernodes();
  LULAB_ASSERT_OK(on_device);
  ASSERT_EQ(*on_device, panels);
  const auto parents = device.parents();
  LULAB_ASSERT_OK(parents);
  EXPECT_EQ(*parents, elimination_tree(*fill_reference(symmetrized_graph(b))));
  reached.unsymmetric += f.nnz_l() + f.n != f.nnz_u();
  for (const FrontCosts& costs : {FrontCosts{}, merges_none, merges_all}) {
    const Fronts expected = find_fronts(f, panels, costs);
    const auto fronts = device.fronts(costs, 1e9);
    LULAB_ASSERT_OK(fronts);
    ASSERT_EQ(fronts->tree, expected.tree);
    ASSERT_EQ(fronts->cuts, expected.cuts);
    ASSERT_EQ(fronts->column_ptr, expected.column_ptr);
    ASSERT_EQ(fronts->padding, expected.padding);
    ASSERT_EQ(columns_on_host(*fronts), find_front_columns(f, expected));
    for (const FrontCuts& cuts : fronts->cuts) reached.several_tiles += cuts.tiles > 1;
    for (const std::int32_t parent : fronts->tree.parent) reached.with_parent += parent >= 0;
  }
}

void expect_same_fronts(const CscPattern& b, Reached& reached) {
  auto device = fill_of(b);
  LULAB_ASSERT_OK(device);
  expect_same_fronts(b, *device, reached);
}

TEST(FillOnDevice, FindsThePanelsAndFrontsThatTheHostFinds) {
  LULAB_NEED_DEVICE();
  Reached reached;
  const int seeds = simt::instrumented ? 10 : 60;
  for (int seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    const simt::SimulatorScope scope({.seed = std::uint64_t(seed), .resident_blocks = seed % 4});
    const std::int32_t n = seed % 10 == 9 ? 150 : 2 * seed;
    const double density = n == 0 ? 0 : seed % 3 == 0 ? 0.1 : 1.5 / n;
    expect_same_fronts(postordered(random_matrix(seed, {.n = n, .density = density}).pattern()), reached);
    if (HasFailure()) return;
  }
  for (const auto& [name, f, before] : testing::generated_patterns(simt::instrumented ? 36 : 130)) {
    SCOPED_TRACE(name);
    expect_same_fronts(postordered(before), reached);
    if (HasFailure()) return;
  }
  EXPECT_GT(reached.unsymmetric, 5);
  EXPECT_GT(reached.several_tiles, 5);
  EXPECT_GT(reached.with_parent, simt::instrumented ? 200 : 500);
}

TEST(FillOnDevice, MergesColumnsWhoseRowsAreManyOrFarApart) {
  LULAB_NEED_DEVICE();
  // Rows of a window, 1024, and of a warp, 32, end within columns.
  constexpr std::int32_t n = simt::instrumented ? 1100 : 2500, border = simt::instrumented ? 10 : 20;
  std::mt19937 random(3);
  const CscPattern b = testing::pattern_of(n, [&](std::int32_t i, std::int32_t j) {
    if (i == j || (i >= n - border && j >= n - border)) return true;
    if (i < n - border && j < n - border) return false;
    return i < j ? (j % 4 == 0 || random() % 3 == 0) : random() % 8 == 0;
  });
  Reached reached;
  expect_same_fronts(postordered(b), reached);
}

/// Each request of a call refused in turn, alone and with all later ones; then the call has what it needs.
/// tries_again: it makes up for one.   prepare: before each call, with all memory
template <class Call, class Prepare>
auto after_refusals(const Call& call, bool tries_again, const Prepare& prepare) {
  std::int64_t requests = 0;
  prepare();
  {
    const testing::DeviceMemoryLimit counts_only;
    EXPECT_TRUE(call().ok());
    requests = counts_only.requests();
  }
  EXPECT_GT(requests, 0);
  for (std::int64_t k = 1; k <= requests; ++k)
    for (const std::int64_t last : {k, testing::DeviceMemoryLimit::all}) {
      prepare();
      const testing::DeviceMemoryLimit refuses(k, last);
      const bool makes_up = tries_again && last == k;
      EXPECT_EQ(call().status().code, makes_up ? StatusCode::ok : StatusCode::out_of_memory) << "request " << k;
    }
  return call();
}

TEST(FillOnDevice, WithoutMemoryACallIsRefusedAndCanComeAgain) {
  LULAB_NEED_DEVICE();
  const CscPattern b = postordered(random_matrix(5, {.n = 60, .density = 0.05}).pattern());
  const FilledPattern f = *fill_reference(b);
  const RelaxedSupernodes panels = find_relaxed_supernodes(f, {});
  auto device = after_refusals([&] { return fill_of(b); }, false, [] {});
  LULAB_ASSERT_OK(device);
  const auto find_panels = [&]() -> Result<bool> {
    LULAB_RETURN_IF_ERROR(device->find_panels());
    return true;
  };
  // First calls: later ones have the memory of the ones before.
  LULAB_ASSERT_OK(after_refusals(find_panels, true, [&] { device = fill_of(b); }));
  {
    const testing::DeviceMemoryLimit nothing_left(1, testing::DeviceMemoryLimit::all);
    EXPECT_EQ(device->count_updates().status().code, StatusCode::out_of_memory);
  }
  const auto updates = device->count_updates();
  LULAB_ASSERT_OK(updates);
  EXPECT_EQ(*updates, count_updates(panels));
  const auto fronts = after_refusals([&] { return device->fronts({}, 1e9); }, false,
                                     [&] {
                                       device = fill_of(b);
                                       LULAB_ASSERT_OK(device->find_panels());
                                     });
  LULAB_ASSERT_OK(fronts);
  EXPECT_EQ(fronts->tree, find_fronts(f, panels).tree);
  EXPECT_EQ(columns_on_host(*fronts), find_front_columns(f, find_fronts(f, panels)));

  // Of a symmetric pattern fronts() begins with the bitmaps of the fill. Where they went, it makes them again.
  const CscPattern symmetric = postordered(testing::pattern_of(60, [](int i, int j) {
    const int apart = std::abs(i - j);
    return apart < 2 || (apart == 9 && (i + j) % 3 == 0);
  }));
  device = fill_of(symmetric);
  {
    const testing::DeviceMemoryLimit once(1, 1);
    LULAB_ASSERT_OK(device->find_panels());
  }
  const auto without_bitmaps = device->fronts({}, 1e9);
  LULAB_ASSERT_OK(without_bitmaps);
  const FilledPattern of_symmetric = *fill_reference(symmetric);
  const Fronts expected = find_fronts(of_symmetric, find_relaxed_supernodes(of_symmetric, {}));
  EXPECT_EQ(without_bitmaps->tree, expected.tree);
  EXPECT_EQ(columns_on_host(*without_bitmaps), find_front_columns(of_symmetric, expected));
}

TEST(FillOnDevice, PanelsNeedNoPostorderAndFrontsDo) {
  LULAB_NEED_DEVICE();
  int refused = 0;
  for (int seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const CscPattern b = random_matrix(seed, {.n = 40, .density = 0.05}).pattern();
    auto device = fill_of(b);
    LULAB_ASSERT_OK(device);
    const RelaxedSupernodes panels = find_relaxed_supernodes(*fill_reference(b), {});
    LULAB_ASSERT_OK(device->find_panels());
    const auto on_device = device->supernodes();
    LULAB_ASSERT_OK(on_device);
    EXPECT_EQ(*on_device, panels);
    const auto fronts = device->fronts({}, 1e9);
    if (fronts.ok()) continue;
    EXPECT_EQ(fronts.status().code, StatusCode::not_implemented);
    ++refused;
  }
  EXPECT_GT(refused, 10);
}

TEST(FillOnDevice, ColumnsThatAreNotInPostorderCanBePutIntoIt) {
  LULAB_NEED_DEVICE();
  Reached reached;
  int reordered = 0;
  for (int seed = 0; seed < (simt::instrumented ? 6 : 30); ++seed) {
    SCOPED_TRACE(seed);
    const CscPattern a = random_matrix(seed, {.n = 40 + seed, .density = 0.05}).pattern();
    std::mt19937 random(seed);
    Permutation p = identity_permutation(a.n_cols), q = p;
    std::ranges::shuffle(p, random);
    std::ranges::shuffle(q, random);
    const CscPattern b = permute(a, p, q);
    const auto as_given = fill_of_device_arrays(a, p, q, ColumnOrder::as_given);
    LULAB_ASSERT_OK(as_given);
    const auto parents = as_given->parents();
    LULAB_ASSERT_OK(parents);
    EXPECT_EQ(*parents, elimination_tree(*fill_reference(symmetrized_graph(b))));
    auto fill = seed % 2 == 0 ? FillOnDevice::create(a, p, q, ColumnOrder::in_postorder)
                              : fill_of_device_arrays(a, p, q, ColumnOrder::in_postorder);
    LULAB_ASSERT_OK(fill);
    const Permutation& order = fill->postorder();
    const CscPattern found = order.empty() ? b : permute(b, order, order);
    reordered += !order.empty();
    expect_same_fronts(found, *fill, reached);
    EXPECT_EQ(fill_reference(found)->nnz(), fill_reference(b)->nnz());
    if (HasFailure()) return;
  }
  EXPECT_GT(reordered, simt::instrumented ? 3 : 20);
  const CscPattern in_order = postordered(random_matrix(3, {.n = 60, .density = 0.05}).pattern());
  const Permutation same = identity_permutation(60);
  const auto as_it_is = FillOnDevice::create(in_order, same, same, ColumnOrder::in_postorder);
  LULAB_ASSERT_OK(as_it_is);
  EXPECT_TRUE(as_it_is->postorder().empty());
  const auto empty = fill_of_device_arrays({}, {}, {}, ColumnOrder::in_postorder);
  LULAB_ASSERT_OK(empty);
  EXPECT_EQ(*empty->parents(), std::vector<std::int32_t>());
}

TEST(FillOnDevice, FrontsOfTooManyZerosAreRefused) {
  LULAB_NEED_DEVICE();
  // The last rows of L are full, the last columns of U are not: made symmetric it is twice as much.
  const CscPattern b = testing::pattern_of(80, [](int i, int j) { return i == j || (i >= 70 && j < i); });
  auto device = fill_of(b);
  LULAB_ASSERT_OK(device);
  LULAB_ASSERT_OK(device->find_panels());
  LULAB_ASSERT_OK(device->fronts({}, 9));
  EXPECT_EQ(device->fronts({}, 1.05).status().code, StatusCode::not_implemented);
}

/// The whole analysis on the device.
struct AnalysisUser {
  CscPattern b = postordered(random_matrix(7, {.n = 40, .density = 0.04}).pattern());
  std::optional<FillOnDevice> fill = {};

  std::vector<testing::Call> calls() {
    return {{"fill", [this] { return find_fill(); }},
            {"panels and fronts", [this] { return find_fronts_of_panels(); }},
            {"fill again", [this] { return find_fill(); }},
            {"tree", [this]() -> Status {
               LULAB_ASSIGN_OR_RETURN(const auto parents, fill->parents());
               EXPECT_EQ(parents, elimination_tree(*fill_reference(symmetrized_graph(b))));
               return {};
             }}};
  }
  void look() {}

 private:
  Status find_fill() {
    const Permutation same = identity_permutation(b.n_cols);
    LULAB_ASSIGN_OR_RETURN(fill, FillOnDevice::create(b, same, same, ColumnOrder::in_postorder));
    LULAB_ASSIGN_OR_RETURN(const auto f, fill->download());
    EXPECT_EQ(f, *fill_reference(b));
    return {};
  }
  Status find_fronts_of_panels() {
    const FilledPattern f = *fill_reference(b);
    LULAB_RETURN_IF_ERROR(fill->find_panels());
    LULAB_ASSIGN_OR_RETURN(const auto panels, fill->supernodes());
    EXPECT_EQ(panels, find_relaxed_supernodes(f, {}));
    LULAB_ASSIGN_OR_RETURN(const auto updates, fill->count_updates());
    EXPECT_EQ(updates, count_updates(panels));
    LULAB_ASSIGN_OR_RETURN(const auto fronts, fill->fronts({}, 1e9));
    EXPECT_EQ(fronts.tree, find_fronts(f, panels, {}).tree);
    const testing::NoOperationFails here;
    EXPECT_EQ(columns_on_host(fronts), find_front_columns(f, fronts));
    return {};
  }
};

TEST(FillOnDevice, TellsOfEveryFailedOperation) {
  LULAB_NEED_FAILING_OPERATIONS();
  const auto make = [] { return std::make_unique<AnalysisUser>(); };
  constexpr testing::RefusalOptions every = {.must_tell = true, .every = true};
  int failed = 0;
  testing::expect_recovers_from_every_refusal<AnalysisUser, testing::FailingOperations<false>>(make, failed, every);
  testing::expect_recovers_from_every_refusal<AnalysisUser, testing::FailingOperations<true>>(make, failed, every);
  EXPECT_GT(failed, 0);
}

/// Whether some schedule gives other panels, or counts other updates of them.
bool panels_are_wrong() {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const FilledPattern f = *fill_reference(postordered(random_matrix(seed, {.n = 80, .density = 0.03}).pattern()));
    const RelaxedSupernodes expected = find_relaxed_supernodes(f, {});
    const simt::SimulatorScope scope({.seed = seed});
    auto stream = simt::Stream::create();
    DeviceFilledPattern filled;
    filled.n = f.n;
    filled.nnz = f.nnz();
    if (!simt::make(filled.d_col_ptr, f.col_ptr, *stream).ok() || !simt::make(filled.d_diag, f.diag, *stream).ok() ||
        !simt::make(filled.d_row_idx, f.row_idx, *stream).ok())
      return true;
    simt::Workspace work;
    const auto panels = supernodes_on_device(filled, {}, work, *stream);
    if (!panels.ok()) return true;
    const auto found = panels->download(*stream);
    if (!found.ok() || *found != expected) return true;
    const auto updates = count_updates(*panels, *stream);
    if (!updates.ok() || *updates != count_updates(expected)) return true;
  }
  return false;
}

TEST(SupernodesOnDevice, EachAtomicThatIsTornIsSeen) {
  LULAB_NEED_SIMULATOR();
  if (simt::instrumented) GTEST_SKIP() << "wrong values tell of them; the preset sim looks for those";
  const auto atomics = testing::tear_each_atomic(panels_are_wrong);
  EXPECT_EQ(atomics.met.size(), 7u);  // parents, first children, rows of a panel, ticket, told, sums, longest chain
  for (const std::string& place : atomics.unnoticed)  // one thread writes the word, once
    EXPECT_TRUE(place.ends_with(" in told")) << place;
}

}  // namespace
}  // namespace lulab
