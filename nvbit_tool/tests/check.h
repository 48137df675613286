// The whole test framework: CHECK counts, test_summary() prints and gives the exit status.
#pragma once

#include <cstdio>
#include <iostream>

namespace test {

inline int passed = 0;
inline int failed = 0;

inline void check(bool ok, const char* what, const char* file, int line) {
    ok ? ++passed : ++failed;
    if (!ok) std::printf("%s:%d: not true: %s\n", file, line, what);
}

template <class A, class B>
void check_equal(const A& a, const B& b, const char* what, const char* file, int line) {
    if (a == b) {
        ++passed;
        return;
    }
    ++failed;
    std::cout << file << ":" << line << ": " << what << ": " << a << " is not " << b << std::endl;
}

inline int summary(const char* name) {
    std::printf("%s: %d passed, %d failed\n", name, passed, failed);
    return failed ? 1 : 0;
}

}  // namespace test

#define CHECK(condition) test::check((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQ(a, b) test::check_equal((a), (b), #a " == " #b, __FILE__, __LINE__)
