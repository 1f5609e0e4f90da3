# Asks the program PEEL for its man pages and completion scripts and writes them below OUT.
function(ask out)
  execute_process(COMMAND ${PEEL} ${ARGN} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# Straight into the file: text that went through a CMake variable would lose semicolons and brackets.
function(write_answer file)
  execute_process(COMMAND ${PEEL} ${ARGN} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT}/man1 ${OUT}/completion)
write_answer(${OUT}/man1/peel.1 help --man)

ask(table help --json)
foreach(list IN ITEMS commands topics)
  string(JSON count LENGTH "${table}" ${list})
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    if(list STREQUAL "commands")
      string(JSON name GET "${table}" commands ${i} name)
    else()
      string(JSON name GET "${table}" topics ${i})
    endif()
    write_answer(${OUT}/man1/peel-${name}.1 help --man ${name})
  endforeach()
endforeach()

foreach(shell IN ITEMS bash zsh fish)
  write_answer(${OUT}/completion/peel.${shell} help --completion ${shell})
endforeach()
file(TOUCH ${OUT}/stamp)
