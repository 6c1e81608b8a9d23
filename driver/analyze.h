#pragma once
// A -> Analysis: preprocessing, choice of order and fill in one call.

#include <string>

#include "core/matrix/permutation.h"
#include "core/plan.h"
#include "driver/choose_rung.h"
#include "model/panel_costs.h"
#include "preprocess/preprocess.h"

namespace lulab {

/// Shapes    A: n x n, sorted rows.
/// Ensures   Order::automatic tries several orders and keeps the one that panel_costs() predicts to be the fastest on a
///           GPU: AMD (of a large graph quick_amd_order()) and nested dissection (a graph that it cannot take: AMD
///           alone; a mesh of 100,000 vertices or more: nested dissection alone; for 4,000 steps or more a mesh of
///           4,000 vertices or more: METIS's of the whole), and both inside the strongly connected blocks, where the
///           biggest has at most 99 % of the columns; with PreprocessOptions::blocks the two inside the blocks alone.
///           Plan::order says which. Where the others would cost more than half of what AMD's factorizations take in
///           expected_steps on one core of the host, it is AMD, as a rule quick_amd_order(), and inside blocks where
///           all of them are small. For less than four steps a small sparse graph, or block, is ordered by
///           degree_order(), and all orders are tried of what seems to fill in: dense graphs and meshes from some
///           thousand vertices on, and most of 100,000.
///           The result depends on A and the options alone, not on threads or times.
/// Threads   a thread for each order but nested dissection of the whole graph, which has up to eight of its own;
///           several for panels and costs of a large one.
/// Memory    the fill of up to four orders at once.
/// Errors    as preprocess() and fill_gilbert_peierls().
Result<Analysis> analyze(const CscView<double>& a, const PreprocessOptions& options = {},
                         double expected_steps = default_expected_steps);

/// Where the fill of orders is found: on the host, or, for large matrices, by 08_depth_bitmaps on the GPU. What the GPU
/// has no memory for, or fails on, is found on the host. The result is the same, with two exceptions. Where the GPU
/// found it, columns of AMD's order are in postorder, with the same fill and pivots, so AMD may win where on the host
/// another order does. And for a first answer (Purpose) of 1,000 to 100,000 columns, not many of them in small blocks,
/// AMD's is grouped_amd_order(), and where gpu_may_answer_first() the only one, unless one step there pays for others.
/// large_on_gpu: likewise, but only of matrices that are worth starting it.
enum class FillOn { host, large_on_gpu, gpu };

/// An analysis, and what it costs to factor with it where the choice of the order has asked.
struct CostedAnalysis {
  Analysis analysis;
  KnownCosts costs = {};
  double put_off_us = 0;  // what trying more orders is predicted to take, where a first answer comes first
};

/// What an analysis is for.
struct Purpose {
  double expected_steps = default_expected_steps;
  bool first_answer_first = false;  // where one step does not pay for trying more orders than one, that is put off
  bool chooses_rung = false;        // RungChooser does: 12_multifrontal may give a first answer
};

/// analyze() after match_rows().   Requires  `rows` are those of A.
Result<CostedAnalysis> analyze_matched(const CscView<double>& a, MatchedRows rows, const PreprocessOptions& options,
                                       const Purpose& purpose, FillOn fill_on = FillOn::host);

/// An order of the graph of `rows` that was chosen before.
struct KnownOrder {
  Permutation vertices;
  std::string order;
  bool costs_on_gpu = false;  // they are asked for
  bool by_fronts = false;     // the GPU is to find them, with the fill
};

/// The same in an order that is known. Where the GPU finds the fill, AMD's vertices come into postorder.
/// Ensures   KnownCosts::cpu, or with costs_on_gpu as a rule ::gpu.
Result<CostedAnalysis> analyze_in_order(const CscView<double>& a, MatchedRows rows, const KnownOrder& known,
                                        FillOn fill_on = FillOn::host);

}  // namespace lulab
