// The algorithms as classes for Python, as lightsim2grid has them for its own; its tests take them in place of NR_KLU.

#include <pybind11/complex.h>
#include <pybind11/eigen.h>

#include "linear_solver.h"

namespace lulab_lightsim2grid {

namespace py = pybind11;

template <class Algorithm>
void bind(py::module_& module, const char* name) {
  constexpr auto compute = &Algorithm::compute_pf_with_input_validation;
  py::class_<Algorithm>(module, name)
      .def(py::init<>())
      .def("compute_pf", compute)
      .def("solve", compute)
      .def("reset", &Algorithm::reset)
      .def("converged", &Algorithm::converged)
      .def("get_V", &Algorithm::get_V)
      .def("get_Va", &Algorithm::get_Va)
      .def("get_Vm", &Algorithm::get_Vm)
      .def("get_J", &Algorithm::get_J_python)
      .def("get_error", &Algorithm::get_error)
      .def("get_nb_iter", &Algorithm::get_nb_iter)
      .def("get_timers", &Algorithm::get_timers)
      .def("get_linear_solver_stats", &Algorithm::get_linear_solver_stats)
      .def("get_theta_to_J_col", &Algorithm::get_theta_to_J_col_python)
      .def("get_vm_to_J_col", &Algorithm::get_vm_to_J_col_python)
      .def("get_q_to_J_col", &Algorithm::get_q_to_J_col_python)
      .def("get_config", &Algorithm::get_config)
      .def("set_config", &Algorithm::set_config)
      .def("get_scaling_policy_type", &Algorithm::get_scaling_policy_type)
      .def("set_scaling_policy", &Algorithm::set_scaling_policy)
      .def("get_refactor_policy", &Algorithm::get_refactor_policy)
      .def("set_refactor_policy", &Algorithm::set_refactor_policy)
      .def("get_refactor_every_n", &Algorithm::get_refactor_every_n)
      .def("set_refactor_every_n", &Algorithm::set_refactor_every_n);
}

PYBIND11_MODULE(lulab_classes, module) {
  bind<NR_LULAB>(module, "NR_KLU");
  bind<NRSing_LULAB>(module, "NRSing_KLU");
  bind<NRRefactorRetry_LULAB>(module, "NRRefactorRetry_KLU");
}

}  // namespace lulab_lightsim2grid
