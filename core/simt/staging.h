#pragma once
// Copies from device memory into shared memory that go on while the thread does something else (cp.async; on the host
// they are done when they are waited for, and what is read before is poison). Device code, after core/simt/kernel.h.
//
//   Staging staging;                                  a local variable of each thread
//   staging.copy_16(shared + i, d_from + i);          16 bytes, both aligned to 16; any number of them
//   staging.commit();                                 what was copied since the last commit is one group
//   staging.wait<1>(); __syncthreads();               all groups but the last one are there, those of all threads

#ifdef LULAB_CUDA
#include "core/simt/cuda/staging.h"
#else
#include "core/simt/host/staging.h"
#endif
