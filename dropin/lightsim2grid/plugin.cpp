// lightsim2grid's powerflow algorithms on lulab, for lightsim2grid.load_algorithm_plugin().

#include <memory>

#include "AlgorithmRegistry.hpp"
#include "linear_solver.h"

namespace lulab_lightsim2grid {

template <class Algorithm>
void add(ls2g::PluginRegistrar& registrar, const char* name) {
  registrar.add(name, [] { return std::make_unique<Algorithm>(); });
}

void register_algorithms(ls2g::PluginRegistrar& registrar) {
  add<NR_LULAB>(registrar, "NR_LULAB");
  add<NRSing_LULAB>(registrar, "NRSing_LULAB");
  add<NRRefactorRetry_LULAB>(registrar, "NRRefactorRetry_LULAB");
}

}  // namespace lulab_lightsim2grid

LS2G_PLUGIN_ENTRY(lulab_lightsim2grid::register_algorithms)
