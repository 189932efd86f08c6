/* Codes in executable memory. One binary is one sample of layout, and layout moves results by
 * several percent (Mytkowicz et al., ASPLOS 2009); so each process lays its codes out anew: random
 * order, each on a cache line of its own, random padding of up to a page between them. */
#ifndef MEMSTRAT_PLACE_H
#define MEMSTRAT_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "calls.h"
#include "pack.h"
#include "random.h"

struct placement {
	code_function *codes; /* by index of code */
	code_function *twins; /* the same bytes placed a second time, for baselines; else NULL */
	code_function empty;  /* a `ret` */
	calls_function calls; /* memstrat_calls, near the codes */
	void *region;
	size_t region_length;
};

/* Places all codes of the pack, patches their relocated fields and makes the region executable and
 * no longer writable. Returns NULL or what went wrong. */
const char *place_codes(const struct pack *pack, struct random_state *random,
			struct placement *placement);

void place_free(struct placement *placement);

#endif
