#include "bench/dense_contender.h"

namespace lulab::bench {

std::vector<BatchRung> library_batch_rungs() { return {}; }

}  // namespace lulab::bench
