# What `make install` installs: headers, both libraries, the command, pkg-config and CMake package files.
install(DIRECTORY include/ferry DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS ferry_shared EXPORT ferryTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ferry_mat73 RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/ferry)
if(TARGET ferry_cuda)
    install(PROGRAMS ${FERRY_CUDA_PLUGIN} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET ferry_mpi)
    install(TARGETS ferry_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# Inside the library functions have short names (mul, warn): as one object whose hidden symbols are local, the archive
# that users link has no other names than the headers.
set(FERRY_ARCHIVE ${PROJECT_BINARY_DIR}/archive)
file(MAKE_DIRECTORY ${FERRY_ARCHIVE})
add_custom_command(OUTPUT ${FERRY_ARCHIVE}/libferry.a DEPENDS ferry_static
    COMMAND ${CMAKE_LINKER} -r -o ${FERRY_ARCHIVE}/ferry.o --whole-archive $<TARGET_FILE:ferry_static>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${FERRY_ARCHIVE}/ferry.o
    COMMAND ${CMAKE_COMMAND} -E rm -f ${FERRY_ARCHIVE}/libferry.a
    COMMAND ${CMAKE_AR} rcs ${FERRY_ARCHIVE}/libferry.a ${FERRY_ARCHIVE}/ferry.o VERBATIM)
add_custom_target(ferry_archive ALL DEPENDS ${FERRY_ARCHIVE}/libferry.a)
install(FILES ${FERRY_ARCHIVE}/libferry.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET ferry)
    install(TARGETS ferry RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# A static link needs what we link: pkg-config --static gives it.
set(FERRY_STATIC_LIBS "${DEPS_LDFLAGS} -lgomp -lpthread -ldl -lm")
string(REPLACE ";" " " FERRY_STATIC_LIBS "${FERRY_STATIC_LIBS}")

# The prefix is only known when installing (`cmake --install --prefix`), so the .pc file is made then.
set(FERRY_PC_IN ${PROJECT_SOURCE_DIR}/cmake/ferry.pc.in)
configure_file(cmake/write-pc.cmake.in ${PROJECT_BINARY_DIR}/write-pc.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/write-pc.cmake)

set(FERRY_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ferry)
install(EXPORT ferryTargets NAMESPACE ferry:: DESTINATION ${FERRY_CMAKE_DIR})
configure_package_config_file(cmake/ferryConfig.cmake.in ${PROJECT_BINARY_DIR}/ferryConfig.cmake
    INSTALL_DESTINATION ${FERRY_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ferryConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ferryConfig.cmake ${PROJECT_BINARY_DIR}/ferryConfigVersion.cmake
    DESTINATION ${FERRY_CMAKE_DIR})
