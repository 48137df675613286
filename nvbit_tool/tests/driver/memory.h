#pragma once

// Set on each thread of the collector's by NVBit's stand-in, to which they are named.
extern thread_local bool thread_is_the_collectors;
