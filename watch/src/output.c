#include "output.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put(const void* data, size_t bytes) {
    // Whoever started this has gone: there is nobody to watch for.
    if (bytes && fwrite(data, 1, bytes, stdout) != bytes) _Exit(1);
}

void put_frame_of(enum frame frame, const void* head, size_t head_bytes, const void* content, size_t bytes) {
    struct frame_header header = {frame, (__u32)(head_bytes + bytes)};
    put(&header, sizeof(header));
    put(head, head_bytes);
    put(content, bytes);
}

void put_frame(enum frame frame, const void* content, size_t bytes) { put_frame_of(frame, NULL, 0, content, bytes); }

void put_note(const char* format, ...) {
    char text[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof(text), format, values);
    va_end(values);
    put_frame(FRAME_NOTE, text, strlen(text));
}

void flush_frames(void) {
    if (fflush(stdout)) _Exit(1);
}

void append(struct buffer* buffer, const void* data, size_t bytes) {
    if (buffer->bytes + bytes > buffer->room) {
        buffer->room = 2 * (buffer->bytes + bytes);
        buffer->data = realloc(buffer->data, buffer->room);
        if (!buffer->data) {
            fprintf(stderr, "snoopie_watch: out of memory\n");
            _Exit(1);
        }
    }
    memcpy(buffer->data + buffer->bytes, data, bytes);
    buffer->bytes += bytes;
}

void put_buffer(enum frame frame, struct buffer* buffer) {
    if (buffer->bytes) put_frame(frame, buffer->data, buffer->bytes);
    buffer->bytes = 0;
}
