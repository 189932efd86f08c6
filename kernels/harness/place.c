#include "place.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "buffers.h"

static const uint8_t EMPTY_TEXT[] = { 0xc3 };           /* ret */
static const uint8_t JUMP_THROUGH_MEMORY[] = { 0xff, 0x25 }; /* jmp *rel32(%rip), as in a PLT */
static const uint8_t BREAKPOINT = 0xcc;

enum { PADDING_LINES = PAGE / CACHE_LINE, STUB_LENGTH = 6 };

/* One thing to place: a code, a baseline's twin, a libc function's stub, the empty code, the trampoline. */
enum item_kind { ITEM_CODE, ITEM_TWIN, ITEM_STUB, ITEM_EMPTY, ITEM_CALLS };
struct item {
	enum item_kind kind;
	uint32_t index;
	uint32_t length;
	size_t offset;
};

/* Items at the front of the region; then, on pages of their own, the constants and the addresses
 * that stubs jump through. */
struct layout {
	struct item *items;
	uint32_t count;
	size_t stubs[OP_COUNT];
	size_t addresses;  /* offset of the stubs' addresses */
	size_t *constants; /* by index of relocation: offset of its constant */
	size_t length;
};

static size_t round_up(size_t value, size_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static void add_item(struct layout *layout, enum item_kind kind, uint32_t index, uint32_t length)
{
	layout->items[layout->count++] = (struct item){ kind, index, length, 0 };
}

static uint32_t calls_length(void)
{
	return (uint32_t)(memstrat_calls_end - (const uint8_t *)(void *)memstrat_calls);
}

static void collect_items(const struct pack *pack, struct layout *layout)
{
	bool *is_baseline = allocate(pack->header.codes, sizeof *is_baseline);

	for (uint32_t i = 0; i < pack->header.cells; i++)
		is_baseline[pack->cells[i].baseline] = true;
	for (uint32_t i = 0; i < pack->header.codes; i++) {
		add_item(layout, ITEM_CODE, i, pack->codes[i].text_length);
		if (is_baseline[i])
			add_item(layout, ITEM_TWIN, i, pack->codes[i].text_length);
	}
	for (uint32_t i = 0; i < OP_COUNT; i++)
		add_item(layout, ITEM_STUB, i, STUB_LENGTH);
	add_item(layout, ITEM_EMPTY, 0, sizeof EMPTY_TEXT);
	add_item(layout, ITEM_CALLS, 0, calls_length());
	free(is_baseline);
}

static void shuffle_items(struct layout *layout, struct random_state *random)
{
	for (uint32_t i = layout->count; i > 1; i--) {
		uint32_t j = random_below(random, i);
		struct item swapped = layout->items[i - 1];

		layout->items[i - 1] = layout->items[j];
		layout->items[j] = swapped;
	}
}

static void decide_offsets(const struct pack *pack, struct layout *layout, struct random_state *random)
{
	size_t next = 0;

	for (uint32_t i = 0; i < layout->count; i++) {
		struct item *item = &layout->items[i];

		next += (size_t)random_below(random, PADDING_LINES) * CACHE_LINE;
		item->offset = next;
		if (item->kind == ITEM_STUB)
			layout->stubs[item->index] = next;
		next = round_up(next + item->length, CACHE_LINE);
	}
	next = round_up(next, PAGE);
	layout->addresses = next;
	next += CACHE_LINE;
	for (uint32_t i = 0; i < pack->header.relocations; i++) {
		layout->constants[i] = next;
		if (pack->relocations[i].kind == RELOCATION_DATA)
			next = round_up(next + pack->relocations[i].target_length, CACHE_LINE);
	}
	layout->length = round_up(next + CACHE_LINE, PAGE);
}

static void put_field(uint8_t *region, size_t field, size_t target, int64_t addend)
{
	int32_t value = (int32_t)((int64_t)target - (int64_t)field + addend);

	memcpy(region + field, &value, sizeof value);
}

static void put_code(const struct pack *pack, const struct layout *layout, uint8_t *region,
		     const struct item *item)
{
	const struct pack_code *code = &pack->codes[item->index];

	memcpy(region + item->offset, pack->blob + code->text_offset, code->text_length);
	for (uint32_t i = 0; i < code->relocation_count; i++) {
		uint32_t index = code->relocation_first + i;
		const struct pack_relocation *relocation = &pack->relocations[index];
		size_t target = relocation->kind == RELOCATION_CALL ?
					layout->stubs[relocation->target] :
					layout->constants[index];

		put_field(region, item->offset + relocation->field, target, relocation->addend);
	}
}

static void put_item(const struct pack *pack, const struct layout *layout, uint8_t *region,
		     const struct item *item)
{
	size_t end = item->offset + item->length;

	memset(region + end, BREAKPOINT, round_up(end, CACHE_LINE) - end);
	switch (item->kind) {
	case ITEM_CODE:
	case ITEM_TWIN:
		put_code(pack, layout, region, item);
		break;
	case ITEM_STUB:
		memcpy(region + item->offset, JUMP_THROUGH_MEMORY, sizeof JUMP_THROUGH_MEMORY);
		put_field(region, item->offset + sizeof JUMP_THROUGH_MEMORY,
			  layout->addresses + item->index * sizeof(void *), -4);
		break;
	case ITEM_EMPTY:
		memcpy(region + item->offset, EMPTY_TEXT, sizeof EMPTY_TEXT);
		break;
	case ITEM_CALLS:
		memcpy(region + item->offset, (const void *)memstrat_calls, calls_length());
		break;
	}
}

static void put_data(const struct pack *pack, const struct layout *layout, uint8_t *region)
{
	void *const functions[OP_COUNT] = {
		[OP_MEMSET] = (void *)memset,
		[OP_MEMCPY] = (void *)memcpy,
		[OP_MEMMOVE] = (void *)memmove,
	};

	memcpy(region + layout->addresses, functions, sizeof functions);
	for (uint32_t i = 0; i < pack->header.relocations; i++) {
		const struct pack_relocation *relocation = &pack->relocations[i];

		if (relocation->kind == RELOCATION_DATA)
			memcpy(region + layout->constants[i], pack->blob + relocation->target,
			       relocation->target_length);
	}
}

static void note_addresses(const struct layout *layout, uint8_t *region,
			   struct placement *placement)
{
	for (uint32_t i = 0; i < layout->count; i++) {
		const struct item *item = &layout->items[i];
		void *address = region + item->offset;
		code_function function = (code_function)address;

		if (item->kind == ITEM_CODE)
			placement->codes[item->index] = function;
		else if (item->kind == ITEM_TWIN)
			placement->twins[item->index] = function;
		else if (item->kind == ITEM_EMPTY)
			placement->empty = function;
		else if (item->kind == ITEM_CALLS)
			placement->calls = (calls_function)address;
	}
}

static const char *fill_region(const struct pack *pack, const struct layout *layout,
			       struct placement *placement)
{
	uint8_t *region;

	if (layout->length > INT32_MAX)
		return "the pack's codes do not fit into 2 GiB";
	region = mmap(NULL, layout->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region == MAP_FAILED)
		return "there is no memory for the pack's codes";
	madvise(region, layout->length, MADV_NOHUGEPAGE); /* as a program's text has it */
	placement->region = region;
	placement->region_length = layout->length;
	for (uint32_t i = 0; i < layout->count; i++)
		put_item(pack, layout, region, &layout->items[i]);
	put_data(pack, layout, region);
	note_addresses(layout, region, placement);
	if (mprotect(region, layout->length, PROT_READ | PROT_EXEC) != 0)
		return "the system refuses to make memory executable";
	return NULL;
}

const char *place_codes(const struct pack *pack, struct random_state *random,
			struct placement *placement)
{
	struct layout layout = { 0 };
	const char *wrong;

	*placement = (struct placement){ 0 };
	placement->codes = allocate(pack->header.codes, sizeof *placement->codes);
	placement->twins = allocate(pack->header.codes, sizeof *placement->twins);
	layout.items = allocate(2 * (size_t)pack->header.codes + OP_COUNT + 2, sizeof *layout.items);
	layout.constants = allocate(pack->header.relocations, sizeof *layout.constants);
	collect_items(pack, &layout);
	shuffle_items(&layout, random);
	decide_offsets(pack, &layout, random);
	wrong = fill_region(pack, &layout, placement);
	free(layout.items);
	free(layout.constants);
	if (wrong != NULL)
		place_free(placement);
	return wrong;
}

void place_free(struct placement *placement)
{
	free(placement->codes);
	free(placement->twins);
	if (placement->region != NULL)
		munmap(placement->region, placement->region_length);
	*placement = (struct placement){ 0 };
}
