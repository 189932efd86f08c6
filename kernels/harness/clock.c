#include "clock.h"

#include <time.h>

#include "statistics.h"

enum { OVERHEAD_READINGS = 20001, STEP_READINGS = 20000 };

static uint64_t nanoseconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double ticks_per_second(unsigned milliseconds)
{
	uint64_t first_ns = nanoseconds_now(), last_ns;
	uint64_t first = clock_begin(), last;

	do {
		last_ns = nanoseconds_now();
		last = clock_begin();
	} while (last_ns - first_ns < (uint64_t)milliseconds * 1000000u);
	return (double)(last - first) * 1e9 / (double)(last_ns - first_ns);
}

/* Readings are not fenced, since fences would hide steps shorter than they take. One in some
 * thousands is a tick or two off on virtual machines, so the very smallest advance is not the step:
 * the one that a tenth of all advances do not exceed is. */
static uint64_t usual_step(void)
{
	static uint64_t advances[STEP_READINGS];
	unsigned count = 0;
	uint64_t before = __builtin_ia32_rdtsc();

	for (int i = 0; i < STEP_READINGS; i++) {
		uint64_t now = __builtin_ia32_rdtsc();

		if (now > before)
			advances[count++] = now - before;
		before = now;
	}
	if (count == 0)
		return 1;
	median_of_ticks(advances, count); /* sorts */
	return advances[count / 10];
}

/* The mean, since readings are whole steps of which the overhead is a fraction; interruptions, far
 * above the median, are left out. */
static double mean_overhead(uint64_t step)
{
	static uint64_t readings[OVERHEAD_READINGS];
	double sum = 0;
	unsigned kept = 0;

	for (int i = 0; i < OVERHEAD_READINGS; i++) {
		uint64_t begin = clock_begin();

		readings[i] = clock_end() - begin;
	}
	uint64_t limit = median_of_ticks(readings, OVERHEAD_READINGS) + 4 * step;
	for (int i = 0; i < OVERHEAD_READINGS; i++) {
		if (readings[i] <= limit) {
			sum += (double)readings[i];
			kept++;
		}
	}
	return sum / kept;
}

struct clock_facts clock_measure(unsigned milliseconds)
{
	struct clock_facts facts;

	facts.ticks_per_second = ticks_per_second(milliseconds);
	facts.step = usual_step();
	facts.overhead = mean_overhead(facts.step);
	return facts;
}
