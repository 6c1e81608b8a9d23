#include "bench/auto_rung.h"

#include "core/backend.h"

namespace lulab::bench {
namespace {

template <class T>
std::unique_ptr<Backend<T>> make_none(const FactorOptions&) {
  return nullptr;
}

}  // namespace

const Rung& auto_rung() {
  static constexpr Rung rung = {
      .facts = {.id = "auto",
                .stage = "driver",
                .paper = "driver/choose_rung.h",
                .idea = "the rung that is predicted to be the fastest for the pattern",
                .perturbs_pivots = true,
                .takes_batches = true},
      .make_backend = {make_none<float>, make_none<double>},
  };
  return rung;
}

RungChoice resolve(const Rung& rung, const FilledPattern& filled, const FactorOptions& options, std::int32_t systems) {
  return &rung == &auto_rung() ? choose_rung(filled, options, systems) : RungChoice{&rung, {}};
}

Result<const Rung*> find_timed_rung(std::string_view name) {
  auto found = find_rung_or_auto(every_rung(), name);
  return found.ok() && *found == nullptr ? Result<const Rung*>(&auto_rung()) : found;
}

}  // namespace lulab::bench
