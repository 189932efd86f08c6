#include "statistics.h"

#include <stdlib.h>

static int compare_ticks(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static int compare_values(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double fast_mean(uint64_t *ticks, size_t count)
{
	size_t kept = (count + 19) / 20;
	double sum = 0;

	qsort(ticks, count, sizeof *ticks, compare_ticks);
	for (size_t i = 0; i < kept; i++)
		sum += (double)ticks[i];
	return sum / (double)kept;
}

uint64_t median_of_ticks(uint64_t *ticks, size_t count)
{
	qsort(ticks, count, sizeof *ticks, compare_ticks);
	return ticks[(count - 1) / 2];
}

double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof *values, compare_values);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
