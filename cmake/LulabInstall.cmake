# cmake --install, so that another project can say find_package(lulab) and link lulab::lulab.
