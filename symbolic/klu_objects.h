#pragma once

#include <klu.h>

namespace lulab {

/// Owns what KLU allocates.
struct KluObjects {
  KluObjects() { klu_defaults(&common); }
  ~KluObjects() { release(); }
  void release() {
    klu_free_numeric(&numeric, &common);
    klu_free_symbolic(&symbolic, &common);
  }
  KluObjects(const KluObjects&) = delete;
  KluObjects& operator=(const KluObjects&) = delete;

  klu_common common;
  klu_symbolic* symbolic = nullptr;
  klu_numeric* numeric = nullptr;
};

}  // namespace lulab
