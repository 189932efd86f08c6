#include "verify.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "buffers.h"
#include "contract.h"
#include "lines.h"
#include "signals.h"

/* A child leaves with this after a contract that did not hold: what such a code did to the child's
 * memory is unknown, so the next contract starts in a fresh one. */
enum { EXIT_CONTRACT_BROKEN = 10, EXIT_CHILD_UNPREPARED = 11, SIGNAL_STACK = 65536 };

enum { WALL_PER_CPU = 5 };

/* A signal handler has no argument of its own; this is the one place where it finds the trial. */
static struct trial *handler_trial;

static void note_crash(int number, siginfo_t *info, void *context)
{
	(void)context;
	handler_trial->signal = number;
	handler_trial->fault = info->si_addr;
	signal(number, SIG_DFL);
	raise(number); /* pending until the handler returns; then it ends the child */
}

static bool prepare_child(struct trial *trial)
{
	static uint8_t stack[SIGNAL_STACK]; /* of its own: the code may have lost the usual one */
	const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
	const stack_t alternative = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction action = { .sa_sigaction = note_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	handler_trial = trial;
	sigemptyset(&action.sa_mask);
	if (sigaltstack(&alternative, NULL) != 0)
		return false;
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		if (sigaction(crashes[i], &action, NULL) != 0)
			return false;
	return true;
}

/* CPU time finds a code that loops, wall time one that sleeps; both end the child by a signal. */
static void set_limits(unsigned limit_ms)
{
	uint64_t wall_ms = (uint64_t)limit_ms * WALL_PER_CPU;
	const struct itimerval cpu = { .it_value = { limit_ms / 1000, limit_ms % 1000 * 1000 } };
	const struct itimerval wall = { .it_value = { (time_t)(wall_ms / 1000),
						      (suseconds_t)(wall_ms % 1000 * 1000) } };

	setitimer(ITIMER_PROF, &cpu, NULL);
	setitimer(ITIMER_REAL, &wall, NULL);
}

static void print_outcome(uint32_t contract, const char *outcome, const char *detail)
{
	struct line line = line_begin("verification");

	line_whole(&line, "contract", contract);
	line_text(&line, "outcome", outcome);
	if (detail[0] != '\0')
		line_text(&line, "detail", detail);
	line_end(&line);
}

/* In the child: contracts from `first` on, until one does not hold. */
static void run_contracts(const struct pack *pack, const struct placement *placement, enum isa isa,
			  uint32_t first, uint32_t last, unsigned limit_ms, struct trial *trial)
{
	char detail[DETAIL_LENGTH];

	for (uint32_t i = first; i < last; i++) {
		const struct pack_contract *contract = &pack->contracts[i];
		enum isa needed = pack->codes[contract->code].isa;

		trial->contract = i;
		if (needed > isa) {
			snprintf(detail, sizeof detail, "this CPU has no %s", isa_name(needed));
			print_outcome(i, "skipped", detail);
			continue;
		}
		set_limits(limit_ms);
		if (!contract_holds(placement->codes[contract->code], contract, trial, detail)) {
			print_outcome(i, "wrong", detail);
			_exit(EXIT_CONTRACT_BROKEN);
		}
		print_outcome(i, "passed", "");
	}
	_exit(EXIT_SUCCESS);
}

/* "destination + 168": where a faulting address lies against the block that was being written. */
static bool near_block(const char *name, const uint8_t *block, uint64_t size, const uint8_t *fault,
		       char *text, size_t length)
{
	ptrdiff_t at = fault - block;
	ptrdiff_t reach = (ptrdiff_t)(2 * size + 2 * PAGE);

	if (block == NULL || at < -reach || at > (ptrdiff_t)size + reach)
		return false;
	snprintf(text, length, "%s %c %td", name, at < 0 ? '-' : '+', at < 0 ? -at : at);
	return true;
}

static void print_crash(const struct pack_contract *contract, const struct trial *trial, int number)
{
	char detail[DETAIL_LENGTH], where[80];

	if (number != SIGSEGV && number != SIGBUS)
		snprintf(detail, sizeof detail, "%s", signal_name(number));
	else if (near_block("destination", trial->destination, contract->size, trial->fault, where,
			    sizeof where) ||
		 near_block("source", trial->source, contract->size, trial->fault, where, sizeof where))
		snprintf(detail, sizeof detail, "%s at %s, block of %llu bytes",
			 signal_name(number), where, (unsigned long long)contract->size);
	else
		snprintf(detail, sizeof detail, "%s far from its buffers", signal_name(number));
	print_outcome(trial->contract, "crashed", detail);
}

/* Says what ended the child. Returns the contract to go on with. */
static uint32_t judge_child(const struct pack *pack, const struct trial *trial, int status,
			    uint32_t last, unsigned limit_ms)
{
	char detail[DETAIL_LENGTH];

	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return last;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CONTRACT_BROKEN)
		return trial->contract + 1;
	if (WIFEXITED(status)) {
		snprintf(detail, sizeof detail, "ended its process with code %d", WEXITSTATUS(status));
		print_outcome(trial->contract, "crashed", detail);
	} else if (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM) {
		snprintf(detail, sizeof detail, "did not return within %u ms", limit_ms);
		print_outcome(trial->contract, "hung", detail);
	} else {
		print_crash(&pack->contracts[trial->contract], trial, WTERMSIG(status));
	}
	return trial->contract + 1;
}

const char *verify_contracts(const struct pack *pack, const struct placement *placement,
			     const struct features *features, uint32_t first, uint32_t last,
			     unsigned limit_ms)
{
	struct trial *trial = mmap(NULL, sizeof *trial, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (trial == MAP_FAILED)
		return "there is no shared memory";
	while (first < last) {
		int status;
		pid_t child;

		*trial = (struct trial){ .contract = first };
		child = fork();
		if (child < 0)
			return "no child process can be started";
		if (child == 0) {
			if (!prepare_child(trial))
				_exit(EXIT_CHILD_UNPREPARED);
			run_contracts(pack, placement, features_isa(features), first, last, limit_ms,
				      trial);
		}
		if (waitpid(child, &status, 0) != child)
			return "a child process is lost";
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CHILD_UNPREPARED)
			return "a child process cannot set its limits";
		first = judge_child(pack, trial, status, last, limit_ms);
	}
	munmap(trial, sizeof *trial);
	return NULL;
}
