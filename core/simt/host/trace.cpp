#include "core/simt/host/trace.h"

#include <algorithm>

#include "core/simt/host/scheduler.h"

namespace lulab::simt::host {

__thread Trace* active_trace;

Trace::Trace() { active_trace = this; }
Trace::~Trace() { active_trace = nullptr; }

void Trace::launch(const std::string& kernel, std::int64_t blocks, std::int64_t resident) {
  const RaceSilence silence;
  arrays_ = named_arrays();
  name_of_.clear();
  for (const DeviceArray& array : arrays_) {
    const auto known = std::ranges::find(array_names_, array.name);
    name_of_.push_back(static_cast<int>(known - array_names_.begin()));
    if (known == array_names_.end()) array_names_.emplace_back(array.name);
  }
  kernels_.push_back(kernel);
  outcomes_.emplace_back();
  add({.kind = TraceEvent::Kind::launch, .index = blocks, .after = static_cast<double>(resident)});
}

void Trace::launch_ends(const Status& outcome) {
  outcomes_.back() = outcome;
  add({.kind = TraceEvent::Kind::launch_ends});
}

void Trace::add(TraceEvent event) {
  const RaceSilence silence;
  event.launch = static_cast<int>(kernels_.size()) - 1;
  events_.push_back(event);
}

std::int32_t Trace::add(TraceEvent event, const void* address, std::size_t bytes) {
  const DeviceArray* array = array_at(address);
  if (array == nullptr || array->element_bytes != bytes) return -1;
  event.array = name_of_[array - arrays_.data()];
  event.index =
      (static_cast<const std::byte*>(address) - array->begin) / static_cast<std::ptrdiff_t>(array->element_bytes);
  add(event);
  return static_cast<std::int32_t>(events_.size()) - 1;
}

const DeviceArray* Trace::array_at(const void* address) const {
  const auto* const place = static_cast<const std::byte*>(address);
  const auto after = std::ranges::upper_bound(arrays_, place, {}, &DeviceArray::begin);
  if (after == arrays_.begin()) return nullptr;
  const DeviceArray& array = *(after - 1);
  return place < array.begin + array.bytes ? &array : nullptr;
}

std::int32_t trace_read(const void* address, std::size_t bytes, double value, Site site) {
  if (active_trace == nullptr || active_scheduler == nullptr) return -1;
  TraceEvent event = active_scheduler->event_here(TraceEvent::Kind::read, site);
  event.before = event.after = value;
  return active_trace->add(event, address, bytes);
}

void trace_write(TraceEvent::Kind kind, const void* address, std::size_t bytes, double before, double after,
                 const std::array<std::int32_t, 3>& from, Site site) {
  if (active_trace == nullptr || active_scheduler == nullptr) return;
  TraceEvent event = active_scheduler->event_here(kind, site);
  event.before = before;
  event.after = after;
  event.from = from;
  active_trace->add(event, address, bytes);
}

}  // namespace lulab::simt::host
