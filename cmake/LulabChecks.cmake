# Checks of the source text itself, as tests.
if(LULAB_TESTS)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    add_test(NAME cpu/rules.HoldInEveryRoom COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/check_rules.py)
    add_test(NAME cpu/rules.EachRuleCanFail
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/cmake/check_rules_test.py)
    add_test(NAME cpu/tutorials.QuoteTheSources
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tutorials/chapters.py --check)
    add_test(NAME cpu/tutorials.EachCheckCanFail
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tutorials/chapters_test.py)
    add_test(NAME cpu/docs.LinksLeadSomewhere COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/docs/pages.py check)
    add_test(NAME cpu/docs.EachCheckCanFail
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/docs/pages_test.py)
    add_test(NAME cpu/regress.FlagsSlowdownsNotNoise
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/regress_test.py)
    add_test(NAME cpu/rerun.SaysWhetherItAgrees
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/rerun_test.py)
    add_test(NAME cpu/fetch.ChecksWhatComes
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/fetch_matrices_test.py)
    add_test(NAME cpu/measure.RunsWhatIsMissing
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/measure_test.py)
    add_test(NAME cpu/readmes.ShowPublishedAndOurs
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/readme_table_test.py)
    add_test(NAME cpu/report.ComparesOneRunAlone
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/page/make_test.py)
    set_tests_properties(cpu/rules.HoldInEveryRoom cpu/rules.EachRuleCanFail cpu/tutorials.QuoteTheSources
      cpu/tutorials.EachCheckCanFail cpu/docs.LinksLeadSomewhere cpu/docs.EachCheckCanFail
      cpu/regress.FlagsSlowdownsNotNoise cpu/rerun.SaysWhetherItAgrees cpu/fetch.ChecksWhatComes
      cpu/measure.RunsWhatIsMissing cpu/readmes.ShowPublishedAndOurs
      cpu/report.ComparesOneRunAlone
      PROPERTIES LABELS cpu TIMEOUT 60)
    # Skipped, and says so, where there is no libclang for Python.
    add_test(NAME cpu/mutants.EachHasItsFate
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/testing/mutants/mutate_test.py)
    set_tests_properties(cpu/mutants.EachHasItsFate PROPERTIES LABELS cpu TIMEOUT 120 SKIP_RETURN_CODE 77)
    # The chapters say what the simulator prints at its full size.
    if(TARGET lulab AND NOT LULAB_CUDA AND NOT LULAB_SANITIZE)
      add_test(NAME cpu/tutorials.PrintWhatTheySay
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tutorials/chapters.py --check --run
          --programs ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
      set_tests_properties(cpu/tutorials.PrintWhatTheySay PROPERTIES LABELS cpu TIMEOUT 300)
      # Skipped, and says so, where no Chromium is installed.
      add_test(NAME cpu/explain.PagesWorkInABrowser
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/app/host/explain_page_test.py
          ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
      set_tests_properties(cpu/explain.PagesWorkInABrowser PROPERTIES LABELS cpu TIMEOUT 300 SKIP_RETURN_CODE 77)
      add_test(NAME cpu/report.PageWorksInABrowser
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/bench/page/page_test.py)
      set_tests_properties(cpu/report.PageWorksInABrowser PROPERTIES LABELS cpu TIMEOUT 300 SKIP_RETURN_CODE 77)
      add_test(NAME cpu/docs.SiteBuilds
        COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/docs/site_test.py ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
      set_tests_properties(cpu/docs.SiteBuilds PROPERTIES LABELS cpu TIMEOUT 300 SKIP_RETURN_CODE 77)
    endif()
  else()
    message(STATUS "no python3: the rules of the house are not tested")
  endif()
  add_test(NAME cpu/script.BuildsTakeTurns
    COMMAND ${PROJECT_SOURCE_DIR}/cmake/lulab_script_test.sh ${PROJECT_SOURCE_DIR}/lulab)
  set_tests_properties(cpu/script.BuildsTakeTurns PROPERTIES LABELS cpu TIMEOUT 60)
  if(NOT LULAB_CUDA AND NOT LULAB_SANITIZE)
    add_test(NAME cpu/script.RunsInAnEmptyDebian
      COMMAND ${PROJECT_SOURCE_DIR}/cmake/empty_debian_test.sh ${PROJECT_SOURCE_DIR} --build)
    set_tests_properties(cpu/script.RunsInAnEmptyDebian PROPERTIES LABELS "cpu;slow" TIMEOUT 3600 SKIP_RETURN_CODE 77)
  endif()
endif()
