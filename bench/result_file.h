#pragma once
// The JSON file of a run, written after each matrix: what a run that is stopped has measured, another one goes on with.

#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "bench/report.h"
#include "core/status.h"

namespace lulab::bench {

class ResultFile {
 public:
  /// path: empty: nothing is written.
  /// context: of this run (bench/context.h), with "command"; "matrices" is filled in as they are measured.
  ResultFile(std::string path, nlohmann::ordered_json context) : path_(std::move(path)), context_(std::move(context)) {}

  /// Keeps what is in the file, which a run of the same command (but for --resume), commit and machine has written.
  /// Where there is no file, nothing was measured yet.
  /// Errors    invalid_argument naming the file and what is different or cannot be read.
  Status resume();
  /// Was this matrix measured by the run that was stopped?
  bool has(const std::string& matrix) const { return measured_.contains(matrix); }

  void add_matrix(const std::string& name, nlohmann::ordered_json facts) {
    context_["matrices"][name] = std::move(facts);
  }
  void add_schedules(nlohmann::ordered_json row) { schedules_.push_back(std::move(row)); }
  void add_context(const std::string& key, nlohmann::ordered_json value) { context_[key] = std::move(value); }

  /// Replaces the file as a whole. To a pipe or a device (/dev/stdout) only the last results are written.
  /// Errors    invalid_argument naming the file.
  Status write(const Report& report, bool is_last) const;

 private:
  std::string path_;
  nlohmann::ordered_json context_;
  std::set<std::string> measured_;                                       // matrices of the run that was stopped ...
  nlohmann::ordered_json benchmarks_ = nlohmann::ordered_json::array();  // ... and its rows
  nlohmann::ordered_json schedules_ = nlohmann::ordered_json::array();
};

}  // namespace lulab::bench
