#include "pack.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct pack_footer) == 32, "format");
_Static_assert(sizeof(struct pack_header) == 32, "format");
_Static_assert(sizeof(struct pack_code) == 40, "format");
_Static_assert(sizeof(struct pack_relocation) == 24, "format");
_Static_assert(sizeof(struct pack_contract) == 24, "format");
_Static_assert(sizeof(struct pack_cell) == 32, "format");

static const uint64_t LARGEST_PAYLOAD = (uint64_t)1 << 32;

/* CRC-32 as in zlib (reflected, polynomial 0xedb88320), four bits at a time: no table to build. */
static uint32_t checksum_of(const uint8_t *bytes, size_t length)
{
	static const uint32_t nibble[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < length; i++) {
		crc ^= bytes[i];
		crc = (crc >> 4) ^ nibble[crc & 15];
		crc = (crc >> 4) ^ nibble[crc & 15];
	}
	return ~crc;
}

/* Whether [first, first + count) lies within [0, limit); the sum cannot overflow 64 bits. */
static bool within(uint64_t first, uint64_t count, uint64_t limit)
{
	return first + count <= limit;
}

static const char *check_codes(const struct pack *pack)
{
	const struct pack_header *header = &pack->header;

	for (uint32_t i = 0; i < header->codes; i++) {
		const struct pack_code *code = &pack->codes[i];

		if (code->text_length == 0 ||
		    !within(code->text_offset, code->text_length, header->blob_length))
			return "a code's text lies outside the pack";
		if (!within(code->relocation_first, code->relocation_count, header->relocations))
			return "a code's relocations lie outside their table";
		if (code->isa >= ISA_COUNT)
			return "a code needs an unknown ISA";
		for (uint32_t j = 0; j < code->relocation_count; j++) {
			const struct pack_relocation *relocation =
				&pack->relocations[code->relocation_first + j];

			if (!within(relocation->field, 4, code->text_length))
				return "a relocated field lies outside its code";
		}
	}
	return NULL;
}

static const char *check_relocations(const struct pack *pack)
{
	const struct pack_header *header = &pack->header;

	for (uint32_t i = 0; i < header->relocations; i++) {
		const struct pack_relocation *relocation = &pack->relocations[i];

		if (relocation->kind >= RELOCATION_KIND_COUNT)
			return "a relocation is of an unknown kind";
		if (relocation->kind == RELOCATION_CALL && relocation->target >= OP_COUNT)
			return "a relocation calls an unknown function";
		if (relocation->kind == RELOCATION_DATA &&
		    !within(relocation->target, relocation->target_length, header->blob_length))
			return "a constant lies outside the pack";
		if (relocation->addend < INT32_MIN || relocation->addend > INT32_MAX)
			return "a relocation's addend is out of range";
	}
	return NULL;
}

static const char *check_task(uint32_t op, uint32_t fill, uint64_t size)
{
	if (op >= OP_COUNT || fill >= FILL_COUNT || (op == OP_MEMSET) == (fill == FILL_NONE))
		return "an op or its fill is unknown";
	if (size == 0 || size > PACK_LARGEST_SIZE)
		return "a size is out of range";
	return NULL;
}

static const char *check_contracts(const struct pack *pack)
{
	for (uint32_t i = 0; i < pack->header.contracts; i++) {
		const struct pack_contract *contract = &pack->contracts[i];
		uint32_t alignment = contract->alignment;
		const char *wrong = check_task(contract->op, contract->fill, contract->size);

		if (wrong != NULL)
			return wrong;
		if (contract->code >= pack->header.codes)
			return "a contract is about an unknown code";
		if (alignment == 0 || alignment > PACK_LARGEST_ALIGNMENT ||
		    (alignment & (alignment - 1)) != 0)
			return "an alignment is no power of two up to 4096";
	}
	return NULL;
}

static const char *check_cell(const struct pack *pack, const struct pack_cell *cell)
{
	bool baseline_is_member = false;
	const char *wrong = check_task(cell->op, cell->fill, cell->size);

	if (wrong != NULL)
		return wrong;
	if (cell->scenario >= SCENARIO_COUNT)
		return "a cell's scenario is unknown";
	if (!within(cell->member_first, cell->member_count, pack->header.members))
		return "a cell's codes lie outside their table";
	for (uint32_t i = 0; i < cell->member_count; i++) {
		uint32_t code = pack->members[cell->member_first + i];

		if (code >= pack->header.codes)
			return "a cell names an unknown code";
		baseline_is_member |= code == cell->baseline;
	}
	return baseline_is_member ? NULL : "a cell's baseline is not one of its codes";
}

const char *pack_parse(const void *payload, uint64_t length, struct pack *pack)
{
	const uint8_t *next = payload;
	const struct pack_header *header = &pack->header;
	const char *wrong;

	if (length < sizeof *header)
		return "the pack is too short for its header";
	memcpy(&pack->header, payload, sizeof *header);
	uint64_t expected = sizeof *header + header->codes * (uint64_t)sizeof *pack->codes +
			    header->relocations * (uint64_t)sizeof *pack->relocations +
			    header->contracts * (uint64_t)sizeof *pack->contracts +
			    header->cells * (uint64_t)sizeof *pack->cells +
			    header->members * (uint64_t)sizeof *pack->members + header->blob_length;
	if (length != expected)
		return "the pack's length is not what its header says";

	/* Records of 8-byte alignment come first, so every table stays aligned. */
	pack->codes = (const void *)(next += sizeof *header);
	pack->relocations = (const void *)(next += header->codes * sizeof *pack->codes);
	pack->contracts = (const void *)(next += header->relocations * sizeof *pack->relocations);
	pack->cells = (const void *)(next += header->contracts * sizeof *pack->contracts);
	pack->members = (const void *)(next += header->cells * sizeof *pack->cells);
	pack->blob = next + header->members * sizeof *pack->members;

	if ((wrong = check_relocations(pack)) != NULL || (wrong = check_codes(pack)) != NULL ||
	    (wrong = check_contracts(pack)) != NULL)
		return wrong;
	for (uint32_t i = 0; i < header->cells; i++)
		if ((wrong = check_cell(pack, &pack->cells[i])) != NULL)
			return wrong;
	return NULL;
}

/* Finds the footer and reads the payload into fresh memory. */
static const char *read_payload(FILE *file, void **payload, uint64_t *length)
{
	struct pack_footer footer;
	long end;

	if (fseek(file, 0, SEEK_END) != 0 || (end = ftell(file)) < 0)
		return "the pack cannot be read";
	if ((size_t)end < sizeof footer || fseek(file, end - (long)sizeof footer, SEEK_SET) != 0 ||
	    fread(&footer, sizeof footer, 1, file) != 1 ||
	    memcmp(footer.magic, PACK_MAGIC, sizeof footer.magic) != 0)
		return "the file does not end in a pack; it may be truncated";
	if (footer.version != PACK_VERSION)
		return "the pack is of another version";
	if (footer.payload_length > (uint64_t)end - sizeof footer ||
	    footer.payload_length > LARGEST_PAYLOAD)
		return "the pack's length is impossible";
	*length = footer.payload_length;
	*payload = malloc(*length + 1);
	if (*payload == NULL)
		return "there is no memory for the pack";
	if (fseek(file, end - (long)(sizeof footer + *length), SEEK_SET) != 0 ||
	    fread(*payload, 1, *length, file) != *length)
		return "the pack cannot be read";
	if (checksum_of(*payload, *length) != footer.checksum)
		return "the pack's checksum is wrong";
	return NULL;
}

const char *pack_open(const char *path, struct pack *pack)
{
	const char *wrong;
	uint64_t length = 0;
	void *payload = NULL;
	FILE *file = fopen(path, "rb");

	*pack = (struct pack){ 0 };
	if (file == NULL)
		return "the pack cannot be opened";
	wrong = read_payload(file, &payload, &length);
	fclose(file);
	if (wrong == NULL)
		wrong = pack_parse(payload, length, pack);
	if (wrong != NULL) {
		free(payload);
		*pack = (struct pack){ 0 };
		return wrong;
	}
	pack->owned = payload;
	return NULL;
}

void pack_close(struct pack *pack)
{
	free(pack->owned);
	*pack = (struct pack){ 0 };
}
