// The kernels of 10_supernode_panels with delays between tasks, for the tests that inject them.

#include "sparse_syncfree/10_panel_kernel.h"

namespace lulab::sparse_syncfree {

template EliminatePanels<double> panel_kernel<double, true>(PanelKernel);

}  // namespace lulab::sparse_syncfree
