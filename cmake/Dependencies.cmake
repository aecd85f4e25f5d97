# What Debian gives us. DELTAFOLD_PACKAGES is also what the pkg-config file
# tells those who link statically. xxHash is used as a header only.

find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)

set(DELTAFOLD_PACKAGES lmdb msgpack zlib libzstd libutf8proc icu-uc)
pkg_check_modules(DELTAFOLD_LIBRARIES REQUIRED IMPORTED_TARGET
                  ${DELTAFOLD_PACKAGES})
pkg_check_modules(XXHASH REQUIRED libxxhash>=0.8.0)

add_library(deltafold_dependencies INTERFACE)
target_link_libraries(deltafold_dependencies INTERFACE
    PkgConfig::DELTAFOLD_LIBRARIES OpenMP::OpenMP_C m)
