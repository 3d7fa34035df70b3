# Installs the library for find_package(causeway): headers, library, CMake files. The program and the
# weights are installed by cli/.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/causeway)
install(TARGETS causeway_lib EXPORT causewayTargets COMPONENT development
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILE_SET generated DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT causewayTargets NAMESPACE causeway:: DESTINATION ${package_dir}
  COMPONENT development)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/causewayConfig.cmake.in
  ${PROJECT_BINARY_DIR}/causewayConfig.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/causewayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/causewayConfig.cmake
  ${PROJECT_BINARY_DIR}/causewayConfigVersion.cmake ${PROJECT_SOURCE_DIR}/cmake/openblas.cmake
  ${PROJECT_SOURCE_DIR}/cmake/weights_folder.cpp
  DESTINATION ${package_dir} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/causeway/weights
  DESTINATION ${CMAKE_INSTALL_DATADIR}/causeway COMPONENT weights)
