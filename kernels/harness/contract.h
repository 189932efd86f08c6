/* One code against one contract: every byte inside right, no byte outside touched. */
#ifndef MEMSTRAT_CONTRACT_H
#define MEMSTRAT_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "pack.h"

enum { DETAIL_LENGTH = 256 };

/* What is being tried, kept where a parent process can read it after a crash. */
struct trial {
	volatile uint32_t contract;
	volatile int signal;           /* what ended the child, 0 for nothing */
	uint8_t *volatile fault;       /* the address that the signal is about */
	uint8_t *volatile destination; /* of the call in progress */
	uint8_t *volatile source;      /* NULL for a memset */
};

/* Calls the code at every offset that the contract's alignment allows within a cache line, flush
 * against the guard page before and the one behind, and where the op allows it with overlapping
 * blocks and several fill values. Returns true, or false with the first fault found in `detail`. */
bool contract_holds(code_function code, const struct pack_contract *contract, struct trial *trial,
		    char detail[DETAIL_LENGTH]);

#endif
