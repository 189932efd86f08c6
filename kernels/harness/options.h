/* The command line: `harness COMMAND [--name VALUE]...`. */
#ifndef MEMSTRAT_OPTIONS_H
#define MEMSTRAT_OPTIONS_H

#include <stdint.h>

#include "measure.h"

enum command { COMMAND_LIST, COMMAND_MACHINE, COMMAND_VERIFY, COMMAND_MEASURE };

struct options {
	enum command command;
	uint64_t seed;
	int64_t cpu;         /* -1: not pinned */
	uint64_t limit_ms;   /* verify: CPU time of one contract */
	const char *indices; /* contracts or cells, "0-9,12"; NULL: all */
	struct protocol protocol;
};

/* Returns NULL or what is wrong; `*options` then means nothing. */
const char *options_parse(int count, char **arguments, struct options *options);

/* Takes the next "first-last" or "index" of a list and moves *list on. False at its end, and where
 * the list is malformed or reaches beyond `limit` (*wrong is then set). */
struct range {
	uint32_t first, last; /* last is one behind */
};
_Bool options_next_range(const char **list, uint32_t limit, struct range *range, const char **wrong);

#endif
