#pragma once
// The pattern of L + U on the device, and what is found from it there.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/plan.h"
#include "symbolic/fronts.h"
#include "symbolic/relaxed_supernodes.h"

namespace lulab {

enum class ColumnOrder { as_given, in_postorder };
struct DevicePattern;  // tree_on_device.h

/// Of all calls: errors out_of_memory (of the device, too), device_error.
class FillOnDevice {
 public:
  /// Of P·A·Q, as fill_permuted(a, p, q) has it, by 08_depth_bitmaps; in postorder(), if asked.
  ///
  /// Requires  A: n x n, sorted rows; p and q permutations of n.
  /// Errors    not_implemented (an elimination tree that the host is faster on: deep, or more than 128 chains above
  ///           each other), too.
  /// Cost      The first call of a process waits for the device to start, some 0.2 s.
  static Result<FillOnDevice> create(CscPatternView a, std::span<const std::int32_t> p, std::span<const std::int32_t> q,
                                     ColumnOrder order = ColumnOrder::as_given);
  /// The same with A, p (n) and q (n) in device memory, complete before the call, which does not change them. Only
  /// sizes are copied to the host, and the tree of columns that are not in postorder.
  static Result<FillOnDevice> create(const DevicePattern& a, const std::int32_t* d_p, const std::int32_t* d_q,
                                     ColumnOrder order = ColumnOrder::as_given);
  ~FillOnDevice();
  FillOnDevice(FillOnDevice&&) noexcept;
  FillOnDevice& operator=(FillOnDevice&&) noexcept;

  /// What is here is of B(order, order), where B = P·A·Q, in postorder of the elimination tree of B + Bᵀ: there is no
  /// more fill, and the same entries are pivots. Empty: of B itself.   Shapes (n).
  const Permutation& postorder() const;

  std::int64_t nnz() const;
  /// elimination_tree() of the filled C + Cᵀ, where C is B or B(order, order); -1: a root.   Shapes (n).
  Result<std::vector<std::int32_t>> parents() const;
  /// May run beside the other calls.
  Result<FilledPattern> download() const;
  /// Finds the panels of find_relaxed_supernodes() on the device. Without memory for them what the search left goes,
  /// and fronts() finds it again.
  Status find_panels();
  /// count_updates() of them.   Requires find_panels().
  Result<PanelUpdates> count_updates() const;
  /// These panels.   Requires find_panels().
  Result<RelaxedSupernodes> supernodes() const;
  /// find_fronts() of the pattern and these panels, with columns on the device.
  /// Requires  find_panels().
  /// Errors    not_implemented (the columns are not in postorder; so many bits that 08 works in groups; a pattern far
  ///           from symmetric: Fronts::padding above max_padding; 2^32 entries), too.
  Result<Fronts> fronts(const FrontCosts& costs = {}, double max_padding = max_front_padding);

 private:
  struct Impl;
  explicit FillOnDevice(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lulab
