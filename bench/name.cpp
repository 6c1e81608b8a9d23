#include "bench/name.h"

#include <vector>

#include <fmt/format.h>

namespace lulab::bench {

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::preprocess: return "preprocess";
    case Phase::symbolic: return "symbolic";
    case Phase::symbolic_device: return "symbolic_device";
    case Phase::schedule: return "schedule";
    case Phase::upload: return "upload";
    case Phase::factor: return "factor";
    case Phase::refactor: return "refactor";
    case Phase::download: return "download";
    case Phase::solve: return "solve";
    case Phase::end_to_end: return "end_to_end";
    case Phase::batch: return "batch";
    case Phase::batch_step: return "batch_step";
    case Phase::step: return "step";
    case Phase::step_device: return "step_device";
    case Phase::first: return "first";
    case Phase::run: return "run";
  }
  return "?";
}

Result<Phase> parse_phase(std::string_view text) {
  std::string known;
  for (Phase phase : phases) {
    if (text == to_string(phase)) return phase;
    known += fmt::format(" {}", to_string(phase));
  }
  return Status::error(StatusCode::invalid_argument, fmt::format("no phase '{}'; there are:{}", text, known));
}

std::string to_string(const Name& name) {
  return fmt::format("{}|{}|{}|{}", name.rung, name.matrix, to_string(name.phase), to_string(name.scalar));
}

Result<Name> parse_name(std::string_view text) {
  std::vector<std::string_view> fields;
  for (std::size_t start = 0;;) {
    const std::size_t bar = text.find('|', start);
    fields.push_back(text.substr(start, bar - start));
    if (bar == std::string_view::npos) break;
    start = bar + 1;
  }
  if (fields.size() != 4 || fields[0].empty() || fields[1].empty()) {
    return Status::error(StatusCode::invalid_argument,
                         fmt::format("'{}' is not <rung id>|<matrix or n=...>|<phase>|<f32 or f64>", text));
  }
  LULAB_ASSIGN_OR_RETURN(const auto phase, parse_phase(fields[2]));
  LULAB_ASSIGN_OR_RETURN(const auto scalar, parse_scalar(fields[3]));
  return Name{std::string(fields[0]), std::string(fields[1]), phase, scalar};
}

}  // namespace lulab::bench
