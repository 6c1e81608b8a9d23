# cmake -P cmake/check_rules.cmake: see check_rules.py.
execute_process(COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/check_rules.py RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "rules broken")
endif()
