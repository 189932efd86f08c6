/* The harness: verifies and measures the codes of the pack that stands behind it in its own file. */

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "clock.h"
#include "features.h"
#include "lines.h"
#include "machine.h"
#include "measure.h"
#include "options.h"
#include "pack.h"
#include "place.h"
#include "verify.h"

enum { SUCCESS = 0, BAD_USAGE = 2, BAD_PACK = 3, CANNOT_WORK = 4 };
enum { CLOCK_MS = 20 };

static int fail(int code, const char *message)
{
	fprintf(stderr, "%s\n", message);
	return code;
}

static void list_pack(const struct pack *pack)
{
	struct line line = line_begin("pack");

	line_whole(&line, "version", PACK_VERSION);
	line_whole(&line, "codes", pack->header.codes);
	line_whole(&line, "contracts", pack->header.contracts);
	line_whole(&line, "cells", pack->header.cells);
	line_end(&line);
	for (uint32_t i = 0; i < pack->header.codes; i++) {
		const struct pack_code *code = &pack->codes[i];
		char digest[PACK_DIGEST_LENGTH + 1] = "";

		memcpy(digest, code->digest, PACK_DIGEST_LENGTH);
		line = line_begin("code");
		line_whole(&line, "code", i);
		line_text(&line, "digest", digest);
		line_text(&line, "isa", isa_name(code->isa));
		line_whole(&line, "bytes", code->text_length);
		line_end(&line);
	}
}

static const char *pin_to(int64_t cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return NULL;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (cpu >= CPU_SETSIZE || sched_setaffinity(0, sizeof set, &set) != 0)
		return "the harness cannot be pinned to the CPU that --cpu names";
	return NULL;
}

static void report_conditions(const char *record, const struct clock_facts *clock)
{
	struct cpu_time time = cpu_time_read();
	struct rusage usage;
	struct line line = line_begin(record);

	line_real(&line, "tsc_hz", clock->ticks_per_second);
	line_whole(&line, "tsc_step", (int64_t)clock->step);
	line_real(&line, "overhead_ticks", clock->overhead);
	line_real(&line, "load", load_now());
	line_whole(&line, "switches", getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0);
	line_whole(&line, "cpu_time", (int64_t)time.total);
	line_whole(&line, "cpu_time_stolen", (int64_t)time.stolen);
	line_end(&line);
}

/* What verify and measure have in common: a task for each wanted index. */
struct work {
	const struct options *options;
	const struct pack *pack;
	const struct placement *placement;
	struct features features;
	struct session *session; /* measure alone */
};

static const char *work_on(const struct work *work, struct range range)
{
	if (work->session == NULL)
		return verify_contracts(work->pack, work->placement, &work->features, range.first,
					range.last, (unsigned)work->options->limit_ms);
	for (uint32_t i = range.first; i < range.last; i++)
		measure_cell(work->session, i);
	return NULL;
}

static int work_through(const struct work *work, uint32_t limit)
{
	const char *list = work->options->indices, *wrong = NULL;
	struct range range = { 0, limit };

	if (list == NULL)
		wrong = limit == 0 ? NULL : work_on(work, range);
	else
		while (wrong == NULL && options_next_range(&list, limit, &range, &wrong))
			wrong = work_on(work, range);
	return wrong == NULL ? SUCCESS : fail(CANNOT_WORK, wrong);
}

static int measure(struct work *work, struct random_state random)
{
	const char *wrong = pin_to(work->options->cpu);
	struct session session = {
		.pack = work->pack,
		.placement = work->placement,
		.features = work->features,
		.protocol = work->options->protocol,
		.random = random,
	};

	if (wrong == NULL)
		wrong = measure_prepare();
	if (wrong != NULL)
		return fail(CANNOT_WORK, wrong);
	session.clock = clock_measure(CLOCK_MS);
	work->session = &session;
	report_conditions("begin", &session.clock);
	int code = work_through(work, work->pack->header.cells);

	report_conditions("end", &session.clock);
	return code;
}

static int run_codes(const struct options *options, const struct pack *pack)
{
	struct random_state random = random_from_seed(options->seed);
	struct placement placement;
	struct work work = { .options = options, .pack = pack, .placement = &placement,
			     .features = features_read() };
	const struct rlimit no_core = { 0, 0 }; /* a crash of a code is a result, not a mystery */
	const char *wrong = place_codes(pack, &random, &placement);
	int code;

	setrlimit(RLIMIT_CORE, &no_core);
	if (wrong != NULL)
		return fail(CANNOT_WORK, wrong);
	if (options->command == COMMAND_VERIFY)
		code = work_through(&work, pack->header.contracts);
	else
		code = measure(&work, random);
	place_free(&placement);
	return code;
}

static int run_pack(const struct options *options)
{
	struct pack pack;
	const char *wrong = pack_open("/proc/self/exe", &pack);
	int code = SUCCESS;

	if (wrong != NULL)
		return fail(BAD_PACK, wrong);
	if (options->command == COMMAND_LIST)
		list_pack(&pack);
	else
		code = run_codes(options, &pack);
	pack_close(&pack);
	return code;
}

int main(int count, char **arguments)
{
	struct options options;
	const char *wrong = options_parse(count, arguments, &options);

	if (wrong != NULL)
		return fail(BAD_USAGE, wrong);
	if (options.command == COMMAND_MACHINE) {
		struct features features = features_read();
		struct clock_facts clock = clock_measure(5 * CLOCK_MS);

		machine_report(&features, &clock);
		return SUCCESS;
	}
	return run_pack(&options);
}
