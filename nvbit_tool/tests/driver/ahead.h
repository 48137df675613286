// A program that runs further ahead of its kernels than the collector has counters for.
#pragma once

// `they_end`: its kernels do, once a launch waits for them. Else they go on for as long as any launch waits, as kernels do that themselves
// wait for a later launch.
void run_ahead(bool they_end);
