# Build options, compiler flags and sanitizers that hold for every target.
find_package(GTest QUIET)
option(MINFER_BUILD_TESTS "Build the tests (default: where GoogleTest is installed)" ${GTest_FOUND})
option(MINFER_BUILD_BENCH "Build the benchmarks of single kernels" OFF)
option(MINFER_BUILD_FUZZERS "Build the libFuzzer targets (clang only)" OFF)
set(MINFER_TEST_BUILDS "" CACHE PATH
    "Folder of the builds asan, tsan and fuzz, whose tests ctest shall run as well; empty: none")
set(MINFER_SANITIZE "" CACHE STRING "Sanitizers: empty, 'address,undefined' or 'thread'")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -O3 adds compile time and code size without helping the hand-written kernels.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

find_program(MINFER_CCACHE ccache)
if(MINFER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MINFER_CCACHE})
endif()
find_program(MINFER_MOLD mold)
if(MINFER_MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()

# The arithmetic contract (docs/arithmetic.md): no contraction, no reassociation, IEEE everywhere.
add_compile_options(-ffp-contract=off -fno-fast-math)
add_compile_options(-Wall -Wextra -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # For C++ gcc leaves this one out of -Wconversion; the two compilers shall ask for the same.
  add_compile_options(-Wno-sign-conversion)
endif()

if(MINFER_SANITIZE)
  add_compile_options(-fsanitize=${MINFER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${MINFER_SANITIZE})
  # Instrumented code compiles in half the time at -O1 and finds the same.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # With instrumented code gcc sees these where they are not; the plain build still asks for them.
    add_compile_options(-Wno-mismatched-new-delete -Wno-maybe-uninitialized)
  endif()
endif()
if(MINFER_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(MINFER_DEBUG=1)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
