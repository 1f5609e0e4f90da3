# peel_layer(NAME SOURCES ... DEPS ...): a layer of src/ as a static library `peel_NAME`.
function(peel_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(peel_${name} STATIC ${arg_SOURCES})
  target_include_directories(peel_${name} PUBLIC ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(peel_${name} PUBLIC ${arg_DEPS} PRIVATE peel_flags ${arg_PRIVATE_DEPS})
endfunction()

# peel_test(NAME SOURCES ... DEPS ... [LABELS slow]): one gtest binary, one ctest entry per binary.
# Tests run with PEEL_BUILD_DIR and PEEL_SOURCE_DIR in their environment.
function(peel_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name} PRIVATE ${arg_DEPS} GTest::gtest GTest::gtest_main peel_flags)
  # Test code is compiled for a quick build; what it tests keeps its own flags.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS "${arg_LABELS}"
    ENVIRONMENT "PEEL_BUILD_DIR=${CMAKE_BINARY_DIR};PEEL_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
endfunction()
