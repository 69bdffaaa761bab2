# Writes OUT, a header with what the program is built from: the commit, "+" when files were changed since. Empty without
# git. The file is touched only when that differs, so that nothing is built again for nothing.
set(text "")
execute_process(COMMAND git describe --always --abbrev=10 --exclude * WORKING_DIRECTORY ${TOP}
    OUTPUT_VARIABLE commit RESULT_VARIABLE failed ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT failed)
    execute_process(COMMAND git status --porcelain --untracked-files=no -- src cli include WORKING_DIRECTORY ${TOP}
        OUTPUT_VARIABLE changed ERROR_QUIET)
    set(text "${commit}")
    if(changed)
        set(text "${commit}+")
    endif()
endif()
set(content "#define FERRY_BUILD \"${text}\"\n")
set(have "")
if(EXISTS ${OUT})
    file(READ ${OUT} have)
endif()
if(NOT have STREQUAL content)
    file(WRITE ${OUT} "${content}")
endif()
