// The kernels of 10_supernode_panels for float.

#include "sparse_syncfree/10_panel_kernel.h"

namespace lulab::sparse_syncfree {

template EliminatePanels<float> panel_kernel<float, false>(PanelKernel);
template Status launch_map_rows<float>(const TasksView<float>&, std::uint16_t*, simt::Stream&);

}  // namespace lulab::sparse_syncfree
