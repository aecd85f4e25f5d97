# What Debian gives us. DELTAFOLD_PACKAGES is also what the pkg-config file
# tells those who link statically.

find_package(PkgConfig REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS C)

set(DELTAFOLD_PACKAGES lmdb msgpack libxxhash zlib libzstd libutf8proc
    icu-uc)
pkg_check_modules(DELTAFOLD_LIBRARIES REQUIRED IMPORTED_TARGET
                  ${DELTAFOLD_PACKAGES})
pkg_check_modules(XXHASH REQUIRED libxxhash>=0.8.0) # XXH3 is settled there

add_library(deltafold_dependencies INTERFACE)
target_link_libraries(deltafold_dependencies INTERFACE
    PkgConfig::DELTAFOLD_LIBRARIES OpenMP::OpenMP_C m)

# xxHash chooses vector widths at run time where it was built to: Debian's
# shared library was, its static one was not.
include(CheckSymbolExists)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::DELTAFOLD_LIBRARIES)
check_symbol_exists(XXH3_128bits_withSeed_dispatch xxh_x86dispatch.h
                    DELTAFOLD_HAS_XXH_DISPATCH)
cmake_pop_check_state()
if(DELTAFOLD_HAS_XXH_DISPATCH)
    target_compile_definitions(deltafold_dependencies INTERFACE
                               DELTAFOLD_XXH_DISPATCH)
endif()
