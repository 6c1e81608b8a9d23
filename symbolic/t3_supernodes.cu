#include "symbolic/t3_supernodes.h"

#include <algorithm>
#include <new>
#include <vector>

namespace lulab {
namespace {

Supernodes supernodes_of(const std::vector<std::uint8_t>& leads) {
  Supernodes s;
  s.of.resize(leads.size());
  for (std::size_t k = 0; k < leads.size(); ++k) {
    if (k > 0 && leads[k] != 0) s.first.push_back(static_cast<std::int32_t>(k));
    s.of[k] = s.size();
  }
  if (!leads.empty()) s.first.push_back(static_cast<std::int32_t>(leads.size()));
  return s;
}

}  // namespace

Supernodes find_t3_supernodes(const FilledPattern& f, std::int32_t max_width) {
  std::vector<std::uint8_t> leads(f.n, 1);
  std::int32_t r = 0;
  for (std::int32_t s = 1; s < f.n; ++s) {
    const bool one_less = f.col_ptr[s + 1] - f.diag[s] == f.col_ptr[s] - f.diag[s - 1] - 1;
    const auto rows = f.row_idx.begin();
    leads[s] = !(one_less && s - r < max_width && std::binary_search(rows + f.col_ptr[s], rows + f.diag[s], r));
    if (leads[s] != 0) r = s;
  }
  return supernodes_of(leads);
}

Result<Supernodes> find_t3_supernodes(const DeviceFilledPattern& f, std::int32_t max_width, simt::Stream& stream) try {
  std::vector<std::uint8_t> leads(f.n);
  if (f.n == 0) return supernodes_of(leads);
  simt::DeviceBuffer<std::uint8_t> d_leads;
  LULAB_RETURN_IF_ERROR(simt::make(d_leads, f.n));
  LULAB_RETURN_IF_ERROR(
      simt::launch(t3_supernodes_kernel<>, {.grid = simt::blocks_for(f.n, t3_chunk), .block = t3_chunk}, stream, f.n,
                   f.d_col_ptr.data(), f.d_diag.data(), f.d_row_idx.data(), max_width, d_leads.data()));
  LULAB_RETURN_IF_ERROR(d_leads.download(leads, stream));
  LULAB_RETURN_IF_ERROR(stream.wait());
  return supernodes_of(leads);
} catch (const std::bad_alloc&) {
  return Status::error(StatusCode::out_of_memory, "no memory for the supernodes");
}

}  // namespace lulab
