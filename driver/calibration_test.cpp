#include "driver/calibration.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/matrix/generate.h"
#include "driver/flat_lists.h"
#include "model/panel_costs.h"
#include "model/panel_costs_cpu.h"
#include "testing/analysis.h"
#include "testing/program.h"

namespace lulab {
namespace {

constexpr MachineSpeed some = {.cpu = 0.5, .gpu_hops = 2};
const std::string key = "format 0; CPU of a test; GPU of a test";

/// Finds a calibration and counts how often it measured.
struct Finder {
  int measured = 0;
  Result<MachineSpeed> speed = some;

  Calibration find(const CalibrationPlace& place, bool may_measure = true) {
    return find_calibration(place, key, may_measure, [this] {
      ++measured;
      return speed;
    });
  }
};

TEST(FindCalibration, MeasuresOnceAndThenReads) {
  const testing::TemporaryFolder folder;
  const CalibrationPlace place = {.path = folder.path("new/lulab/c.json")};
  Finder finder;
  const Calibration first = finder.find(place), second = finder.find(place), third = finder.find(place, false);
  EXPECT_EQ(finder.measured, 1);
  for (const Calibration& c : {first, second, third}) {
    EXPECT_TRUE(c.is_known);
    EXPECT_EQ(c.speed, some);
    EXPECT_TRUE(contains(c.source, place.path)) << c.source;
  }
  EXPECT_TRUE(contains(first.source, "written to ")) << first.source;
  EXPECT_TRUE(contains(second.source, "read from ")) << second.source;
}

TEST(FindCalibration, WithoutLeaveToMeasureTheShippedConstantsDo) {
  const testing::TemporaryFolder folder;
  for (const CalibrationPlace& place : {CalibrationPlace{.path = folder.path("c.json")}, CalibrationPlace{}}) {
    Finder finder;
    const Calibration c = finder.find(place, false);
    EXPECT_EQ(finder.measured, 0);
    EXPECT_FALSE(c.is_known);
    EXPECT_EQ(c.speed, MachineSpeed{});
    EXPECT_TRUE(contains(c.source, "shipped constants: ")) << c.source;
    EXPECT_FALSE(std::filesystem::exists(folder.path("c.json")));
  }
}

TEST(FindCalibration, OffNeitherReadsNorMeasures) {
  const testing::TemporaryFolder folder;
  ASSERT_TRUE(save_speed(some, key, folder.path("c.json")).ok());
  Finder finder;
  const Calibration c = finder.find({.off = true, .path = folder.path("c.json")});
  EXPECT_EQ(finder.measured, 0);
  EXPECT_EQ(c.speed, MachineSpeed{});
  EXPECT_FALSE(c.is_known);
}

TEST(FindCalibration, ReplacesWhatIsBrokenOrOfAnotherMachine) {
  const testing::TemporaryFolder folder;
  const std::string good = folder.path("good.json");
  ASSERT_TRUE(save_speed(some, key, good).ok());
  const std::string text = testing::read_text(good);
  std::vector<std::string> bad = {"",
                                  "{",
                                  "[]",
                                  "null",
                                  "{\"machine\": 3}",
                                  "{\"machine\": \"" + key + "\"}",
                                  text.substr(0, text.size() / 2),
                                  std::string(1 << 20, ' ') + text};
  for (const char* value : {"0", "-1", "1e300", "1e999", "\"1\"", "null", "1000"}) {
    bad.push_back(text);
    bad.back().replace(bad.back().find("0.5"), 3, value);
  }
  bad.push_back(text);
  bad.back().replace(bad.back().find("CPU of a"), 8, "CPU of b");
  for (const std::string& was : bad) {
    const CalibrationPlace place = {.path = folder.write("c.json", was)};
    Finder finder;
    EXPECT_FALSE(finder.find(place, false).is_known) << was;
    EXPECT_EQ(testing::read_text(place.path), was);
    const Calibration c = finder.find(place);
    EXPECT_EQ(finder.measured, 1) << was;
    EXPECT_EQ(c.speed, some);
    EXPECT_EQ(testing::read_text(place.path), text);
  }
}

TEST(FindCalibration, LeavesANamedFileThatLulabDidNotWrite) {
  const testing::TemporaryFolder folder;
  CalibrationPlace place = {.is_named = true};
  Finder finder;
  for (const std::string text : {"\\documentclass{book}", R"({"machine": "milling 3", "orders": [1, 2, 3]})"}) {
    place.path = folder.write("of_a_user", text);
    const Calibration c = finder.find(place);
    EXPECT_EQ(c.speed, some);
    EXPECT_TRUE(contains(c.source, "stays as it is")) << c.source;
    EXPECT_EQ(testing::read_text(place.path), text);
  }
  ASSERT_TRUE(save_speed(some, "format 1; another machine", place.path).ok());
  EXPECT_EQ(finder.find(place).speed, some);
  EXPECT_TRUE(load_speed(place.path, key).ok());
}

TEST(FindCalibration, AFileThatCannotBeWrittenIsNoError) {
  const testing::TemporaryFolder folder;
  // Also for root, whom permissions do not stop: a file is no folder, and a folder is no file.
  const std::string file = folder.write("file", "");
  std::filesystem::create_directory(folder.path("folder"));
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);  // which nobody reads
  for (const std::string& path :
       {file + "/c.json", folder.path("folder"), folder.path("fifo"), std::string("/proc/lulab/c.json")}) {
    Finder finder;
    const Calibration c = finder.find({.path = path});
    EXPECT_TRUE(c.is_known);
    EXPECT_EQ(c.speed, some);
    EXPECT_TRUE(contains(c.source, "cannot be written")) << c.source;
  }
  Finder finder;
  const Calibration c = finder.find({});
  EXPECT_EQ(c.speed, some);
  EXPECT_TRUE(contains(c.source, "HOME")) << c.source;
}

TEST(FindCalibration, WhereMeasuringFailsTheShippedConstantsDoAndNothingIsWritten) {
  const testing::TemporaryFolder folder;
  Finder finder = {.speed = Status::error(StatusCode::device_error, "no clock")};
  const Calibration c = finder.find({.path = folder.path("c.json")});
  EXPECT_FALSE(c.is_known);
  EXPECT_EQ(c.speed, MachineSpeed{});
  EXPECT_TRUE(contains(c.source, "no clock")) << c.source;
  EXPECT_FALSE(std::filesystem::exists(folder.path("c.json")));
}

TEST(SaveSpeed, ReadersSeeAWholeFileWhileOthersWrite) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path("c.json");
  ASSERT_TRUE(save_speed(some, key, path).ok());
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t)
    writers.emplace_back([&, t] {
      for (int k = 0; k < 50; ++k) EXPECT_TRUE(save_speed({.cpu = 1.0 + t}, key, path).ok());
    });
  for (int k = 0; k < 200; ++k) {
    const auto read = load_speed(path, key);
    EXPECT_TRUE(read.ok()) << read.status().to_string();
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()), {}), 1);
}

/// Sets variables of the environment for as long as it lives.
class Environment {
 public:
  ~Environment() {
    for (const auto& [name, value] : before_) value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }
  void set(const char* name, const char* value) {
    const char* old = std::getenv(name);
    before_.insert(before_.begin(), {name, old != nullptr ? std::optional<std::string>(old) : std::nullopt});
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

TEST(CalibrationPlace, IsNamedOrInTheCacheFolder) {
  Environment environment;
  environment.set("LULAB_CALIBRATION", "off");
  environment.set("XDG_CACHE_HOME", "/cache");
  environment.set("HOME", "/users/someone");
  EXPECT_TRUE(calibration_place(key).off);
  setenv("LULAB_CALIBRATION", "some/file.json", 1);
  const CalibrationPlace named = calibration_place(key);
  EXPECT_EQ(named.path, "some/file.json");
  EXPECT_TRUE(named.is_named && !named.off);
  for (const char* unset : {"", static_cast<const char*>(nullptr)}) {
    unset != nullptr ? setenv("LULAB_CALIBRATION", unset, 1) : unsetenv("LULAB_CALIBRATION");
    const CalibrationPlace in_cache = calibration_place(key);
    EXPECT_TRUE(in_cache.path.starts_with("/cache/lulab/calibration-")) << in_cache.path;
    EXPECT_FALSE(in_cache.is_named || in_cache.off);
  }
  EXPECT_NE(calibration_place("a").path, calibration_place("b").path);
  for (const char* relative : {"", "cache", static_cast<const char*>(nullptr)}) {
    relative != nullptr ? setenv("XDG_CACHE_HOME", relative, 1) : unsetenv("XDG_CACHE_HOME");
    EXPECT_TRUE(calibration_place(key).path.starts_with("/users/someone/.cache/lulab/calibration-"));
  }
  unsetenv("HOME");
  EXPECT_EQ(calibration_place(key).path, "");
}

TEST(MachineKey, NamesFormatCpuAndGpuAndStaysTheSame) {
  EXPECT_EQ(machine_key(), machine_key());
  for (const char* part : {"format ", "CPU ", "GPU "}) EXPECT_TRUE(contains(machine_key(), part)) << machine_key();
  EXPECT_TRUE(contains(machine_key(), cpu_model()));
}

TEST(MeasureSpeed, GivesFactorsThatAMachineCanHave) {
  const auto speed = measure_speed();
  ASSERT_TRUE(speed.ok()) << speed.status().to_string();
  EXPECT_TRUE(is_plausible(*speed)) << to_text(*speed);
  EXPECT_NE(speed->cpu, 1);
}

TEST(MachineCalibration, IsOneForAllThreads) {
  const testing::TemporaryFolder folder;
  Environment environment;
  environment.set("LULAB_CALIBRATION", nullptr);
  environment.set("XDG_CACHE_HOME", folder.path("cache").c_str());
  MachineCalibration calibration;
  EXPECT_FALSE(calibration.find(false).is_known);
  std::vector<Calibration> seen(4);
  std::vector<std::thread> threads;
  for (Calibration& c : seen) threads.emplace_back([&] { c = calibration.find(true); });
  for (std::thread& t : threads) t.join();
  const std::string path = calibration_place(machine_key()).path;
  const auto written = load_speed(path, machine_key());
  ASSERT_TRUE(written.ok()) << written.status().to_string();
  for (const Calibration& c : seen) {
    EXPECT_TRUE(c.is_known);
    EXPECT_EQ(c.speed, *written);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(calibration.find(true).speed, *written);  // known without the file
  EXPECT_FALSE(std::filesystem::exists(path));
}

// The factors compare with predictions: where these change, files of before must be of another format.
TEST(MachineCalibration, RenewsTheFileButNoOther) {
  const testing::TemporaryFolder folder;
  Environment environment;
  environment.set("LULAB_CALIBRATION", folder.path("c.json").c_str());
  MachineCalibration calibration;
  ASSERT_TRUE(save_speed(some, machine_key(), folder.path("c.json")).ok());
  EXPECT_EQ(calibration.find(true).speed, some);
  const auto renewed = calibration.renew();
  ASSERT_TRUE(renewed.ok()) << renewed.status().to_string();
  EXPECT_NE(renewed->speed, some);
  EXPECT_EQ(load_speed(folder.path("c.json"), machine_key()).value(), renewed->speed);
  EXPECT_EQ(calibration.find(false).speed, renewed->speed);
  setenv("LULAB_CALIBRATION", folder.write("thesis.tex", "text").c_str(), 1);
  EXPECT_EQ(calibration.renew().status().code, StatusCode::parse_error);
  EXPECT_EQ(testing::read_text(folder.path("thesis.tex")), "text");
  setenv("LULAB_CALIBRATION", "off", 1);
  EXPECT_EQ(calibration.renew().status().code, StatusCode::invalid_argument);
}

TEST(MachineKey, HasANewFormatWhereThePredictionsWereFittedAnew) {
  const auto a = generate("banded", {.n = 500, .seed = 1, .degree = 3});
  ASSERT_TRUE(a.ok());
  const auto analysis = testing::analyze_ordered(*a, {.order = Order::natural});
  ASSERT_TRUE(analysis.ok());
  const PanelCosts panels = {{.updated = 1000, .updates = 10000, .multiply_adds = 1e8, .chain = 100}};
  const std::string what = " is another prediction: raise `format` in model/machine_speed.cpp and change this test";
  ASSERT_TRUE(machine_key().starts_with("format 5;"));
  EXPECT_NEAR(cpu_costs(analysis->filled, 1).predicted_us, 13.95, 0.01) << what;
  EXPECT_NEAR(flat_step_us(analysis->filled).value_or(0), 21.89, 0.01) << what;
  EXPECT_NEAR(panels_us(panels, {}), 427.1, 0.01) << what;
}

}  // namespace
}  // namespace lulab
