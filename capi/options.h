#pragma once
// The options of lulab.h: keys and values are texts.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/rung.h"
#include "driver/solver.h"

namespace lulab::c_api {

struct Options {
  const Rung* rung = nullptr;  // null: analyze() chooses
  SolverOptions solver = {};
};

/// The keys, "rung.NAME" apart; nullptr: no more.
const char* option_key(std::int32_t index);
bool is_option(std::string_view key);
std::string list_of_options();

/// Requires  is_option(key).   Errors  invalid_argument: `options` stay as they are.
Status set_option(Options& options, std::string_view key, std::string_view value);
std::string get_option(const Options& options, std::string_view key);

}  // namespace lulab::c_api
