/* A test whose body runs in a scope: IN_SCOPE(test_name) { ... uses s ... } */
#ifndef FERRY_IN_SCOPE_H
#define FERRY_IN_SCOPE_H

#include "core/scope.h"
#include "ferry_test.h"

#define IN_SCOPE(name)                                                                     \
    static void name##_body(scope *s, void *arg);                                          \
    static void name(void **state)                                                         \
    {                                                                                      \
        assert_ok(*state, scope_run(*state, name##_body, NULL));                           \
    }                                                                                      \
    static void name##_body(scope *s, __attribute__((unused)) void *arg)

#endif
