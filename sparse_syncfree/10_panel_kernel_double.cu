// The kernels of 10_supernode_panels for double.

#include "sparse_syncfree/10_panel_kernel.h"

namespace lulab::sparse_syncfree {

template EliminatePanels<double> panel_kernel<double, false>(PanelKernel);
template Status launch_map_rows<double>(const TasksView<double>&, std::uint16_t*, simt::Stream&);

}  // namespace lulab::sparse_syncfree
