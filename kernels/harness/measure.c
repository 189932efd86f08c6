#include "measure.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "field.h"
#include "lines.h"
#include "signals.h"

enum { SIGNAL_STACK = 65536, HANG_SECONDS = 1, CHAIN_LOOPS = 128 };
static const uint64_t MOST_LOOPS = 1 << 18;

/* What signal handlers need; they have no other way to it. */
static struct {
	sigjmp_buf back;
	volatile sig_atomic_t armed;
	volatile sig_atomic_t signal;
	volatile uint32_t contestant;
	volatile uint64_t batches, batches_seen;
} guard;

static void leave_code(int number)
{
	if (!guard.armed) {
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	guard.armed = 0;
	guard.signal = number;
	siglongjmp(guard.back, 1);
}

/* Once a second of CPU time: a batch that was already running then, and still is, hangs. */
static void watch(int number)
{
	if (guard.armed && guard.batches == guard.batches_seen)
		leave_code(number);
	guard.batches_seen = guard.batches;
}

const char *measure_prepare(void)
{
	static uint8_t stack[SIGNAL_STACK];
	const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	const stack_t alternative = { .ss_sp = stack, .ss_size = sizeof stack };
	const struct itimerval every = { { HANG_SECONDS, 0 }, { HANG_SECONDS, 0 } };
	struct sigaction action = { .sa_handler = leave_code, .sa_flags = SA_ONSTACK };

	sigemptyset(&action.sa_mask);
	if (sigaltstack(&alternative, NULL) != 0)
		return "no stack can be set up for signals";
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		if (sigaction(crashes[i], &action, NULL) != 0)
			return "crashes cannot be caught";
	action.sa_handler = watch;
	if (sigaction(SIGVTALRM, &action, NULL) != 0 || setitimer(ITIMER_VIRTUAL, &every, NULL) != 0)
		return "hangs cannot be caught";
	return NULL;
}

static uint64_t time_batch(calls_function call, const struct field *field,
			   const struct contestant *contestant, uint64_t loops)
{
	uint64_t begin, end;

	guard.contestant = (uint32_t)(contestant - field->contestants);
	guard.batches++;
	if (contestant->role == ROLE_CHAIN) {
		memstrat_chain(0, 1);
		begin = clock_begin();
		memstrat_chain(0, loops);
		end = clock_end();
	} else {
		call(contestant->function, field->first, field->second, 1);
		begin = clock_begin();
		call(contestant->function, field->first, field->second, loops);
		end = clock_end();
	}
	return end - begin;
}

/* Upper halves that a code left dirty would slow the next one's SSE instructions on Intel cores. */
static uint64_t time_alone(const struct session *session, const struct field *field,
			   const struct contestant *contestant, uint64_t loops)
{
	if (session->features.avx)
		memstrat_clear_upper();
	return time_batch(session->placement->calls, field, contestant, loops);
}

/* Ticks per loop, roughly: loops are doubled until a batch is long enough to tell. */
static double rough_ticks(const struct session *session, const struct field *field,
			  const struct contestant *contestant, double enough)
{
	uint64_t loops = 1, ticks;

	for (;;) {
		ticks = time_alone(session, field, contestant, loops);
		if ((double)ticks >= enough || loops >= MOST_LOOPS)
			break;
		loops *= 2;
	}
	for (int again = 0; again < 4; again++) {
		uint64_t now = time_alone(session, field, contestant, loops);

		if (now < ticks)
			ticks = now;
	}
	return fmax(((double)ticks - session->clock.overhead) / (double)loops, 0.1);
}

static double longest_of_limits(const struct session *session)
{
	double by_time = session->protocol.batch_ns * 1e-9 * session->clock.ticks_per_second;
	double by_step = session->protocol.batch_steps * (double)session->clock.step;

	return fmax(by_time, by_step);
}

/* The same number of loops for all codes, another one for the empty call, which is no code. */
static void decide_loops(const struct session *session, struct field *field)
{
	double wanted = longest_of_limits(session), fastest = INFINITY, empty = INFINITY;

	for (uint32_t i = 0; i < field->count; i++) {
		const struct contestant *contestant = &field->contestants[i];

		if (contestant->role == ROLE_CHAIN)
			continue;
		double ticks = rough_ticks(session, field, contestant, wanted / 4);

		if (contestant->role == ROLE_EMPTY)
			empty = ticks;
		else
			fastest = fmin(fastest, ticks);
	}
	for (uint32_t i = 0; i < field->count; i++) {
		struct contestant *contestant = &field->contestants[i];
		double ticks = contestant->role == ROLE_EMPTY ? empty : fastest;

		if (contestant->role == ROLE_CHAIN)
			contestant->loops = CHAIN_LOOPS;
		else
			contestant->loops = (uint64_t)fmin(ceil(wanted / ticks), (double)MOST_LOOPS);
	}
}

static void run_rounds(struct session *session, struct field *field)
{
	const struct protocol *protocol = &session->protocol;
	uint64_t budget = (uint64_t)(protocol->budget_us * 1e-6 * session->clock.ticks_per_second);
	uint64_t start = clock_begin();

	for (uint32_t i = 0; i < field->count; i++)
		field->order[i] = i;
	for (field->rounds = 0; field->rounds < protocol->max_rounds; field->rounds++) {
		if (field->rounds >= protocol->min_rounds && clock_begin() - start >= budget)
			break;
		random_shuffle(&session->random, field->order, field->count);
		for (uint32_t i = 0; i < field->count; i++) {
			uint32_t chosen = field->order[i];
			const struct contestant *contestant = &field->contestants[chosen];

			field->ticks[(size_t)chosen * protocol->max_rounds + field->rounds] =
				time_alone(session, field, contestant, contestant->loops);
		}
	}
}

static int64_t involuntary_switches(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* Drops the contestant inside which a signal arrived. */
static void drop_contestant(struct field *field)
{
	uint32_t dropped = guard.contestant;
	char reason[64];

	if (guard.signal == SIGVTALRM)
		snprintf(reason, sizeof reason, "hung while it was measured");
	else
		snprintf(reason, sizeof reason, "%s while it was measured",
			 signal_name(guard.signal));
	field_report_dropped(field, field->contestants[dropped].code, reason);
	field->count--;
	for (uint32_t i = dropped; i < field->count; i++)
		field->contestants[i] = field->contestants[i + 1];
}

/* Runs the cell's rounds, again without the culprit after a crash. False: the cell is lost.
 * Everything that lives across the jump is reached through the two pointers, which do not change. */
static bool run_guarded(struct session *session, struct field *field)
{
	if (sigsetjmp(guard.back, 1) != 0) {
		if (field->contestants[guard.contestant].role == ROLE_EMPTY ||
		    field->contestants[guard.contestant].role == ROLE_CHAIN)
			return false;
		drop_contestant(field);
	}
	if (field_baseline(field) == field->count)
		return false;
	guard.armed = 1;
	decide_loops(session, field);
	field->switches = involuntary_switches();
	run_rounds(session, field);
	field->switches = involuntary_switches() - field->switches;
	guard.armed = 0;
	return true;
}

void measure_cell(struct session *session, uint32_t cell_index)
{
	struct field field = { .cell = &session->pack->cells[cell_index], .index = cell_index };
	struct line line = line_begin("cell");

	line_whole(&line, "cell", cell_index);
	line_end(&line);
	if (!field_open(session, &field)) {
		field_end(&field, 0, 0, "there is no memory for its buffers");
	} else {
		field_collect(session, &field);
		if (run_guarded(session, &field))
			field_report_samples(session, &field, field_baseline(&field));
		else
			field_end(&field, 0, 0, "its baseline cannot be measured");
	}
	field_close(&field);
}
