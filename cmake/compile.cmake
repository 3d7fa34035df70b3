# Compiler options. Contraction is off on the CPU, so that the same source gives the same bits; fused
# multiply-adds are explicit.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# CMake 3.25 does not know nvcc's flag for C++20.
set(CMAKE_CUDA_STANDARD 20)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CUDA_FLAGS_RELEASE "-O3 -DNDEBUG")
set(CMAKE_CXX_FLAGS_SANITIZE "-O0 -g1")

# Private options: users of the library do not get them.
add_library(causeway_options INTERFACE)
target_include_directories(causeway_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(causeway_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-psabi -ffp-contract=off
    -fno-math-errno -fno-trapping-math -fwrapv>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wno-psabi,-ffp-contract=off,-fwrapv
    --expt-relaxed-constexpr -lineinfo $<$<BOOL:${CAUSEWAY_CUDA_CHECK}>:--Ofast-compile=max>>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(causeway_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-march=${CAUSEWAY_CPU}>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-march=${CAUSEWAY_CPU}>)
endif()
if(CAUSEWAY_SANITIZE)
  target_compile_options(causeway_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${CAUSEWAY_SANITIZE} -fno-omit-frame-pointer
      -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>>)
  target_link_options(causeway_options INTERFACE -fsanitize=${CAUSEWAY_SANITIZE})
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
target_link_libraries(causeway_options INTERFACE OpenMP::OpenMP_CXX)
