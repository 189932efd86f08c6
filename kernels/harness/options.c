#include "options.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct options DEFAULTS = {
	.command = COMMAND_LIST,
	.seed = 1,
	.cpu = -1,
	.limit_ms = 2000,
	.protocol = { .min_rounds = 100, .max_rounds = 500, .budget_us = 25000, .batch_ns = 2000,
		      .batch_steps = 200 },
};

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	*value = strtoull(text, &end, 10);
	return *end == '\0' && *value >= least && *value <= most;
}

static bool parse_count(const char *text, uint64_t least, uint32_t *value)
{
	uint64_t wide;

	if (!parse_number(text, least, 1000000000, &wide))
		return false;
	*value = (uint32_t)wide;
	return true;
}

static bool parse_option(const char *name, const char *value, struct options *options)
{
	struct protocol *protocol = &options->protocol;
	uint64_t number;

	if (strcmp(name, "--seed") == 0)
		return parse_number(value, 0, UINT64_MAX, &options->seed);
	if (strcmp(name, "--cpu") == 0) {
		if (!parse_number(value, 0, 1 << 20, &number))
			return false;
		options->cpu = (int64_t)number;
		return true;
	}
	if (strcmp(name, "--limit-ms") == 0)
		return parse_number(value, 1, 1000000, &options->limit_ms);
	if (strcmp(name, "--indices") == 0) {
		options->indices = value;
		return true;
	}
	if (strcmp(name, "--min-rounds") == 0)
		return parse_count(value, 1, &protocol->min_rounds);
	if (strcmp(name, "--max-rounds") == 0)
		return parse_count(value, 1, &protocol->max_rounds);
	if (strcmp(name, "--budget-us") == 0)
		return parse_count(value, 0, &protocol->budget_us);
	if (strcmp(name, "--batch-ns") == 0)
		return parse_count(value, 0, &protocol->batch_ns);
	if (strcmp(name, "--batch-steps") == 0)
		return parse_count(value, 0, &protocol->batch_steps);
	return false;
}

static bool parse_command(const char *name, enum command *command)
{
	static const char *const names[] = { "list", "machine", "verify", "measure" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (strcmp(name, names[i]) == 0) {
			*command = (enum command)i;
			return true;
		}
	}
	return false;
}

const char *options_parse(int count, char **arguments, struct options *options)
{
	*options = DEFAULTS;
	if (count < 2 || !parse_command(arguments[1], &options->command))
		return "give one of the commands list, machine, verify, measure";
	for (int i = 2; i < count; i += 2)
		if (i + 1 == count || !parse_option(arguments[i], arguments[i + 1], options))
			return "an option is unknown, or its value is missing or out of range";
	if (options->protocol.min_rounds > options->protocol.max_rounds)
		return "--min-rounds is larger than --max-rounds";
	return NULL;
}

/* A decimal index at *text; moves *text behind it. */
static bool take_index(const char **text, uint32_t *index)
{
	char *end;
	unsigned long long value;

	if (**text < '0' || **text > '9')
		return false;
	value = strtoull(*text, &end, 10);
	if (value > UINT32_MAX)
		return false;
	*index = (uint32_t)value;
	*text = end;
	return true;
}

bool options_next_range(const char **list, uint32_t limit, struct range *range, const char **wrong)
{
	const char *next = *list;

	*wrong = NULL;
	if (*next == '\0')
		return false;
	*wrong = "--indices is not of the form 0-9,12, or beyond what the pack has";
	if (!take_index(&next, &range->first))
		return false;
	range->last = range->first;
	if (*next == '-') {
		next++;
		if (!take_index(&next, &range->last))
			return false;
	}
	if (range->last < range->first || range->last >= limit)
		return false;
	if (*next == ',')
		next++;
	else if (*next != '\0')
		return false;
	range->last++;
	*wrong = NULL;
	*list = next;
	return true;
}
