#include "bench/result_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace lulab::bench {
namespace {

class ResultFiles : public ::testing::Test {
 protected:
  ResultFiles() { std::filesystem::create_directories(folder_); }
  ~ResultFiles() override { std::filesystem::remove_all(folder_); }

  static nlohmann::ordered_json context(const std::string& command = "./lulab bench --json f", int commit = 1) {
    return {{"gpu", "G"}, {"cpu", "C"}, {"git_hash", commit}, {"command", command}};
  }
  ResultFile file(nlohmann::ordered_json of = context()) const { return {path_, std::move(of)}; }
  static Row row(const std::string& matrix, double ms) {
    Row r;
    r.name = {"sparse_leftlooking/90_klu", matrix, Phase::refactor, Scalar::f64};
    r.time_ms = r.min_ms = r.max_ms = ms;
    r.samples = 1;
    return r;
  }
  nlohmann::ordered_json written() const {
    std::ifstream in(path_);
    return nlohmann::ordered_json::parse(in);
  }
  void put(const std::string& text) const { std::ofstream(path_) << text; }

  const std::string folder_ =
      ::testing::TempDir() + "result_file_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = folder_ + "/new/results.json";
};

TEST_F(ResultFiles, GoOnWhereARunWasStopped) {
  {
    ResultFile first = file();
    ASSERT_TRUE(first.resume().ok()) << "nothing there yet";
    Report report;
    first.add_matrix("add20", {{"n", 2395}});
    first.add_matrix("unreadable", {{"error", "no such file"}});
    first.add_schedules({{"matrix", "add20"}});
    report.add(row("add20", 2));
    ASSERT_TRUE(first.write(report, false).ok());
    first.add_matrix("add32", {{"n", 4960}});  // stopped while it is measured
  }
  ResultFile second = file(context("./lulab bench --json f --resume"));
  ASSERT_TRUE(second.resume().ok());
  EXPECT_TRUE(second.has("add20"));
  EXPECT_FALSE(second.has("add32"));
  EXPECT_FALSE(second.has("unreadable")) << "it is tried again";
  Report report;
  second.add_matrix("add32", {{"n", 4960}});
  EXPECT_FALSE(second.has("add32")) << "by this run";
  second.add_schedules({{"matrix", "add32"}});
  report.add(row("add32", 3));
  ASSERT_TRUE(second.write(report, true).ok());
  const auto json = written();
  ASSERT_EQ(json["benchmarks"].size(), 2);
  EXPECT_EQ(json["benchmarks"][0]["real_time"], 2);
  EXPECT_EQ(json["benchmarks"][1]["name"], "sparse_leftlooking/90_klu|add32|refactor|f64");
  EXPECT_EQ(json["schedules"].size(), 2);
  EXPECT_EQ(json["context"]["command"], "./lulab bench --json f");
  EXPECT_EQ(json["context"]["matrices"]["add20"]["n"], 2395);
  EXPECT_EQ(json["context"]["matrices"]["add32"]["n"], 4960);
}

TEST_F(ResultFiles, OfAnotherCommandCommitOrMachineAreNotMixed) {
  ASSERT_TRUE(file().write(Report(), false).ok());
  const auto says = [this](nlohmann::ordered_json of) {
    ResultFile other = file(std::move(of));
    const Status status = other.resume();
    EXPECT_EQ(status.code, StatusCode::invalid_argument);
    EXPECT_NE(status.message.find(path_), std::string::npos) << status.message;
    return status.message;
  };
  EXPECT_NE(says(context("./lulab bench --set all")).find("written by './lulab bench --json f'"), std::string::npos);
  EXPECT_NE(says(context("./lulab bench --json f", 2)).find("git_hash was 1"), std::string::npos);
  nlohmann::ordered_json elsewhere = context();
  elsewhere["gpu"] = "another";
  EXPECT_NE(says(elsewhere).find("gpu was \"G\""), std::string::npos);
  for (const char* text : {"", "{", "[]", "{\"context\": 1, \"benchmarks\": []}", "{\"context\": {}}",
                           "{\"context\": {\"command\": 1}, \"benchmarks\": 1}"}) {
    put(text);
    EXPECT_NE(says(context()).find("no results of lulab-bench"), std::string::npos) << text;
  }
}

TEST_F(ResultFiles, APipeGetsTheLastOneAlone) {
  EXPECT_FALSE(ResultFile("/dev/null/no", context()).write(Report(), false).ok());
  const ResultFile results("/dev/full", context());
  EXPECT_TRUE(results.write(Report(), false).ok()) << "not written yet";
  EXPECT_FALSE(results.write(Report(), true).ok());
  EXPECT_TRUE(ResultFile("", context()).write(Report(), true).ok());
}

}  // namespace
}  // namespace lulab::bench
