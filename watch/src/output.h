// Frames on standard output.
#pragma once

#include <stddef.h>

#include "abi.h"

// A frame's content may come in two parts. Ends the program where nobody reads any more.
void put_frame(enum frame frame, const void* content, size_t bytes);
void put_frame_of(enum frame frame, const void* head, size_t head_bytes, const void* content, size_t bytes);

// A sentence for people.
void put_note(const char* format, ...) __attribute__((format(printf, 1, 2)));

// All that was put is handed on.
void flush_frames(void);

// A growing array of bytes, for content that is collected.
struct buffer {
    char* data;
    size_t bytes, room;
};
void append(struct buffer* buffer, const void* data, size_t bytes);
// Puts a frame of what was collected, if there is anything, and empties it.
void put_buffer(enum frame frame, struct buffer* buffer);
