#pragma once
// An explanation on a terminal and as a page.

#include <string>

#include "app/explain.h"

namespace lulab::app {

/// One line a step, numbered from 1; races and deadlocks have more.
std::string steps_as_text(const Explanation& explanation);

/// L + U after a step, and the step.   Requires 1 <= step <= number of steps.
std::string step_as_text(const Explanation& explanation, const FilledPattern& filled, std::size_t step);

/// One HTML file with everything in it: a picture of L + U, a slider, the steps.
std::string explanation_as_page(const Explanation& explanation, const FilledPattern& filled, const std::string& matrix);

}  // namespace lulab::app
