#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"
#include "random.h"

/* Source bytes have this bit clear and canaries have it set (and the other way round for a fill with
 * the bit set), so that no write of data over a canary can go unseen. */
static const uint8_t MARK = 0x80;

/* The upper bytes of a variable fill: only the low byte counts. */
static const uintptr_t VALUE_RUBBISH = 0xdeadbeefcafef000;

static const uint64_t DIRECTION_FLAG = 1 << 10;

/* As the System V ABI has them when a process starts. */
enum { MXCSR_AT_START = 0x1f80, MXCSR_STATUS_BITS = 6, X87_CONTROL_AT_START = 0x37f };

struct bench {
	code_function code;
	const struct pack_contract *contract;
	struct trial *trial;
	char *detail;
	struct arena destination, source;
	uint8_t *expected;      /* what the destination's arena must hold afterwards */
	uint8_t *source_before; /* a copy of the source's arena */
	struct random_state random;
};

static const char *const REGISTER_NAMES[SAVED_REGISTERS] = { "rbx", "rbp", "r12",
							      "r13", "r14", "r15" };

static void fill_random(struct bench *bench, struct arena arena, uint8_t mark)
{
	for (size_t i = 0; i < arena.length; i += 8) {
		uint64_t word = random_next(&bench->random) & 0x7f7f7f7f7f7f7f7f;

		word |= (uint64_t)mark * 0x0101010101010101;
		memcpy(arena.data + i, &word, 8);
	}
}

static bool report_byte(const struct bench *bench, ptrdiff_t at, uint8_t expected, uint8_t got)
{
	ptrdiff_t size = (ptrdiff_t)bench->contract->size;
	unsigned offset = (unsigned)((uintptr_t)bench->trial->destination % CACHE_LINE);
	char where[80];

	if (at < 0)
		snprintf(where, sizeof where, "%td byte(s) before the start", -at);
	else if (at >= size)
		snprintf(where, sizeof where, "%td byte(s) behind the end", at - size + 1);
	else
		snprintf(where, sizeof where, "byte %td of %td", at, size);
	snprintf(bench->detail, DETAIL_LENGTH,
		 "%s: expected 0x%02x, got 0x%02x (destination %% 64 = %u)", where, expected, got,
		 offset);
	return false;
}

static bool check_state(const struct bench *bench, const struct checked_call *call)
{
	for (int i = 0; i < SAVED_REGISTERS; i++) {
		if (call->after[i] != call->before[i]) {
			snprintf(bench->detail, DETAIL_LENGTH, "register %s is not preserved",
				 REGISTER_NAMES[i]);
			return false;
		}
	}
	if ((call->flags & DIRECTION_FLAG) != 0) {
		snprintf(bench->detail, DETAIL_LENGTH, "the direction flag is left set");
		return false;
	}
	/* The ABI protects the control bits of mxcsr, not its six status bits. What a child changed ends
	 * with it: a contract that does not hold is its last. */
	if (call->mxcsr >> MXCSR_STATUS_BITS != MXCSR_AT_START >> MXCSR_STATUS_BITS ||
	    call->x87_control != X87_CONTROL_AT_START) {
		snprintf(bench->detail, DETAIL_LENGTH, "a floating-point control register is changed");
		return false;
	}
	return true;
}

/* Calls the code and compares; bench->expected is prepared. `source` is NULL for a memset. */
static bool call_and_compare(struct bench *bench, uint8_t *destination, uint8_t *source,
			     uintptr_t second)
{
	struct checked_call call = { .function = bench->code, .destination = destination,
				     .second = second };
	struct arena arena = bench->destination;

	for (int i = 0; i < SAVED_REGISTERS; i++)
		call.before[i] = random_next(&bench->random);
	bench->trial->destination = destination;
	bench->trial->source = source;
	memstrat_checked_call(&call);

	if (memcmp(arena.data, bench->expected, arena.length) != 0) {
		for (size_t i = 0; i < arena.length; i++)
			if (arena.data[i] != bench->expected[i])
				return report_byte(bench, arena.data + i - destination,
						   bench->expected[i], arena.data[i]);
	}
	return check_state(bench, &call);
}

static bool check_set(struct bench *bench, size_t offset, uint8_t value)
{
	uint64_t size = bench->contract->size;
	uintptr_t second = bench->contract->fill == FILL_VARIABLE ? VALUE_RUBBISH | value :
								   VALUE_RUBBISH;

	fill_random(bench, bench->destination, (uint8_t)(~value & MARK));
	memcpy(bench->expected, bench->destination.data, bench->destination.length);
	memset(bench->expected + offset, value, size);
	return call_and_compare(bench, bench->destination.data + offset, NULL, second);
}

static bool check_copy(struct bench *bench, size_t offset, size_t source_offset)
{
	uint64_t size = bench->contract->size;
	uint8_t *source = bench->source.data + source_offset;

	fill_random(bench, bench->destination, MARK);
	fill_random(bench, bench->source, 0);
	memcpy(bench->source_before, bench->source.data, bench->source.length);
	memcpy(bench->expected, bench->destination.data, bench->destination.length);
	memcpy(bench->expected + offset, source, size);
	if (!call_and_compare(bench, bench->destination.data + offset, source, (uintptr_t)source))
		return false;
	if (memcmp(bench->source.data, bench->source_before, bench->source.length) == 0)
		return true;
	for (size_t i = 0; i < bench->source.length; i++) {
		if (bench->source.data[i] != bench->source_before[i]) {
			snprintf(bench->detail, DETAIL_LENGTH, "the source is changed at its byte %td",
				 bench->source.data + i - source);
			break;
		}
	}
	return false;
}

/* Source and destination in the same arena. */
static bool check_overlap(struct bench *bench, size_t offset, size_t source_offset)
{
	uint8_t *data = bench->destination.data;

	fill_random(bench, bench->destination, 0);
	memcpy(bench->expected, data, bench->destination.length);
	memmove(bench->expected + offset, bench->expected + source_offset, bench->contract->size);
	if (call_and_compare(bench, data + offset, data + source_offset,
			     (uintptr_t)(data + source_offset)))
		return true;
	size_t length = strlen(bench->detail);
	snprintf(bench->detail + length, DETAIL_LENGTH - length, ", source - destination = %td",
		 (ptrdiff_t)source_offset - (ptrdiff_t)offset);
	return false;
}

/* Offsets to try: `residues` from the front guard page on, and as many that end at the rear one. */
static size_t residues(const struct pack_contract *contract)
{
	return contract->alignment >= CACHE_LINE ? 1 : CACHE_LINE / contract->alignment;
}

static size_t place_at(const struct pack_contract *contract, size_t length, size_t index)
{
	size_t count = residues(contract), alignment = contract->alignment;
	size_t last = (length - contract->size) / alignment * alignment;

	index %= 2 * count;
	return index < count ? index * alignment : last - (index - count) * alignment;
}

static bool check_sets(struct bench *bench)
{
	static const uint8_t zero[] = { 0 }, constant[] = { 0x5a };
	static const uint8_t variable[] = { 0xa7, 0x00, 0xff, 0x01, 0x80 };
	const uint8_t *values = variable;
	size_t count = sizeof variable;

	if (bench->contract->fill != FILL_VARIABLE) {
		values = bench->contract->fill == FILL_ZERO ? zero : constant;
		count = 1;
	}
	for (size_t place = 0; place < 2 * residues(bench->contract); place++) {
		size_t offset = place_at(bench->contract, bench->destination.length, place);

		for (size_t i = 0; i < count; i++)
			if (!check_set(bench, offset, values[i]))
				return false;
	}
	return true;
}

/* Each destination with two sources: at the like offset, and at an unlike one by the other guard. */
static bool check_copies(struct bench *bench)
{
	const struct pack_contract *contract = bench->contract;
	size_t count = residues(contract);

	for (size_t place = 0; place < 2 * count; place++) {
		size_t offset = place_at(contract, bench->destination.length, place);
		size_t like = place_at(contract, bench->source.length, place);
		size_t unlike = place_at(contract, bench->source.length, place + count + 1);

		if (!check_copy(bench, offset, like) || !check_copy(bench, offset, unlike))
			return false;
	}
	return true;
}

static bool check_distance(struct bench *bench, size_t distance)
{
	const struct pack_contract *contract = bench->contract;
	size_t last = (bench->destination.length - contract->size) / contract->alignment *
		      contract->alignment;

	return check_overlap(bench, 0, distance) && check_overlap(bench, distance, 0) &&
	       check_overlap(bench, last, last - distance) &&
	       check_overlap(bench, last - distance, last);
}

/* Both directions, from the same block to blocks that barely touch. */
static bool check_overlaps(struct bench *bench)
{
	size_t size = bench->contract->size, alignment = bench->contract->alignment;
	const size_t wanted[] = { 0, 1, 8, 16, 32, 64, 128, size / 4, size / 2, size - 1 };

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		size_t distance = (wanted[i] + alignment - 1) / alignment * alignment;

		if (wanted[i] <= size && !check_distance(bench, distance))
			return false;
	}
	return true;
}

/* Memory for the contract's blocks: a copy needs a source, an overlap room for two blocks. */
static bool open_buffers(struct bench *bench)
{
	const struct pack_contract *contract = bench->contract;
	size_t room = contract->size + CACHE_LINE + contract->alignment;

	if (contract->op == OP_MEMMOVE)
		room += contract->size;
	bench->destination = arena_open(room);
	if (contract->op != OP_MEMSET)
		bench->source = arena_open(room);
	if (bench->destination.data == NULL ||
	    (contract->op != OP_MEMSET && bench->source.data == NULL)) {
		snprintf(bench->detail, DETAIL_LENGTH, "there is no memory for its buffers");
		return false;
	}
	bench->expected = allocate(bench->destination.length, 1);
	bench->source_before = allocate(bench->source.length, 1);
	return true;
}

static void close_buffers(struct bench *bench)
{
	free(bench->expected);
	free(bench->source_before);
	arena_close(&bench->destination);
	arena_close(&bench->source);
}

bool contract_holds(code_function code, const struct pack_contract *contract, struct trial *trial,
		    char detail[DETAIL_LENGTH])
{
	struct bench bench = { .code = code, .contract = contract, .trial = trial, .detail = detail,
			       .random = random_from_seed(contract->size) };
	bool holds = false;

	detail[0] = '\0';
	if (open_buffers(&bench)) {
		if (contract->op == OP_MEMSET)
			holds = check_sets(&bench);
		else
			holds = check_copies(&bench) &&
				(contract->op == OP_MEMCPY || check_overlaps(&bench));
	}
	close_buffers(&bench);
	return holds;
}
