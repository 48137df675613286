// Stands in for libnvrtc.so: says which library a program was begun in, and refuses one without text.
#include <cstdio>

extern "C" int nvrtcCreateProgram(void**, const char* text, const char* name, int headers, const char* const*, const char* const*) {
    std::printf("begun in " FAKE_NAME ": %s, %d headers\n", name ? name : "(no name)", headers);
    return text ? 0 : 3;  // NVRTC_ERROR_INVALID_INPUT
}
