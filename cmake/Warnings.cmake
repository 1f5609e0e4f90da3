# One interface target carries warnings, sanitizers and the floating-point rule for all our code.
add_library(peel_flags INTERFACE)
target_compile_options(peel_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  -Wold-style-cast -Wcast-align -Wunused -ffp-contract=off
  -Wno-missing-field-initializers)  # designated initializers leave out what has a default, on purpose
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12 at -O2 and above.
  target_compile_options(peel_flags INTERFACE -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds
    -Wno-stringop-overread -Wno-restrict)
endif()
option(PEEL_WERROR "Warnings are errors" OFF)
if(PEEL_WERROR)
  target_compile_options(peel_flags INTERFACE -Werror)
endif()
if(PEEL_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage of every layer: without it the fuzzer is blind behind its own file
endif()
if(PEEL_SANITIZE)
  add_compile_options(-fsanitize=${PEEL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PEEL_SANITIZE})
endif()
