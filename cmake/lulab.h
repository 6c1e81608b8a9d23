#pragma once
// All of lulab that a program needs to read, analyze, factor, solve and check.

#include "core/matrix/csc.h"
#include "core/matrix/generate.h"
#include "core/matrix/matrix_market.h"
#include "core/matrix/permutation.h"
#include "core/plan.h"
#include "core/rung.h"
#include "core/status.h"
#include "driver/analyze.h"
#include "driver/solver.h"
#include "preprocess/preprocess.h"
#include "solve/refine.h"
#include "solve/triangular.h"
#include "verify/verify.h"
