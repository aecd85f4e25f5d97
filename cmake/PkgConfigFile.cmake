# deltafold.pc, relocatable: the prefix is found from where the file lies, so
# that `cmake --install --prefix` needs no second configuration.

set(directory ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH DELTAFOLD_PC_TO_PREFIX
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" DELTAFOLD_PC_TO_PREFIX
       "${DELTAFOLD_PC_TO_PREFIX}")
list(JOIN DELTAFOLD_PACKAGES " " DELTAFOLD_PC_REQUIRES)
list(JOIN OpenMP_C_FLAGS " " DELTAFOLD_PC_OPENMP)
configure_file(deltafold.pc.in deltafold.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/deltafold.pc DESTINATION ${directory})
