#include "model/limits.h"

#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/matrix/matrix_market.h"
#include "core/matrix/shared_matrices.h"
#include "symbolic/levels.h"
#include "testing/analysis.h"

namespace lulab {
namespace {

// Constants that make every cost readable: 1 flop/s, 1 byte/s, 1 s per hop.
DeviceConstants unit_constants() {
  DeviceConstants c;
  c.device = "unit";
  c.measured = true;
  c.bandwidth_bytes_per_s = 1;
  c.flops_f64_per_s = 1;
  c.flops_f32_per_s = 2;
  c.flag_hop_us = 1e6;
  c.hop_us = 1e6;
  c.launch_us = 3e6;
  c.graph_node_us = 2e6;
  c.grid_sync_us = 4e6;
  return c;
}

// L+U = [x . x .]   L has (2,0), (3,2): l = 1 0 1 0. U has (0,2), (2,3): u = 1 0 1 0.
//       [. x . .]   flops = (1 + 2·1·1) + 0 + (1 + 2·1·1) + 0 = 6.
//       [x . x x]   Levels: {0,1}, {2}, {3}.
//       [. . x x]
Analysis small_analysis() {
  Analysis analysis;
  analysis.a.n_rows = analysis.a.n_cols = 4;
  analysis.a.col_ptr = {0, 2, 3, 6, 8};
  analysis.a.row_idx = {0, 2, 1, 0, 2, 3, 2, 3};
  analysis.plan = Plan::identity(4);
  analysis.filled.n = 4;
  analysis.filled.col_ptr = analysis.a.col_ptr;
  analysis.filled.row_idx.assign(analysis.a.row_idx.begin(), analysis.a.row_idx.end());
  analysis.filled.diag = {0, 2, 4, 7};
  return analysis;
}

TEST(Limits, OfASmallPatternAreTheArithmeticDoneByHand) {
  const Limits l = compute_limits(small_analysis(), 8, unit_constants());
  EXPECT_EQ(l.flops, 6);
  EXPECT_EQ(l.compulsory_bytes, 12 * (8 + 8) + 8 * 4);
  EXPECT_EQ(l.levels, 3);
  EXPECT_EQ(l.walking_chain, 5);  // columns 0 and 2 are finished after hops 1 and 3; column 3 updates, then finishes
  EXPECT_EQ(l.fine_chain, 5);
  EXPECT_DOUBLE_EQ(l.flop_bound_ms, 6e3);
  EXPECT_DOUBLE_EQ(l.byte_bound_ms, 224e3);
  EXPECT_DOUBLE_EQ(l.levels_bound_ms, 3 * 2e3);  // graph node is the cheapest step
  EXPECT_DOUBLE_EQ(l.walking_bound_ms, static_cast<double>(l.walking_chain) * 1e3);
  EXPECT_DOUBLE_EQ(l.fine_bound_ms, static_cast<double>(l.fine_chain) * 1e3);
  EXPECT_DOUBLE_EQ(l.values_bound_ms, l.levels * unit_constants().flag_hop_us * 1e-3);
  EXPECT_DOUBLE_EQ(l.bound_ms, 224e3);
  EXPECT_EQ(l.bound_by, Bound::bytes);
}

TEST(Limits, InSinglePrecisionMoveFewerBytesAndUseTheFloatPeak) {
  const Limits l = compute_limits(small_analysis(), 4, unit_constants());
  EXPECT_EQ(l.compulsory_bytes, 8 * (8 + 8) + 4 * 4);
  EXPECT_DOUBLE_EQ(l.flop_bound_ms, 3e3);
}

TEST(Limits, AreBoundByTheLargestOfTheThree) {
  DeviceConstants c = unit_constants();
  c.flops_f64_per_s = 1e-3;
  Limits l = compute_limits(small_analysis(), 8, c);
  EXPECT_EQ(l.bound_by, Bound::flops);
  EXPECT_DOUBLE_EQ(l.bound_ms, 6e6);

  c = unit_constants();
  c.bandwidth_bytes_per_s = 1e9;
  c.graph_node_us = 5e6;  // now the stream launch, 3 s, is the cheapest step between two levels
  l = compute_limits(small_analysis(), 8, c, Dependencies::levels);
  EXPECT_EQ(l.bound_by, Bound::chain);
  EXPECT_DOUBLE_EQ(l.bound_ms, 9e3);
}

TEST(Limits, FollowTheDependenciesOfTheRung) {
  const Limits l = compute_limits(small_analysis(), 8, unit_constants());
  EXPECT_EQ(with_dependencies(l, Dependencies::none).chain_bound_ms, 0);
  EXPECT_EQ(with_dependencies(l, Dependencies::levels).chain_bound_ms, l.levels_bound_ms);
  EXPECT_EQ(with_dependencies(l, Dependencies::walking).chain_bound_ms, l.walking_bound_ms);
  EXPECT_EQ(with_dependencies(l, Dependencies::fine).chain_bound_ms, l.fine_bound_ms);
  EXPECT_EQ(with_dependencies(l, Dependencies::values).chain_bound_ms, l.values_bound_ms);
  EXPECT_EQ(with_dependencies(l, Dependencies::panels).chain_bound_ms, l.panels_bound_ms);
  EXPECT_GT(l.panels_bound_ms, 0);
  EXPECT_LT(l.panels_bound_ms, l.values_bound_ms) << "three columns are one panel";
}

TEST(Limits, AsJsonAndTextCarryTheFigures) {
  const Limits l = compute_limits(small_analysis(), 8, unit_constants());
  const auto json = nlohmann::json::parse(to_json(l), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["flops"], 6);
  EXPECT_EQ(json["compulsory_bytes"], 224);
  EXPECT_EQ(json["levels"], 3);
  EXPECT_EQ(json["bound_by"], "bytes");
  EXPECT_EQ(json["bound_ms"], 224e3);
  const std::string text = to_text(l, unit_constants());
  EXPECT_NE(text.find("224 B"), std::string::npos) << text;
  EXPECT_NE(text.find("bound by bytes"), std::string::npos) << text;
}

struct PublishedChains {
  const char* matrix;
  Order order;
  std::int32_t levels;
  std::int64_t walking, fine;
  double tolerance;  // relative; ties in the matching of circuit_1 were broken differently
};

void PrintTo(const PublishedChains& p, std::ostream* out) { *out << p.matrix << ' ' << to_string(p.order); }

class LimitsOfRealMatrices : public ::testing::TestWithParam<PublishedChains> {};

// 12 (nnz(A) + nnz(L+U)) + 8 n bytes and the chains times the hop, recomputed here from the analysis.
TEST_P(LimitsOfRealMatrices, AreBoundByTheChainOnCircuits) {
  const auto& [name, order, levels, walking, fine, tolerance] = GetParam();
  const auto path = shared_matrix(name);
  if (!path) GTEST_SKIP() << "no " << name << " in the collection of matrices";
  const auto file = read_matrix_market(*path);
  ASSERT_TRUE(file.ok()) << file.status().to_string();
  const CscMatrix<double>& a = file->matrix;
  PreprocessOptions options;
  options.order = order;
  const auto analysis = testing::analyze_ordered(a, options);
  ASSERT_TRUE(analysis.ok()) << analysis.status().to_string();
  const DeviceConstants c = builtin_constants("NVIDIA H200");
  const Limits l = compute_limits(*analysis, 8, c);
  EXPECT_NEAR(l.levels, levels, tolerance * levels);
  EXPECT_NEAR(static_cast<double>(l.walking_chain), static_cast<double>(walking),
              tolerance * static_cast<double>(walking));
  EXPECT_NEAR(static_cast<double>(l.fine_chain), static_cast<double>(fine), tolerance * static_cast<double>(fine));
  EXPECT_DOUBLE_EQ(l.byte_bound_ms, (12.0 * (a.nnz() + analysis->filled.nnz()) + 8.0 * a.n_rows) / 4.25e12 * 1e3);
  EXPECT_DOUBLE_EQ(l.walking_bound_ms, l.walking_chain * 0.71e-3);
  EXPECT_EQ(with_dependencies(l, Dependencies::walking).bound_by, Bound::chain);
  EXPECT_GT(l.walking_bound_ms, 40 * l.byte_bound_ms);
}

// Walking chains of the postordered METIS ordering; see model/chains_test.cpp.
INSTANTIATE_TEST_SUITE_P(
    Circuits, LimitsOfRealMatrices,
    ::testing::Values(PublishedChains{"circuit_1", Order::amd, 121, 2549, 241, 0.05},
                      PublishedChains{"circuit_1", Order::metis, 114, 2501, 227, 0.05},
                      PublishedChains{"memplus", Order::amd, 147, 733, 293, 0},
                      PublishedChains{"memplus", Order::metis, 170, 950, 339, 0},
                      PublishedChains{"seq_resolve_ScaleMicrogrid_N1000/A_01", Order::amd, 10007, 38001, 20015, 0},
                      PublishedChains{"seq_resolve_ScaleMicrogrid_N1000/A_01", Order::metis, 57, 15959, 117, 0}));

TEST(DeviceConstants, SurviveJsonUnchanged) {
  for (const DeviceConstants& c : {builtin_constants("NVIDIA H200"), builtin_constants("host simulator")}) {
    const auto back = constants_from_json(to_json(c));
    ASSERT_TRUE(back.ok()) << back.status().to_string();
    EXPECT_EQ(*back, c);
    EXPECT_EQ(back->memory.periods.size(), 36u);
  }
}

TEST(DeviceConstants, SurviveAFileUnchanged) {
  const std::string path = ::testing::TempDir() + "lulab_constants.json";
  const DeviceConstants c = builtin_constants("NVIDIA H200");
  ASSERT_TRUE(save_constants(c, path).ok());
  const auto back = load_constants(path);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(*back, c);
  std::remove(path.c_str());
}

TEST(DeviceConstants, OfAnUnknownDeviceSayThatTheyAreBorrowed) {
  EXPECT_TRUE(builtin_constants("NVIDIA H200").measured);
  const DeviceConstants c = builtin_constants("host simulator");
  EXPECT_FALSE(c.measured);
  EXPECT_NE(c.device.find("host simulator"), std::string::npos);
  EXPECT_NE(c.device.find("not measured"), std::string::npos);
}

TEST(DeviceConstants, RefuseWhatIsNoCalibration) {
  const auto good = nlohmann::json::parse(to_json(builtin_constants("NVIDIA H200")));
  std::vector<std::string> bad = {"", "[]", "{", "{}"};
  for (const auto& [key, value] : good.items()) {
    auto without = good;
    without.erase(key);
    bad.push_back(without.dump());
  }
  for (const nlohmann::json& value :
       {nlohmann::json(0), nlohmann::json(-1), nlohmann::json("fast"), nlohmann::json(nullptr)}) {
    auto wrong = good;
    wrong["hop_us"] = value;
    bad.push_back(wrong.dump());
    wrong = good;
    wrong["memory"]["cache_cycle"] = value;
    bad.push_back(wrong.dump());
    wrong = good;
    wrong["memory"]["periods"][0]["cycles"] = value;
    bad.push_back(wrong.dump());
    wrong = good;
    wrong["memory"]["periods"] = value;
    bad.push_back(wrong.dump());
  }
  auto narrow = good;
  narrow["memory"]["periods"][0]["stride"] = 0.5;
  bad.push_back(narrow.dump());
  for (const std::string& text : bad) {
    const auto c = constants_from_json(text, "c.json");
    ASSERT_FALSE(c.ok()) << text;
    EXPECT_EQ(c.status().code, StatusCode::parse_error) << text;
    EXPECT_EQ(c.status().where.file, "c.json");
  }
  EXPECT_EQ(load_constants("/no/such/file.json").status().code, StatusCode::invalid_argument);
  EXPECT_EQ(save_constants({}, "/no/such/folder/file.json").code, StatusCode::invalid_argument);
}

}  // namespace
}  // namespace lulab
