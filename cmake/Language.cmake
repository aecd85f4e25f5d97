# The language, the warnings and the sanitizers, as one interface target.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# No -DNDEBUG: an assertion that fails in the field must stop the program
# before it writes. No -march=native: vector paths are chosen at run time.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")

add_library(deltafold_language INTERFACE)
target_include_directories(deltafold_language INTERFACE
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(deltafold_language INTERFACE
    _GNU_SOURCE
    DELTAFOLD_VERSION="${PROJECT_VERSION}")
target_compile_options(deltafold_language INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wwrite-strings
    -Wundef -Wvla -Wformat=2 -Wswitch-enum -Wpointer-arith -fno-common
    $<$<BOOL:${DELTAFOLD_WERROR}>:-Werror>)

if(DELTAFOLD_FUZZ)
    target_compile_options(deltafold_language INTERFACE
        -fsanitize=fuzzer-no-link)
endif()

if(DELTAFOLD_SANITIZE)
    target_compile_options(deltafold_language INTERFACE
        -fsanitize=${DELTAFOLD_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    target_link_options(deltafold_language INTERFACE
        -fsanitize=${DELTAFOLD_SANITIZE})
endif()
