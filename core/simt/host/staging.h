#pragma once
// core/simt/staging.h in the simulator: a group is copied when it is waited for.

#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "core/simt/host/poison.h"

namespace lulab::simt {

class Staging {
 public:
  void copy_16(void* shared_to, const void* d_from) {
    host::poison(shared_to, 16);
    open_.emplace_back(shared_to, d_from);
  }
  void commit() { groups_.push_back(std::exchange(open_, {})); }
  template <int groups>
  void wait() {
    while (groups_.size() > std::size_t(groups)) {
      for (const auto& [to, from] : groups_.front()) std::memcpy(to, from, 16);
      groups_.pop_front();
    }
  }

 private:
  using Copies = std::vector<std::pair<void*, const void*>>;
  Copies open_;
  std::deque<Copies> groups_;
};

}  // namespace lulab::simt
