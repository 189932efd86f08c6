/* The hot scenario: cycles per call of all codes of a cell, by the protocol of docs/measurement.md.
 *
 * A round times one batch of every contestant - each code, the byte-identical twin of the baseline
 * (the A/A control), a chain of dependent additions (the clock) and an empty call - in an order drawn
 * anew for each round. All codes make the same number of calls per batch, so that what a batch costs
 * by itself is the same for all. Four untimed calls go before each batch: hot means that code and
 * data are in the caches, also when the cell's codes together are larger than the first of these.
 *
 * Memory: destination at the start of a page; source in pages of its own, 2048 bytes into one, so that
 * (source - destination) mod 4096 = 2048, far from store-to-load aliasing and from the 1..63 bytes at
 * which rep movs pays a fixed price. */
#ifndef MEMSTRAT_MEASURE_H
#define MEMSTRAT_MEASURE_H

#include <stdint.h>

#include "clock.h"
#include "features.h"
#include "pack.h"
#include "place.h"
#include "random.h"

struct protocol {
	uint32_t min_rounds, max_rounds; /* rounds in a cell; min counts for more than the budget */
	uint32_t budget_us;              /* time for a cell's rounds */
	uint32_t batch_ns, batch_steps;  /* the fastest code's batch lasts at least this long */
};

struct session {
	const struct pack *pack;
	const struct placement *placement;
	struct features features;
	struct clock_facts clock;
	struct protocol protocol;
	struct random_state random;
};

/* Catches crashes and hangs inside measured codes from here on. Returns NULL or what went wrong. */
const char *measure_prepare(void);

/* Measures one cell and prints its lines:
 *   {"record": "cell", "cell"}                                      before anything runs
 *   {"record": "dropped", "cell", "code", "reason"}                 crashed, hung, or no such ISA
 *   {"record": "sample", "cell", "code", "twin", "ticks", "paired_ratio", "batches", "calls"}
 *   {"record": "cell_end", "cell", "add_ticks", "empty_ticks", "rounds", "switches", "reason"}
 * Ticks are per call (per addition), the mean of the fastest 5 % of batches, the timer's own overhead
 * taken off. A cell that could not be measured ends with a `reason` and without samples. */
void measure_cell(struct session *session, uint32_t cell_index);

#endif
