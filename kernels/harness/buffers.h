/* Memory for destinations and sources. */
#ifndef MEMSTRAT_BUFFERS_H
#define MEMSTRAT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

enum { PAGE = 4096, CACHE_LINE = 64 };

/* Whole pages between two that cannot be touched. */
struct arena {
	uint8_t *data;
	size_t length;
};

/* At least `length` usable bytes, pre-touched. .data is NULL where there is no memory. */
struct arena arena_open(size_t length);

void arena_close(struct arena *arena);

/* malloc for the harness's own tables: ends the process with a message where there is no memory. */
void *allocate(size_t count, size_t size);

#endif
