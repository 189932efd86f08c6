/* The two estimators inside one process. Arrays are sorted in place. */
#ifndef MEMSTRAT_STATISTICS_H
#define MEMSTRAT_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

/* Mean of the fastest 5 % of `count` >= 1 batches, at least one of them. */
double fast_mean(uint64_t *ticks, size_t count);

/* Lower median of `count` >= 1 values. */
uint64_t median_of_ticks(uint64_t *ticks, size_t count);

/* Median of `count` >= 1 values. */
double median_of(double *values, size_t count);

#endif
