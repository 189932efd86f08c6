#include "buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct arena arena_open(size_t length)
{
	size_t whole = (length + PAGE - 1) / PAGE * PAGE;
	uint8_t *memory = mmap(NULL, whole + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return (struct arena){ NULL, 0 };
	if (mprotect(memory + PAGE, whole, PROT_READ | PROT_WRITE) != 0) {
		munmap(memory, whole + 2 * PAGE);
		return (struct arena){ NULL, 0 };
	}
	/* Small pages everywhere: whether the system has a huge one to spare must not matter. */
	madvise(memory + PAGE, whole, MADV_NOHUGEPAGE);
	memset(memory + PAGE, 0xa5, whole);
	return (struct arena){ memory + PAGE, whole };
}

void arena_close(struct arena *arena)
{
	if (arena->data != NULL)
		munmap(arena->data - PAGE, arena->length + 2 * PAGE);
	*arena = (struct arena){ NULL, 0 };
}

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count + 1, size); /* +1: never a zero-sized request */

	if (memory == NULL) {
		fputs("there is no memory for the harness's tables\n", stderr);
		exit(4);
	}
	return memory;
}
