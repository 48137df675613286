// The tables of a trace, declared once. Row structs, their encoding and the schema in the header all come from these lists; Python
// builds its dtypes from the header, and docs/tables.md is generated from it.
//
// A column is C(name, type, unit, role, doc). Types: u1 u2 u4 u8 i4 i8, delta4 and delta8 (a u8, stored in 4 or 8 bytes as the difference
// from the row before), delta8x32 (an array of 32 of them), utf8 (a std::string). The role is of role.h, or {}: a plain number or string.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/role.h"

namespace snoopie {

using u1 = uint8_t;
using u2 = uint16_t;
using u4 = uint32_t;
using u8 = uint64_t;
using i4 = int32_t;
using i8 = int64_t;
using utf8 = std::string;

// delta4: the values of a block lie within 2^32 of each other; the writer begins a new block where they would not.
template <size_t Bytes>
struct Delta {
    u8 value = 0;
    Delta() = default;
    constexpr Delta(u8 number) : value(number) {}
};
using delta4 = Delta<4>;
using delta8 = Delta<8>;
using delta8x32 = std::array<delta8, 32>;

constexpr int kFormatVersion = 4;

#define SNOOPIE_STRINGS(C)                                        \
    C(id, u4, "", role::id, "1, 2, 3, … in the order of writing") \
    C(text, utf8, "", {}, "the string")

#define SNOOPIE_LINES(C)                                                                                     \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                                    \
    C(file, u4, "", role::row_or_none("strings"), "source file, as the compiler recorded it")                \
    C(line, u4, "", {}, "line number, from 1")                                                               \
    C(function, u4, "", role::row_or_none("strings"), "inlined function that the line belongs to, 0 = none") \
    C(inlined_at, u4, "", role::row_or_none("lines"), "the line that this one was inlined at, 0 = not inlined")

#define SNOOPIE_FUNCTIONS(C)                                                                                      \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                                         \
    C(name, u4, "", role::row_or_none("strings"), "demangled name")                                               \
    C(mangled, u4, "", role::row_or_none("strings"), "mangled name")                                              \
    C(kernel, u1, "", role::flag, "1 = a kernel, 0 = a device function that kernels call")                        \
    C(has_lines, u1, "", role::flag,                                                                              \
      "1 = its source lines are known, 0 = unknown: compile with nvcc -lineinfo, record with CODE_ATTRIBUTION=1") \
    C(first_site, u4, "", role::optional(role::later_row("sites")), "id of its first site, 0 = it has none")      \
    C(sites, u4, "", role::optional({}), "number of its sites; their ids are consecutive")

#define SNOOPIE_SITES(C)                                                                               \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                              \
    C(function, u4, "", role::row("functions"), "function that holds the instruction")                 \
    C(offset, u4, "bytes", {}, "offset of the instruction in the function")                            \
    C(sass, u4, "", role::row_or_none("strings"), "the instruction as disassembled")                   \
    C(opcode, u4, "", role::row_or_none("strings"), "its full opcode")                                 \
    C(operation, u1, "", role::operations,                                                             \
      "index in the header's operations: load, store, atomic (returns a value), reduction (does not)") \
    C(width, u1, "bytes", {}, "bytes each lane accesses, 0 = unknown")                                 \
    C(measured, u1, "", role::flag, "1 = counted, 0 = this version cannot measure it")                 \
    C(line, u4, "", role::row_or_none("lines"), "source line, 0 = unknown")                            \
    C(wire_unit, u1, "bytes", role::optional({}),                                                      \
      "bytes that NVLink moves at a time for it: 32 of what is read, 16 of what is written; 0 = 32")

#define SNOOPIE_MODULES(C)                                                              \
    C(id, u4, "", role::id, "1, 2, 3, …")                                               \
    C(path, u4, "", role::row_or_none("strings"), "file that the code was loaded from") \
    C(build_id, u4, "", role::row_or_none("strings"), "its build id in hexadecimal, 0 = it has none")

#define SNOOPIE_FRAMES(C)                                                                                                   \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                                                   \
    C(module, u4, "", role::row_or_none("modules"), "the file that holds the code, 0 = a Python frame, or code in no file") \
    C(address, u8, "bytes", role::address, "of the call, as in the file; 0 = a Python frame")

#define SNOOPIE_STACKS(C)                                        \
    C(id, u4, "", role::id, "1, 2, 3, …")                        \
    C(frame, u4, "", role::row("frames"), "the innermost frame") \
    C(caller, u4, "", role::row_or_none("stacks"), "the stack without it, 0 = it is the outermost")

// What a frame is: looked up when the process ends, or at once for Python.
#define SNOOPIE_SYMBOLS(C)                                                                        \
    C(frame, u4, "", role::row("frames"), "the frame")                                            \
    C(level, u1, "", {}, "0 = the innermost function; each higher one has the one below inlined") \
    C(function, u4, "", role::row_or_none("strings"), "demangled name, 0 = unknown")              \
    C(file, u4, "", role::row_or_none("strings"), "source file, 0 = unknown")                     \
    C(line, u4, "", {}, "line number, 0 = unknown")                                               \
    C(code, u4, "", role::row_or_none("strings"), "the source text there, 0 = it could not be read")

// What is known of every launch, measured or not.
#define SNOOPIE_LAUNCH_CALL(C)                               \
    C(gpu, u1, "", role::gpu, "issuer: the GPU that ran it") \
    C(stream, u8, "", role::handle, "CUDA stream handle")    \
    C(thread, u4, "", {}, "host thread that launched it")    \
    C(time, u8, "ns", {}, "host time of the launch call")    \
    C(grid_x, u4, "blocks", {}, "grid size in x")            \
    C(grid_y, u4, "blocks", {}, "grid size in y")            \
    C(grid_z, u4, "blocks", {}, "grid size in z")            \
    C(block_x, u4, "threads", {}, "block size in x")         \
    C(block_y, u4, "threads", {}, "block size in y")         \
    C(block_z, u4, "threads", {}, "block size in z")

#define SNOOPIE_LAUNCHES(C)                                                                                 \
    C(id, u4, "", role::id, "rising in the order of launching")                                             \
    C(function, u4, "", role::row("functions"), "the kernel")                                               \
    SNOOPIE_LAUNCH_CALL(C)                                                                                  \
    C(shared_memory, u4, "bytes", {}, "dynamic shared memory of a block")                                   \
    C(group, u4, "", role::optional(role::group), "the group of collectives that it carries out, 0 = none") \
    C(stack, u4, "", role::optional(role::row_or_none("stacks")), "who launched it, 0 = unknown")           \
    C(code, u1, "", role::optional(role::codes),                                                            \
      "index in the header's codes: full, partial (probes only where an access may leave its GPU) or original (none; it has no counts)")

#define SNOOPIE_COUNTS(C)                                                                                                               \
    C(launch, u4, "", role::row("launches"), "the launch")                                                                              \
    C(site, u4, "", role::row("sites"), "the instruction")                                                                              \
    C(owner, u1, "", role::owner, "whose memory was touched; unknown for sites that are not measured: how often they ran")              \
    C(accesses, u8, "", {}, "executions by a warp that touched this owner")                                                             \
    C(lanes, u8, "", {}, "active threads of these; of a bulk or tensor copy, which one thread issues: units of the site's width moved") \
    C(wire_units, u8, "", {}, "distinct pieces of the site's wire_unit touched, each aligned to its size, summed over the accesses")    \
    C(object, u4, "", role::optional(role::row_or_none("objects")),                                                                     \
      "the allocation touched, 0 = several at once, or not distinguishable from others of this owner")

#define SNOOPIE_SAMPLING(C)                                       \
    C(function, u4, "", role::row("functions"), "the kernel")     \
    C(gpu, u1, "", role::gpu, "issuer: the GPU that ran it")      \
    C(launches, u8, "", {}, "launches of the kernel on this GPU") \
    C(measured, u8, "", {}, "of these, measured launches; counts cover only them")

// What many accesses have in common; a record has only the place and the time.
#define SNOOPIE_PATTERNS(C)                                              \
    C(id, u4, "", role::id, "1, 2, 3, …, without a gap")                 \
    C(launch, u4, "", role::row("launches"), "the launch")               \
    C(site, u4, "", role::row("sites"), "the instruction")               \
    C(issuer, u1, "", role::gpu, "GPU that executed it")                 \
    C(owner, u1, "", role::owner, "whose memory was touched")            \
    C(mask, u4, "", {}, "lanes that touched this owner, bit 0 = lane 0") \
    C(stride, i8, "bytes", {}, "of records: address of lane i = base + stride × (i − lowest lane in the mask)")

#define SNOOPIE_PATTERN(C) C(pattern, u4, "", role::row("patterns"), "launch, instruction, GPUs and lanes")

#define SNOOPIE_MOMENT(C)                                     \
    C(time, delta4, "ns", {}, "device time (globaltimer)")    \
    C(block, delta4, "", {}, "linear block index, x fastest") \
    C(warp, u1, "", {}, "warp within the block")              \
    C(sm, u2, "", role::optional({}), "1 + number of the streaming multiprocessor, 0 = unknown")

#define SNOOPIE_RECORDS(C)                                                            \
    SNOOPIE_PATTERN(C)                                                                \
    C(base, delta8, "bytes", role::address, "address of the lowest lane in the mask") \
    SNOOPIE_MOMENT(C)

#define SNOOPIE_SCATTERED(C) \
    SNOOPIE_PATTERN(C)       \
    SNOOPIE_MOMENT(C)        \
    C(addresses, delta8x32, "bytes", role::address, "address of each lane; undefined for a lane that is not in the mask")

#define SNOOPIE_BULK(C)                                                                                   \
    SNOOPIE_PATTERN(C)                                                                                    \
    C(base, delta8, "bytes", role::address, "first address; of a tensor box, that of its lowest element") \
    SNOOPIE_MOMENT(C)                                                                                     \
    C(bytes, u8, "bytes", {}, "bytes moved")

#define SNOOPIE_COPIES(C)                                                                                 \
    C(id, u4, "", role::id, "1, 2, 3, … in the order of their ends")                                      \
    C(kind, u1, "", role::copy_kinds, "index in the header's copy_kinds")                                 \
    C(call, u4, "", role::row_or_none("strings"), "the driver call, or the call that launched the graph") \
    C(source, u1, "", role::owner, "owner of the memory read")                                            \
    C(destination, u1, "", role::owner, "owner of the memory written")                                    \
    C(source_address, u8, "bytes", role::address, "first address read, 0 for an array")                   \
    C(destination_address, u8, "bytes", role::address, "first address written, 0 for an array")           \
    C(bytes, u8, "bytes", {}, "bytes moved; of a prefetch, bytes requested")                              \
    C(gpu, u1, "", role::gpu_or_unknown, "issuer: the GPU of the context or stream that carries it out")  \
    C(stream, u8, "", role::handle, "CUDA stream handle")                                                 \
    C(thread, u4, "", {}, "host thread that called")                                                      \
    C(start, u8, "ns", {}, "host time when the call began")                                               \
    C(end, u8, "ns", {}, "host time when the call returned; an asynchronous copy may still run")          \
    C(stack, u4, "", role::optional(role::row_or_none("stacks")), "who called, 0 = unknown")

#define SNOOPIE_COLLECTIVES(C)                                                                                  \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                                       \
    C(group, u4, "", role::group, "calls between ncclGroupStart and ncclGroupEnd share one; launches name it")  \
    C(operation, u4, "", role::row_or_none("strings"), "AllReduce, Send, …: the call's name without nccl")      \
    C(reduction, u4, "", role::row_or_none("strings"), "sum, prod, max, min, avg, custom; 0 = does not reduce") \
    C(type, u4, "", role::row_or_none("strings"), "element type, 0 = unknown")                                  \
    C(count, i8, "", {}, "elements, as the call was given them; -1 = unknown")                                  \
    C(bytes, i8, "bytes", {}, "size of the larger of this rank's buffers; -1 = unknown")                        \
    C(peer, i4, "", {}, "root, or peer of a send or receive; -1 = has none")                                    \
    C(communicator, u8, "", role::handle, "equal in all its processes if it was created from a unique id")      \
    C(rank, u4, "", {}, "this rank in the communicator")                                                        \
    C(ranks, u4, "", {}, "number of ranks; 0 = unknown, and so is the rank")                                    \
    C(gpu, u1, "", role::gpu_or_unknown, "GPU of this rank")                                                    \
    C(stream, u8, "", role::handle, "CUDA stream handle, 0 = unknown")                                          \
    C(thread, u4, "", {}, "host thread that called")                                                            \
    C(start, u8, "ns", {}, "host time when the call began")                                                     \
    C(end, u8, "ns", {}, "host time when the call returned")

#define SNOOPIE_SETS(C)                                                                                           \
    C(owner, u1, "", role::set, "the multicast object's value in columns of owners, from the header's first_set") \
    C(gpu, u1, "", role::gpu_or_unknown, "a member; unknown = members that other processes added")

#define SNOOPIE_OBJECTS(C)                                                                                           \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                                            \
    C(address, u8, "bytes", role::address, "first address")                                                          \
    C(bytes, u8, "bytes", {}, "size asked for")                                                                      \
    C(owner, u1, "", role::owner, "whose memory it is")                                                              \
    C(kind, u1, "", role::object_kinds, "index in the header's object_kinds")                                        \
    C(time, u8, "ns", {}, "host time when the allocation was complete")                                              \
    C(thread, u4, "", role::optional({}), "host thread that called")                                                 \
    C(call, u4, "", role::optional(role::row_or_none("strings")), "the call that made it")                           \
    C(stack, u4, "", role::optional(role::row_or_none("stacks")), "who called, 0 = unknown")                         \
    C(inside, u4, "", role::optional(role::row_or_none("objects")), "the allocation that it is a part of, 0 = none") \
    C(name, u4, "", role::optional(role::row_or_none("strings")), "the variable that it is or that holds it, 0 = unknown")

#define SNOOPIE_FREES(C)                                             \
    C(object, u4, "", role::row("objects"), "the object freed")      \
    C(time, u8, "ns", {}, "host time of the free")                   \
    C(thread, u4, "", role::optional({}), "host thread that called") \
    C(by, u1, "", role::optional(role::flag), "0 = a call, 1 = the end of its context")

// The rows of one (call, kernel, thread, gpu, direction) have to be added up: each covers the time since the one before.
#define SNOOPIE_CALL_TOTALS(C)                                                                      \
    C(time, u8, "ns", {}, "host time up to which the row counts")                                   \
    C(call, u4, "", role::row_or_none("strings"), "the driver call")                                \
    C(kernel, u4, "", role::row_or_none("strings"), "of a launch: demangled name of the kernel")    \
    C(thread, u4, "", {}, "host thread that called")                                                \
    C(gpu, u1, "", role::gpu_or_unknown, "GPU of the context that was current; unknown = none")     \
    C(direction, u1, "", role::directions, "index in the header's directions")                      \
    C(calls, u8, "", {}, "number of calls that returned")                                           \
    C(errors, u8, "", {}, "of these, those that failed")                                            \
    C(total, u8, "ns", {}, "host time in the calls")                                                \
    C(least, u8, "ns", {}, "the shortest; above the longest: neither is known, in imported traces") \
    C(most, u8, "ns", {}, "the longest")                                                            \
    C(bytes, u8, "bytes", {}, "bytes copied, set or allocated by the calls that succeeded")

#define SNOOPIE_CALL_TIMES(C)                                                                   \
    C(call, u4, "", role::row_or_none("strings"), "the driver call")                            \
    C(thread, u4, "", {}, "host thread that called")                                            \
    C(gpu, u1, "", role::gpu_or_unknown, "GPU of the context that was current; unknown = none") \
    C(log2, u1, "", role::log2, "calls that took at least 2^log2 ns and less than twice that")  \
    C(calls, u8, "", {}, "number of calls; add up the rows")

#define SNOOPIE_CALL_ERRORS(C)                                                                  \
    C(call, u4, "", role::row_or_none("strings"), "the driver call")                            \
    C(thread, u4, "", {}, "host thread that called")                                            \
    C(gpu, u1, "", role::gpu_or_unknown, "GPU of the context that was current; unknown = none") \
    C(code, i4, "", {}, "what it returned")                                                     \
    C(name, u4, "", role::row_or_none("strings"), "the driver's name for it")                   \
    C(calls, u8, "", {}, "number of calls; add up the rows")

#define SNOOPIE_CALLS(C)                                                                         \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                        \
    C(call, u4, "", role::row_or_none("strings"), "the driver call")                             \
    C(kernel, u4, "", role::row_or_none("strings"), "of a launch: demangled name of the kernel") \
    C(thread, u4, "", {}, "host thread that called")                                             \
    C(gpu, u1, "", role::gpu_or_unknown, "GPU of the context that was current; unknown = none")  \
    C(direction, u1, "", role::directions, "index in the header's directions")                   \
    C(start, u8, "ns", {}, "host time when the call began")                                      \
    C(end, u8, "ns", {}, "host time when the call returned; 0 = unknown, in imported traces")    \
    C(code, i4, "", {}, "what it returned, 0 = success")                                         \
    C(bytes, u8, "bytes", {}, "bytes copied, set or allocated; 0 if it failed")

#define SNOOPIE_SPANS(C)                                                                                        \
    C(launch, u4, "", role::row("launches"), "the launch")                                                      \
    C(start, u8, "ns", {}, "when the GPU reached it, in host time; an idle GPU begins to run it some µs later") \
    C(end, u8, "ns", {}, "when it ended")

#define SNOOPIE_MEMORY_USE(C)                                                                                     \
    C(time, u8, "ns", {}, "host time")                                                                            \
    C(gpu, u1, "", role::gpu, "the GPU")                                                                          \
    C(used, i8, "bytes", {}, "memory in use on the GPU by all processes, as the driver reports it; -1 = unknown") \
    C(own, i8, "bytes", {}, "of this, by this process; -1 = unknown")                                             \
    C(pool_reserved, i8, "bytes", {}, "held by memory pools of this process; -1 = unknown")                       \
    C(pool_used, i8, "bytes", {}, "of this, handed out; -1 = unknown")

#define SNOOPIE_NOTICES(C)             \
    C(time, u8, "ns", {}, "host time") \
    C(text, utf8, "", {}, "what a reader of this trace should know: a sentence and a remedy")

#define SNOOPIE_SOURCES(C)                                                                                                     \
    C(id, u4, "", role::id, "1, 2, 3, …")                                                                                      \
    C(file, u4, "", role::row("strings"), "source file, as in `lines`")                                                        \
    C(text, utf8, "", {}, "its text when code from it was first launched")                                                     \
    C(same_as, u4, "", role::row_or_none("source_files"), "a file with the same text, which stands there; 0 = it stands here") \
    C(bytes, u8, "bytes", {}, "size of the file; 0 if it was empty, or no text that could be read")                            \
    C(kept, u1, "", role::flag, "1 if the text is in the trace; 0 if it could not be read, or is larger than what a trace keeps")

// Launches that have no row among the launches.
#define SNOOPIE_UNMEASURED(C)                                                                                   \
    C(kernel, u4, "", role::row_or_none("strings"), "demangled name of the kernel")                             \
    SNOOPIE_LAUNCH_CALL(C)                                                                                      \
    C(start, u8, "ns", {}, "when the GPU reached it, in host time; an idle GPU begins to run it some µs later") \
    C(end, u8, "ns", {}, "when it ended")

// Of other tools' recordings: the collector writes none.
#define SNOOPIE_BARRIERS(C)                                 \
    C(gpu, u1, "", role::gpu, "the GPU")                    \
    C(stream, u8, "", role::handle, "its queue")            \
    C(start, u8, "ns", {}, "when the queue reached it")     \
    C(end, u8, "ns", {}, "when what it waits for was done") \
    C(name, u4, "", role::row_or_none("strings"), "what the tool calls it, 0 = nothing")

#define SNOOPIE_MARKS(C)                                                                                \
    C(time, u8, "ns", {}, "when, as exactly as the tool says: that of the record after it, or its own") \
    C(text, u4, "", role::row_or_none("strings"), "what the program printed or named it")               \
    C(thread, u4, "", role::optional({}), "host thread that marked it, 0 = unknown")                    \
    C(domain, u4, "", role::optional(role::row_or_none("strings")), "the domain of its name, 0 = the default one")

#define SNOOPIE_RANGES(C)                                                                          \
    C(id, u4, "", role::id, "1, 2, 3, … in the order of ending")                                   \
    C(thread, u4, "", {}, "host thread that began it")                                             \
    C(start, u8, "ns", {}, "when it began, host time")                                             \
    C(end, u8, "ns", {}, "when it ended, 0 = it had not when the recording ended")                 \
    C(name, u4, "", role::row_or_none("strings"), "what the program calls it")                     \
    C(domain, u4, "", role::row_or_none("strings"), "the domain of its name, 0 = the default one") \
    C(pushed, u1, "", role::flag, "1 = pushed and popped by its thread, and of it; 0 = started and ended, of the whole process")

// What a warp does from the first poll that finds nothing new to the one that does is a wait.
#define SNOOPIE_WAITS(C)                                                                                                                \
    C(launch, u4, "", role::row("launches"), "the launch")                                                                              \
    C(site, u4, "", role::row("sites"), "the instruction that polls; of several in one loop the first")                                 \
    C(block, u8, "", {}, "linear block index, x fastest; of several the first")                                                         \
    C(blocks, u8, "blocks", {}, "thread blocks from there on that the row adds up: several where a launch has too many for a row each") \
    C(owner, u1, "", role::owner, "whose memory is polled")                                                                             \
    C(object, u4, "", role::row_or_none("objects"), "the allocation polled, 0 = unknown")                                               \
    C(address, u8, "bytes", role::address, "the address polled last, 0 = unknown")                                                      \
    C(waits, u8, "", {}, "how often a warp waited")                                                                                     \
    C(given_up, u8, "", {}, "of these, waits that did not end by the value: by a timeout, or not before the kernel or the trace")       \
    C(polls, u8, "", {}, "polls that found nothing new")                                                                                \
    C(first, u8, "ns", {}, "device time (globaltimer) when the first wait began")                                                       \
    C(last, u8, "ns", {}, "device time when the last one ended")                                                                        \
    C(waited, u8, "ns", {}, "time that warps waited, added up; instrumented")                                                           \
    C(longest, u8, "ns", {}, "the longest wait")                                                                                        \
    C(held, u8, "ns", role::optional({}),                                                                                               \
      "time in which a warp of the block waited that no other row counts: a block's rows add up to how long it had waiting warps")

// With WAITS=on. A warp's access is noted when it is issued: what a store or a bulk copy moves can arrive later.
#define SNOOPIE_MOVES(C)                                                                                                              \
    C(launch, u4, "", role::row("launches"), "the launch")                                                                            \
    C(site, u4, "", role::row("sites"), "the instruction")                                                                            \
    C(block, u8, "", {}, "linear block index, x fastest; of several the first")                                                       \
    C(blocks, u8, "blocks", {}, "thread blocks from there on that the row is of: several where a launch has too many for a row each") \
    C(accesses, u8, "", {}, "accesses to memory of other GPUs or the host")                                                           \
    C(first, u8, "ns", {}, "device time (globaltimer) of the first")                                                                  \
    C(last, u8, "ns", {}, "device time of the last")

// Whether every trace has the table.
constexpr bool kRequired = true, kOptional = false;

// T(table, Row, COLUMNS, required, doc); a table's id is its place here, from 2 (0 is the header, 1 the footer).
#define SNOOPIE_TABLES(T)                                                                                                               \
    T(strings, StringRow, SNOOPIE_STRINGS, kRequired, "interned strings")                                                               \
    T(lines, LineRow, SNOOPIE_LINES, kRequired, "source lines, each with the line it was inlined at")                                   \
    T(functions, FunctionRow, SNOOPIE_FUNCTIONS, kRequired, "instrumented kernels and the device functions they call")                  \
    T(sites, SiteRow, SNOOPIE_SITES, kRequired, "static memory instructions")                                                           \
    T(sets, SetRow, SNOOPIE_SETS, kOptional, "GPUs of multicast objects")                                                               \
    T(modules, ModuleRow, SNOOPIE_MODULES, kOptional, "files that the program's code was loaded from")                                  \
    T(frames, FrameRow, SNOOPIE_FRAMES, kOptional, "places in the program from which calls were made")                                  \
    T(stacks, StackRow, SNOOPIE_STACKS, kOptional, "call stacks: a frame and the stack of its caller")                                  \
    T(symbols, SymbolRow, SNOOPIE_SYMBOLS, kOptional, "functions and source lines of frames")                                           \
    T(objects, ObjectRow, SNOOPIE_OBJECTS, kOptional, "allocations")                                                                    \
    T(frees, FreeRow, SNOOPIE_FREES, kOptional, "ends of allocations")                                                                  \
    T(launches, LaunchRow, SNOOPIE_LAUNCHES, kRequired, "measured launches; without counts if the call failed or its end was not seen") \
    T(counts, CountRow, SNOOPIE_COUNTS, kRequired, "exact totals per launch, site, owner and object")                                   \
    T(sampling, SamplingRow, SNOOPIE_SAMPLING, kOptional, "kernels of which only some launches were measured")                          \
    T(patterns, PatternRow, SNOOPIE_PATTERNS, kOptional, "what many single accesses have in common")                                    \
    T(records, RecordRow, SNOOPIE_RECORDS, kOptional, "single accesses whose lanes are evenly spaced")                                  \
    T(scattered, ScatteredRow, SNOOPIE_SCATTERED, kOptional, "single accesses whose lanes are not")                                     \
    T(bulk, BulkRow, SNOOPIE_BULK, kOptional, "single bulk and tensor copies by a kernel")                                              \
    T(copies, CopyRow, SNOOPIE_COPIES, kOptional, "copies started by the host whose ends lie on different GPUs, or on host and GPU")    \
    T(collectives, CollectiveRow, SNOOPIE_COLLECTIVES, kOptional, "NCCL calls")                                                         \
    T(spans, SpanRow, SNOOPIE_SPANS, kOptional, "when launches ran on their GPUs, with their probes; graphs' nodes have none")          \
    T(call_totals, CallTotalRow, SNOOPIE_CALL_TOTALS, kOptional, "driver calls, summed")                                                \
    T(call_times, CallTimeRow, SNOOPIE_CALL_TIMES, kOptional, "driver calls by how long they took")                                     \
    T(call_errors, CallErrorRow, SNOOPIE_CALL_ERRORS, kOptional, "driver calls that failed")                                            \
    T(calls, CallRow, SNOOPIE_CALLS, kOptional, "single driver calls, with CALLS=all")                                                  \
    T(memory_use, MemoryUseRow, SNOOPIE_MEMORY_USE, kOptional, "memory in use, as the driver reports it")                               \
    T(notices, NoticeRow, SNOOPIE_NOTICES, kOptional, "remarks of the collector")                                                       \
    T(source_files, SourceRow, SNOOPIE_SOURCES, kOptional, "source files with lines that reached other memory")                         \
    T(barriers, BarrierRow, SNOOPIE_BARRIERS, kOptional, "barriers that queues of GPUs waited at, as other tools record them")          \
    T(marks, MarkRow, SNOOPIE_MARKS, kOptional, "moments that the program marked")                                                      \
    T(unmeasured_launches, UnmeasuredRow, SNOOPIE_UNMEASURED, kOptional, "launches that were not measured, with TIMES=all")             \
    T(ranges, RangeRow, SNOOPIE_RANGES, kOptional, "times that the program named: NVTX ranges and regions")                             \
    T(waits, WaitRow, SNOOPIE_WAITS, kOptional,                                                                                         \
      "what kernels waited for, with WAITS=on: per launch, instruction, thread block and object")                                       \
    T(moves, MoveRow, SNOOPIE_MOVES, kOptional, "when thread blocks accessed other memory, with WAITS=on: per launch and instruction")

enum class Table : uint32_t {
    header = 0,
    footer = 1,
#define SNOOPIE_ENUM(table, Row, COLUMNS, required, doc) table,
    SNOOPIE_TABLES(SNOOPIE_ENUM)
#undef SNOOPIE_ENUM
        end
};

constexpr size_t kTables = static_cast<size_t>(Table::end);

// The rows of a block of these tables stand in the order of their first two columns: neighbours are alike, which compresses.
constexpr bool is_sorted(Table table) { return table == Table::records || table == Table::bulk; }

// One row struct per table, with for_each_column(row, visit) to walk its values in the declared order.
#define SNOOPIE_FIELD(name, type, unit, role, doc) type name{};
#define SNOOPIE_VISIT(name, type, unit, role, doc) visit(column++, row.name);
#define SNOOPIE_ROW(table, Row, COLUMNS, required, doc)   \
    struct Row {                                          \
        static constexpr Table kTable = Table::table;     \
        COLUMNS(SNOOPIE_FIELD)                            \
    };                                                    \
    template <class Visit>                                \
    void for_each_column(const Row& row, Visit&& visit) { \
        size_t column = 0;                                \
        COLUMNS(SNOOPIE_VISIT)                            \
    }
SNOOPIE_TABLES(SNOOPIE_ROW)
#undef SNOOPIE_ROW
#undef SNOOPIE_VISIT
#undef SNOOPIE_FIELD

struct Column {
    const char* name;
    const char* type;
    const char* unit;
    role::Role role;
    const char* doc;
};

struct TableSchema {
    Table id;
    const char* name;
    bool required;
    const char* doc;
    std::vector<Column> columns;
};

const std::vector<TableSchema>& schema();

// The "schema" member of the header, as JSON.
std::string schema_json();

}  // namespace snoopie
