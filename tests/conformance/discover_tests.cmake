# Read when ctest starts: one test for each op that the program names, so that a new op is tested without an edit here. `program` is
# wick_conformance, `emulator` the command that runs it, if it is for another machine.
set(ops "")
if(EXISTS "${program}")
  execute_process(COMMAND ${emulator} "${program}" list --ops OUTPUT_VARIABLE ops OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" ops "${ops}")
else()
  add_test(wick_conformance_NOT_BUILT wick_conformance_NOT_BUILT)
endif()

#   discover_conformance_tests(<prefix> <labels> <environment> <arguments…>)
# In the environment, <test> stands for a test's name.
function(discover_conformance_tests prefix labels environment)
  foreach(op IN LISTS ops)
    string(REPLACE "<test>" "${prefix}${op}" test_environment "${environment}")
    add_test("${prefix}${op}" ${emulator} "${program}" test --filter "^${op}/" ${ARGN})
    set_tests_properties("${prefix}${op}" PROPERTIES TIMEOUT 600 LABELS "${labels}" SKIP_RETURN_CODE 77 ENVIRONMENT "${test_environment}")
  endforeach()
endfunction()
