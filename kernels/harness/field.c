#include "field.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "statistics.h"

enum { SOURCE_OFFSET = 2048, FILL_VALUE = 0xa7 };

static void add_contestant(struct field *field, enum role role, uint32_t code,
			   code_function function)
{
	field->contestants[field->count++] =
		(struct contestant){ .role = role, .code = code, .function = function };
}

void field_collect(const struct session *session, struct field *field)
{
	const struct pack *pack = session->pack;
	const struct pack_cell *cell = field->cell;
	enum isa isa = features_isa(&session->features);

	for (uint32_t i = 0; i < cell->member_count; i++) {
		uint32_t code = pack->members[cell->member_first + i];
		enum isa needed = pack->codes[code].isa;
		char reason[64];

		if (needed <= isa) {
			add_contestant(field, ROLE_CODE, code, session->placement->codes[code]);
			if (code == cell->baseline)
				add_contestant(field, ROLE_TWIN, code,
					       session->placement->twins[code]);
		} else {
			snprintf(reason, sizeof reason, "this CPU has no %s", isa_name(needed));
			field_report_dropped(field, code, reason);
		}
	}
	add_contestant(field, ROLE_CHAIN, 0, NULL);
	add_contestant(field, ROLE_EMPTY, 0, session->placement->empty);
}

uint32_t field_baseline(const struct field *field)
{
	uint32_t i = 0;

	while (i < field->count && (field->contestants[i].role != ROLE_CODE ||
				    field->contestants[i].code != field->cell->baseline))
		i++;
	return i;
}

bool field_open(const struct session *session, struct field *field)
{
	const struct pack_cell *cell = field->cell;
	size_t most = (size_t)cell->member_count + 3;
	size_t length = cell->size + CACHE_LINE;

	field->contestants = allocate(most, sizeof *field->contestants);
	field->order = allocate(most, sizeof *field->order);
	field->ticks = allocate(most * session->protocol.max_rounds, sizeof *field->ticks);
	memset(field->ticks, 0xff, most * session->protocol.max_rounds * sizeof *field->ticks);
	field->destination = arena_open(length);
	field->source = arena_open(length + SOURCE_OFFSET);
	if (field->destination.data == NULL || field->source.data == NULL)
		return false;
	field->first = field->destination.data;
	field->second = cell->op == OP_MEMSET ? FILL_VALUE :
						(uintptr_t)(field->source.data + SOURCE_OFFSET);
	return true;
}

void field_close(struct field *field)
{
	free(field->contestants);
	free(field->order);
	free(field->ticks);
	arena_close(&field->destination);
	arena_close(&field->source);
}

void field_report_dropped(const struct field *field, uint32_t code, const char *reason)
{
	struct line line = line_begin("dropped");

	line_whole(&line, "cell", field->index);
	line_whole(&line, "code", code);
	line_text(&line, "reason", reason);
	line_end(&line);
}

void field_end(const struct field *field, double add_ticks, double empty_ticks,
		     const char *reason)
{
	struct line line = line_begin("cell_end");

	line_whole(&line, "cell", field->index);
	if (reason == NULL) {
		line_real(&line, "add_ticks", add_ticks);
		line_real(&line, "empty_ticks", empty_ticks);
		line_whole(&line, "rounds", field->rounds);
		line_whole(&line, "switches", field->switches);
	} else {
		line_text(&line, "reason", reason);
	}
	line_end(&line);
}

/* Before `fast_mean` sorts the columns: rounds must still stand beside each other. */
static double paired_ratio(const struct session *session, const struct field *field,
			   uint32_t contestant, uint32_t baseline, double *ratios)
{
	size_t stride = session->protocol.max_rounds;
	const uint64_t *own = field->ticks + contestant * stride;
	const uint64_t *other = field->ticks + baseline * stride;
	double overhead = session->clock.overhead;

	for (uint32_t i = 0; i < field->rounds; i++)
		ratios[i] = ((double)own[i] - overhead) / ((double)other[i] - overhead);
	return median_of(ratios, field->rounds);
}

void field_report_samples(const struct session *session, struct field *field, uint32_t baseline)
{
	size_t stride = session->protocol.max_rounds;
	double *ratios = allocate(field->rounds, sizeof *ratios);
	double *paired = allocate(field->count, sizeof *paired);
	double add_ticks = NAN, empty_ticks = NAN;

	for (uint32_t i = 0; i < field->count; i++)
		paired[i] = paired_ratio(session, field, i, baseline, ratios);
	for (uint32_t i = 0; i < field->count; i++) {
		const struct contestant *contestant = &field->contestants[i];
		double ticks = (fast_mean(field->ticks + i * stride, field->rounds) -
				session->clock.overhead) / (double)contestant->loops;

		if (contestant->role == ROLE_CHAIN) {
			add_ticks = ticks / CHAIN_ADDS;
		} else if (contestant->role == ROLE_EMPTY) {
			empty_ticks = ticks / CALLS_UNROLLED;
		} else {
			struct line line = line_begin("sample");

			line_whole(&line, "cell", field->index);
			line_whole(&line, "code", contestant->code);
			line_truth(&line, "twin", contestant->role == ROLE_TWIN);
			line_real(&line, "ticks", ticks / CALLS_UNROLLED);
			line_real(&line, "paired_ratio", paired[i]);
			line_whole(&line, "batches", field->rounds);
			line_whole(&line, "calls", (int64_t)contestant->loops * CALLS_UNROLLED);
			line_end(&line);
		}
	}
	free(ratios);
	free(paired);
	field_end(field, add_ticks, empty_ticks, NULL);
}
