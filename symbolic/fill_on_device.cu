#include "symbolic/fill_on_device.h"

#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "symbolic/08_depth_bitmaps.h"
#include "symbolic/supernodes_on_device.h"

namespace lulab {
namespace {

constexpr unsigned column_threads = 256;
constexpr std::int32_t few_chains = 128;  // each takes some 4 us to climb, and paths in U as many steps

Status no_host_memory() {
  return Status::error(StatusCode::out_of_memory, "not enough host memory for the tree, panels and fronts");
}

/// Where FrontPlace finds its others.
struct FrontOnDevice {
  FrontCuts cuts;
  std::int32_t first;
  std::int64_t others, columns;  // where they begin
};

/// find_front_columns().   grid: a thread a FrontColumn   shared: none
__global__ void find_front_columns_kernel(std::int32_t fronts, const FrontOnDevice* front, const std::int32_t* others,
                                          const std::int64_t* col_ptr, const std::int32_t* row_idx, std::int64_t count,
                                          FrontColumn* columns) {
  const std::int64_t k = simt::thread_of_grid();
  if (k >= count) return;
  std::int32_t s = 0;
  for (std::int32_t high = fronts; high - s > 1;) {
    const std::int32_t middle = s + (high - s) / 2;
    (front[middle].columns <= k ? s : high) = middle;
  }
  const FrontPlace place = {front[s].cuts, front[s].first, others + front[s].others};
  const std::int64_t in_front = k - front[s].columns;
  columns[k] = place.column(static_cast<std::int32_t>(in_front / front_tile),
                            static_cast<std::int32_t>(in_front % front_tile), col_ptr, row_idx);
}

/// Of each front the column of its last pivot, and where its others begin.   grid: a thread a front   shared: none
__global__ void list_last_pivots_kernel(std::int32_t fronts, const FrontOnDevice* front, std::int32_t* last,
                                        std::int64_t* others) {
  const std::int64_t s = simt::thread_of_grid();
  if (s >= fronts) return;
  last[s] = front[s].first + front[s].cuts.pivots - 1;
  others[s] = front[s].others;
}

/// inverse().   grid: a thread an element   shared: none
__global__ void invert_kernel(std::int32_t n, const std::int32_t* p, std::int32_t* inverse) {
  if (const std::int64_t i = simt::thread_of_grid(); i < n) inverse[p[i]] = static_cast<std::int32_t>(i);
}

/// Of each panel the parent's panel, -1: none, and its others.   grid: a thread a panel   shared: none
__global__ void describe_panels_kernel(std::int32_t panels, const std::int32_t* first, const std::int32_t* of,
                                       const std::int32_t* parent_column, const std::int32_t* rows_below,
                                       std::int32_t* parent, std::int32_t* others) {
  const auto s = static_cast<std::int32_t>(simt::thread_of_grid());
  if (s >= panels) return;
  const std::int32_t last = first[s + 1] - 1, up = parent_column[last];
  parent[s] = up == no_parent ? -1 : of[up];
  others[s] = rows_below[last];
}

}  // namespace

struct FillOnDevice::Impl {
  DepthBitmaps search;
  mutable simt::Stream stream, download_stream;
  PatternOnDevice b = {};  // P·A·Q
  DeviceFilledPattern filled = {};
  Permutation postorder = {};
  DeviceSupernodes panels = {};

  /// Without room for b.
  static Result<std::unique_ptr<Impl>> create(std::int32_t n, std::int64_t nnz);
  /// b = A(p, q); A may be where b is.
  Status permute(const DevicePattern& a, const std::int32_t* d_p, const std::int32_t* d_q);
  /// b likewise, and its fill.
  Status fill(const DevicePattern& a, const std::int32_t* d_p, const std::int32_t* d_q, ColumnOrder order);
  Result<AssemblyTree> find_tree(const FrontCosts& costs);
  /// Gives them what of their trees lies on the device, and their columns.
  Status find_columns(Fronts& fronts);
};

FillOnDevice::FillOnDevice(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
FillOnDevice::~FillOnDevice() = default;
FillOnDevice::FillOnDevice(FillOnDevice&&) noexcept = default;
FillOnDevice& FillOnDevice::operator=(FillOnDevice&&) noexcept = default;

Result<FillOnDevice> FillOnDevice::create(CscPatternView a, std::span<const std::int32_t> p,
                                          std::span<const std::int32_t> q, ColumnOrder order) try {
  LULAB_ASSIGN_OR_RETURN(auto impl, Impl::create(a.n_cols, a.nnz()));
  LULAB_ASSIGN_OR_RETURN(impl->b, PatternOnDevice::create(a, impl->stream));
  simt::DeviceBuffer<std::int32_t> d_p, d_q;
  LULAB_RETURN_IF_ERROR(simt::make(d_p, p, impl->stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_q, q, impl->stream));
  LULAB_RETURN_IF_ERROR(impl->fill(impl->b.view(), d_p.data(), d_q.data(), order));
  return FillOnDevice(std::move(impl));
} catch (const std::bad_alloc&) {
  return no_host_memory();
}

Result<FillOnDevice> FillOnDevice::create(const DevicePattern& a, const std::int32_t* d_p, const std::int32_t* d_q,
                                          ColumnOrder order) try {
  LULAB_ASSIGN_OR_RETURN(auto impl, Impl::create(a.n, a.nnz));
  LULAB_ASSIGN_OR_RETURN(impl->b, PatternOnDevice::create(a.n, a.nnz));
  LULAB_RETURN_IF_ERROR(impl->fill(a, d_p, d_q, order));
  return FillOnDevice(std::move(impl));
} catch (const std::bad_alloc&) {
  return no_host_memory();
}

Result<std::unique_ptr<FillOnDevice::Impl>> FillOnDevice::Impl::create(std::int32_t n, std::int64_t nnz) {
  LULAB_ASSIGN_OR_RETURN(auto stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto download_stream, simt::Stream::create());
  LULAB_ASSIGN_OR_RETURN(auto search, DepthBitmaps::create(n, nnz, {.above = few_chains}, {}));
  return std::make_unique<Impl>(Impl{std::move(search), std::move(stream), std::move(download_stream)});
}

Status FillOnDevice::Impl::permute(const DevicePattern& a, const std::int32_t* d_p, const std::int32_t* d_q) {
  if (a.n == 0) return {};
  std::int32_t *row_number = nullptr, *column_number = nullptr;
  std::int64_t* keys = nullptr;
  LULAB_RETURN_IF_ERROR(simt::place_together(search.workspace().arrays, stream, simt::Placed{row_number, a.n},
                                             simt::Placed{column_number, a.n}, simt::Placed{keys, 2 * a.nnz}));
  const simt::LaunchShape rows = {.grid = simt::blocks_for(a.n, column_threads), .block = column_threads};
  LULAB_RETURN_IF_ERROR(simt::launch(invert_kernel, rows, stream, a.n, d_p, row_number));
  LULAB_RETURN_IF_ERROR(simt::launch(invert_kernel, rows, stream, a.n, d_q, column_number));
  return search.renumber(a, row_number, column_number, keys, {b.d_col_ptr.data(), nullptr, b.d_row_idx.data()}, stream);
}

Status FillOnDevice::Impl::fill(const DevicePattern& a, const std::int32_t* d_p, const std::int32_t* d_q,
                                ColumnOrder order) {
  Status found = permute(a, d_p, d_q);
  if (found.ok())
    found = order == ColumnOrder::as_given
                ? search.fill(b.view(), filled, stream)
                : search.fill_in_postorder(b.view(), b.d_col_ptr.data(), b.d_row_idx.data(), postorder, filled, stream);
  const Status ended = stream.wait();  // download_stream reads the pattern, too, and the caller may free a, d_p and d_q
  return found.ok() ? ended : found;
}

const Permutation& FillOnDevice::postorder() const { return impl_->postorder; }

Result<FilledPattern> FillOnDevice::download() const {
  if (impl_->filled.n == 0) return FilledPattern{};
  return impl_->filled.download(impl_->download_stream);
}

Result<std::vector<std::int32_t>> FillOnDevice::parents() const try {
  if (impl_->b.n == 0) return std::vector<std::int32_t>();
  return impl_->search.parents(impl_->stream);
} catch (const std::bad_alloc&) {
  return no_host_memory();
}

std::int64_t FillOnDevice::nnz() const { return impl_->filled.nnz; }

Status FillOnDevice::find_panels() try {
  const auto find = [&]() -> Status {
    LULAB_ASSIGN_OR_RETURN(impl_->panels,
                           supernodes_on_device(impl_->filled, {}, impl_->search.workspace(), impl_->stream));
    return {};
  };
  Status found = find();
  if (found.code != StatusCode::out_of_memory) return found;
  impl_->panels = {};
  (void)impl_->stream.wait();
  impl_->search.drop_workspace();  // the bitmaps that fronts() would begin with
  return find();
} catch (const std::bad_alloc&) {
  return no_host_memory();
}

Result<PanelUpdates> FillOnDevice::count_updates() const try {
  return lulab::count_updates(impl_->panels, impl_->stream);
} catch (const std::bad_alloc&) {
  return no_host_memory();
}

Result<RelaxedSupernodes> FillOnDevice::supernodes() const try {
  return impl_->panels.download(impl_->stream);
} catch (const std::bad_alloc&) {
  return no_host_memory();
}

/// The others of a panel are the rows below its last column in L of B + Bᵀ: all its columns are below that one in the
/// elimination tree of B + Bᵀ, since they are in that of L + U. Their first one is its parent there.
Result<AssemblyTree> FillOnDevice::Impl::find_tree(const FrontCosts& costs) {
  const std::int32_t size = panels.size();
  UninitializedVector<std::int32_t> parent(size), n_others(size);
  const std::size_t bytes = sizeof(std::int32_t) * parent.size();
  std::int32_t *d_rows_below = nullptr, *d_parent = nullptr, *d_others = nullptr;
  LULAB_RETURN_IF_ERROR(simt::place_together(search.workspace().arrays, stream, simt::Placed{d_rows_below, b.n},
                                             simt::Placed{d_parent, size}, simt::Placed{d_others, size}));
  LULAB_RETURN_IF_ERROR(search.rows_below(b.view(), d_rows_below, stream));
  if (size > 0)
    LULAB_RETURN_IF_ERROR(simt::launch(
        describe_panels_kernel, {.grid = simt::blocks_for(size, column_threads), .block = column_threads}, stream, size,
        panels.d_first.data(), panels.d_of.data(), search.parents(), d_rows_below, d_parent, d_others));
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(parent.data(), d_parent, bytes, stream));
  LULAB_RETURN_IF_ERROR(simt::copy_to_host(n_others.data(), d_others, bytes, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return join_panels(panels.first, parent, n_others, costs);
}

Status FillOnDevice::Impl::find_columns(Fronts& fronts) {
  AssemblyTree& tree = fronts.tree;
  const std::int32_t size = fronts.size();
  const std::int64_t count = fronts.column_ptr.back();
  std::vector<FrontOnDevice> front;
  front.reserve(size);
  for (std::int32_t s = 0; s < size; ++s)
    front.push_back({fronts.cuts[s], tree.first[s], tree.others_ptr[s], fronts.column_ptr[s]});
  FrontOnDevice* d_front = nullptr;
  std::int32_t *d_last = nullptr, *d_others = nullptr;
  std::int64_t* d_ptr = nullptr;
  simt::DeviceBuffer<FrontColumn> d_columns;
  LULAB_RETURN_IF_ERROR(simt::place_together(search.workspace().arrays, stream, simt::Placed{d_front, size},
                                             simt::Placed{d_last, size}, simt::Placed{d_ptr, size},
                                             simt::Placed{d_others, std::ssize(tree.others)}));
  LULAB_RETURN_IF_ERROR(simt::copy_to_device(d_front, front.data(), sizeof(front[0]) * front.size(), stream));
  const auto threads = [](std::int64_t of) {
    return simt::LaunchShape{.grid = simt::blocks_for(of, column_threads), .block = column_threads};
  };
  if (size > 0)
    LULAB_RETURN_IF_ERROR(simt::launch(list_last_pivots_kernel, threads(size), stream, size, d_front, d_last, d_ptr));
  LULAB_RETURN_IF_ERROR(search.write_below(b.view(), size, d_last, d_ptr, d_others, stream));
  LULAB_RETURN_IF_ERROR(simt::make(d_columns, count));
  if (count > 0)
    LULAB_RETURN_IF_ERROR(simt::launch(find_front_columns_kernel, threads(count), stream, size, d_front, d_others,
                                       filled.d_col_ptr.data(), filled.d_row_idx.data(), count, d_columns.data()));
  LULAB_RETURN_IF_ERROR(
      simt::copy_to_host(tree.others.data(), d_others, sizeof(std::int32_t) * tree.others.size(), stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  fronts.d_columns = std::make_shared<const simt::DeviceBuffer<FrontColumn>>(std::move(d_columns));
  return {};
}

Result<Fronts> FillOnDevice::fronts(const FrontCosts& costs, double max_padding) try {
  if (impl_->filled.nnz > std::numeric_limits<std::uint32_t>::max())
    return Status::error(StatusCode::not_implemented, "no fronts: positions in L and U take more than 32 bits");
  LULAB_ASSIGN_OR_RETURN(auto tree, impl_->find_tree(costs));
  Fronts fronts = Fronts::of(std::move(tree), impl_->filled.nnz);
  if (!(fronts.padding <= max_padding))
    return Status::error(StatusCode::not_implemented, "no fronts: the pattern is far from symmetric");
  LULAB_RETURN_IF_ERROR(impl_->find_columns(fronts));
  return fronts;
} catch (const std::bad_alloc&) {
  return no_host_memory();
}

}  // namespace lulab
