/* What a reader must know of the machine to judge its figures. */
#ifndef MEMSTRAT_MACHINE_H
#define MEMSTRAT_MACHINE_H

#include <stdint.h>

#include "clock.h"
#include "features.h"

/* {"record": "machine", ...}: CPU, system, C library, clock. */
void machine_report(const struct features *features, const struct clock_facts *clock);

/* Ticks of all CPUs since boot, as /proc/stat counts them; zeros where it cannot be read. */
struct cpu_time {
	uint64_t total, stolen;
};
struct cpu_time cpu_time_read(void);

double load_now(void);

#endif
