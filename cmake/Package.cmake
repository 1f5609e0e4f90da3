# Installing the library and its headers, and the Debian package (cpack -G DEB in the build folder).
# The command, its man pages and completion scripts are installed by cli/, the HDF5 helper by src/hdf5/.
include(GNUInstallDirs)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/peel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h")
option(PEEL_INSTALL_LIBRARIES "Install the static libraries too" OFF)
if(PEEL_INSTALL_LIBRARIES)
  foreach(layer IN ITEMS base codec onion hdf5 trust link proto workspace sync hub)
    if(TARGET peel_${layer})
      install(TARGETS peel_${layer} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
    endif()
  endforeach()
  install(TARGETS blake3_c ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endif()
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME peel)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "keep every version of data files and move them between machines")
set(CPACK_PACKAGE_CONTACT "The peel developers <peel@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_PACKAGE_DESCRIPTION "Peel records every state of a working file, such as an HDF5 file, in one
append-only history beside it: each commit adds what changed. Any revision
can be read, compared and restored at any time, and histories travel to
other machines over encrypted connections with both ends pinned.")
# The package holds the command; headers and libraries are for `cmake --install`.
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};peel;Unspecified;/")
include(CPack)
