#pragma once
// CUDA's device language for the host compiler: keywords, built-in variables and functions of the simulated device.

#include <cmath>
#include <cstdio>

#include "core/simt/host/atomics.h"
#include "core/simt/host/barriers.h"
#include "core/simt/host/clusters.h"
#include "core/simt/host/shared_memory.h"
#include "core/simt/host/types.h"
#include "core/simt/host/warp.h"
