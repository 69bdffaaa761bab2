# ---- the engine cuda (src/linalg/cuda), where there is nvcc: loaded by who chooses it, linked by nobody ----
# nvcc is called as it is: CMake's own CUDA language ends the configuration where nvcc and the compiler do not go together.
option(FERRY_CUDA "Build libferry_cuda.so where CUDA's compiler is found" ON)
set(FERRY_CUDA_FLAGS "-gencode arch=compute_90,code=sm_90 -gencode arch=compute_75,code=compute_75" CACHE STRING
    "For which cards: by default Hopper's, and code that the driver compiles for others from Turing on")
if(NOT FERRY_CUDA OR CMAKE_CROSSCOMPILING OR SKBUILD OR FERRY_FUZZ OR FERRY_SANITIZE OR FERRY_COVERAGE)
    return()
endif()
find_program(FERRY_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin)
if(NOT FERRY_NVCC)
    return()
endif()
get_filename_component(cuda_top ${FERRY_NVCC} REALPATH)
get_filename_component(cuda_top ${cuda_top} DIRECTORY)
get_filename_component(cuda_top ${cuda_top} DIRECTORY)
find_library(FERRY_CUSOLVER cusolver HINTS ${cuda_top}/lib64 ${cuda_top}/lib ${cuda_top}/targets/x86_64-linux/lib)
separate_arguments(cuda_cards UNIX_COMMAND "${FERRY_CUDA_FLAGS}")
set(cuda_flags -std=c++17 -O3 -Xcompiler -fPIC,-fopenmp,-fvisibility=hidden ${cuda_cards}
    -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/include)
# Once: whether it compiles anything here (a compiler that is too new for it, missing headers of a library).
if(NOT DEFINED FERRY_NVCC_WORKS)
    file(WRITE ${PROJECT_BINARY_DIR}/cuda/try.cu "#include <cublas_v2.h>\n#include <cusolverDn.h>\n#include <cusparse.h>\n")
    execute_process(COMMAND ${FERRY_NVCC} ${cuda_flags} -c ${PROJECT_BINARY_DIR}/cuda/try.cu
        -o ${PROJECT_BINARY_DIR}/cuda/try.o RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
    if(failed OR NOT FERRY_CUSOLVER)
        message(STATUS "libferry_cuda.so is not built: ${FERRY_NVCC} does not compile it here ${said}")
        set(FERRY_NVCC_WORKS OFF CACHE INTERNAL "")
    else()
        set(FERRY_NVCC_WORKS ON CACHE INTERNAL "")
    endif()
endif()
if(NOT FERRY_NVCC_WORKS)
    return()
endif()
get_filename_component(cuda_lib ${FERRY_CUSOLVER} DIRECTORY)
file(GLOB cuda_sources CONFIGURE_DEPENDS src/linalg/cuda/*.cu)
set(cuda_objects)
foreach(source ${cuda_sources})
    get_filename_component(name ${source} NAME_WE)
    set(object ${PROJECT_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${object}
        COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${FERRY_NVCC} ${cuda_flags} -c ${source} -o ${object}
        DEPENDS ${source} src/linalg/cuda/card.h src/linalg/card.h include/ferry/base.h VERBATIM)
    list(APPEND cuda_objects ${object})
endforeach()
set(FERRY_CUDA_PLUGIN ${PROJECT_BINARY_DIR}/libferry_cuda.so)
# The libraries are where CUDA was when this was built, else where the system looks.
add_custom_command(OUTPUT ${FERRY_CUDA_PLUGIN}
    COMMAND ${FERRY_NVCC} -shared -o ${FERRY_CUDA_PLUGIN} ${cuda_objects} -Xcompiler -fopenmp
        -L${cuda_lib} -lcublas -lcusolver -lcusparse
        -Xlinker -rpath,/usr/local/cuda/lib64 -Xlinker -z,relro,-z,now,-z,noexecstack
    DEPENDS ${cuda_objects} VERBATIM)
add_custom_target(ferry_cuda ALL DEPENDS ${FERRY_CUDA_PLUGIN})
# Times of its operations beside host's: built by who asks (scripts/gpu).
add_executable(bench_card EXCLUDE_FROM_ALL bench/card.c)
target_include_directories(bench_card PRIVATE src include)
target_link_libraries(bench_card PRIVATE ferry_static ferry_flags PkgConfig::DEPS OpenMP::OpenMP_C)
