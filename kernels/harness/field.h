/* One cell while it is measured: who takes part, in which memory, and what is printed of it. */
#ifndef MEMSTRAT_FIELD_H
#define MEMSTRAT_FIELD_H

#include <stdbool.h>
#include <stdint.h>

#include "buffers.h"
#include "calls.h"
#include "measure.h"

enum role { ROLE_CODE, ROLE_TWIN, ROLE_CHAIN, ROLE_EMPTY };

struct contestant {
	enum role role;
	uint32_t code;
	code_function function;
	uint64_t loops; /* of the trampoline, or of the chain, per batch */
};

struct field {
	const struct pack_cell *cell;
	uint32_t index;
	struct contestant *contestants;
	uint32_t count;
	uint32_t *order;
	uint64_t *ticks; /* [contestant][round], max_rounds apart */
	uint32_t rounds;
	struct arena destination, source;
	void *first;
	uintptr_t second;
	int64_t switches;
};

/* Maps the buffers and allocates what a cell of this size needs; frees what is there where false. */
bool field_open(const struct session *session, struct field *field);
void field_close(struct field *field);

/* Enters every code that this CPU can run, the baseline's twin, the chain and the empty call. */
void field_collect(const struct session *session, struct field *field);

/* The baseline's place among the contestants, or `count`. */
uint32_t field_baseline(const struct field *field);

/* The lines of a cell, see measure.h. */
void field_report_dropped(const struct field *field, uint32_t code, const char *reason);
void field_report_samples(const struct session *session, struct field *field, uint32_t baseline);
void field_end(const struct field *field, double add_ticks, double empty_ticks, const char *reason);

#endif
