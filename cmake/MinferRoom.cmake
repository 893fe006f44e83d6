# minfer_room(NAME SOURCES file... [DEPS room...] [LIBS library...])
#   One static library for one room of src/, minfer_NAME. Headers are included as "room/file.h".
function(minfer_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_library(minfer_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(minfer_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  foreach(dep IN LISTS ROOM_DEPS)
    target_link_libraries(minfer_${name} PUBLIC minfer_${dep})
  endforeach()
  target_link_libraries(minfer_${name} PUBLIC fmt::fmt ${ROOM_LIBS})
endfunction()

# minfer_test(NAME SOURCES file... [ROOMS room...] [LIBS library...] [LABELS label...] [TIMEOUT s])
#   One GoogleTest binary, registered with ctest as a single test named NAME. Where
#   MINFER_TEST_BUILDS is set, asan.NAME runs the same test of the sanitizer build, and tsan.NAME too
#   for a test labelled `tsan`; the label `no_asan` leaves the first one out.
function(minfer_test name)
  cmake_parse_arguments(TEST "" "TIMEOUT" "SOURCES;ROOMS;LIBS;LABELS" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  foreach(room IN LISTS TEST_ROOMS)
    target_link_libraries(test_${name} PRIVATE minfer_${room})
  endforeach()
  target_link_libraries(test_${name} PRIVATE GTest::gtest GTest::gtest_main ${TEST_LIBS})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  if(MINFER_SANITIZE)
    # What is under test is instrumented at -O1; the tests themselves compile faster like this.
    target_compile_options(test_${name} PRIVATE -O0)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 600)
  endif()
  minfer_register_test(${name} $<TARGET_FILE:test_${name}> ${CMAKE_CURRENT_BINARY_DIR}
                       ${TEST_TIMEOUT} "${TEST_LABELS}")
  if("tsan" IN_LIST TEST_LABELS)
    add_dependencies(tsan_tests test_${name})
  endif()
  if(NOT "no_asan" IN_LIST TEST_LABELS)
    add_dependencies(asan_tests test_${name})
  endif()
  if(MINFER_TEST_BUILDS)
    math(EXPR slow_timeout "${TEST_TIMEOUT} * 4")
    foreach(build asan tsan)
      if(build STREQUAL "asan" AND "no_asan" IN_LIST TEST_LABELS OR
         build STREQUAL "tsan" AND NOT "tsan" IN_LIST TEST_LABELS)
        continue()
      endif()
      set(folder ${MINFER_TEST_BUILDS}/${build})
      minfer_register_test(${build}.${name} ${folder}/test_${name} ${folder} ${slow_timeout} ${build})
    endforeach()
  endif()
endfunction()

function(minfer_register_test name command folder timeout labels)
  add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY ${folder})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${labels}"
                       ENVIRONMENT "MINFER_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
endfunction()

# minfer_fuzzer(NAME [ROOMS room...] [LIBS library...])
#   The libFuzzer target fuzz_NAME out of fuzz/fuzz_NAME.cc. Seeds lie in fuzz/corpus/NAME, an
#   optional dictionary in fuzz/NAME.dict. `make test` runs each for some seconds, `make fuzz` longer.
function(minfer_fuzzer name)
  cmake_parse_arguments(FUZZER "" "" "ROOMS;LIBS" ${ARGN})
  add_executable(fuzz_${name} fuzz_${name}.cc)
  list(TRANSFORM FUZZER_ROOMS PREPEND minfer_)
  target_link_libraries(fuzz_${name} PRIVATE ${FUZZER_ROOMS} ${FUZZER_LIBS})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${name})
endfunction()
