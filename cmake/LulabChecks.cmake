# Checks of the source text itself, as tests.
if(LULAB_TESTS)
  add_test(NAME cpu/rules.HoldInEveryRoom COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/check_rules.cmake)
  add_test(NAME cpu/rules.EachRuleCanFail COMMAND ${CMAKE_COMMAND} -D WORK=${PROJECT_BINARY_DIR}/rules_test
    -P ${PROJECT_SOURCE_DIR}/cmake/check_rules_test.cmake)
  set_tests_properties(cpu/rules.HoldInEveryRoom cpu/rules.EachRuleCanFail PROPERTIES LABELS cpu TIMEOUT 60)
endif()
