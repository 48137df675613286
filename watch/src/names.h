// The driver functions that are watched, by number.
#pragma once

#include "abi.h"

// Fills the table that the BPF program reads. Functions that come later are only counted: their rows are 0.
void fill_functions(struct function* table);

// A function's number; -1 for one that is not followed. With `every`, those that are not get numbers as they come.
int number_of(const char* name, int every);

// The number of the newest version of a function, whose name is without a version; -1 for none.
int newest_of(const char* name);

// Whether it only tells a program where it is.
int is_question(int number);

int named_functions(void);
const char* name_of_function(int number);
