#pragma once
// Runs a rung with a scalar that tells of its loads and stores.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "app/explain.h"
#include "core/simt/host/trace.h"

namespace lulab::app {

/// How an explained algorithm works, for the words of its story.
struct Explained {
  Explainable about;
  bool column_by_warp = false;      // a warp has a column; else a block
  bool works_in_x = false;          // column j is computed in a dense vector x; else x is a copy of L(:,j), or absent
  std::string_view finished_array;  // whose element j says that column j is finished; empty: the end of the launch
  double finished_value = 0;        // when it has this value
  int resident = 0;                 // blocks, where the caller does not say
  struct Runner {
    virtual ~Runner() = default;
    /// As after the run, also where it failed.   Shapes  a_values: (nnz(A)), values: (nnz(L+U)).
    virtual Status run(const Analysis& analysis, std::span<const double> a_values, std::vector<double>& values) = 0;
  };
  std::unique_ptr<Runner> (*make)() = nullptr;
};
std::span<const Explained> explained_algorithms();

/// P·R·A·C·Q on the filled pattern, zero at fill-in.   Shapes  a_values: (nnz(A)).
std::vector<double> start_values(const Analysis& analysis, std::span<const double> a_values);

}  // namespace lulab::app
