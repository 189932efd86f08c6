/* The time-stamp counter, with the fences that keep the timed work between two readings. */
#ifndef MEMSTRAT_CLOCK_H
#define MEMSTRAT_CLOCK_H

#include <stdint.h>

struct clock_facts {
	double ticks_per_second;
	uint64_t step;   /* by which the counter advances: 26 on some virtual machines */
	double overhead; /* ticks that an empty timed section reads, on average */
};

/* Nothing of the timed work starts before the reading, and all earlier work has ended: lfence waits
 * for earlier instructions, and the second keeps later ones behind rdtsc (Intel SDM, RDTSC). */
static inline uint64_t clock_begin(void)
{
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
	return (uint64_t)high << 32 | low;
}

/* rdtscp waits until all earlier instructions have executed; lfence keeps later ones behind it. */
static inline uint64_t clock_end(void)
{
	uint32_t low, high, processor;

	__asm__ volatile("rdtscp\n\tlfence" : "=a"(low), "=d"(high), "=c"(processor)::"memory");
	return (uint64_t)high << 32 | low;
}

/* Takes about `milliseconds`, busy. */
struct clock_facts clock_measure(unsigned milliseconds);

#endif
