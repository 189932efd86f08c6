/* A pack: every code of a study, the contracts they are checked against, and the cells in which they
 * are measured. It stands behind the harness in one file:
 *
 *     [harness executable][payload][footer]
 *
 * All numbers are little endian. runner/native/pack.py writes it; the layouts below are the format.
 * Reading checks every offset and index once, so that nothing after it needs to.
 */
#ifndef MEMSTRAT_PACK_H
#define MEMSTRAT_PACK_H

#include <stddef.h>
#include <stdint.h>

#define PACK_MAGIC "memstrat-pack\r\n\n"
enum { PACK_VERSION = 1, PACK_DIGEST_LENGTH = 16 };

enum op { OP_MEMSET, OP_MEMCPY, OP_MEMMOVE, OP_COUNT };
enum fill { FILL_NONE, FILL_ZERO, FILL_CONSTANT, FILL_VARIABLE, FILL_COUNT };
enum isa { ISA_GPR, ISA_SSE2, ISA_AVX2, ISA_AVX512, ISA_COUNT };
enum scenario { SCENARIO_HOT, SCENARIO_COUNT };
enum relocation_kind { RELOCATION_CALL, RELOCATION_DATA, RELOCATION_KIND_COUNT };

/* Largest block that a contract or cell may have: what two guarded buffers can reasonably hold. */
#define PACK_LARGEST_SIZE ((uint64_t)1 << 28)
#define PACK_LARGEST_ALIGNMENT 4096u

struct pack_footer {
	uint64_t payload_length;
	uint32_t checksum; /* CRC-32 of the payload, as zlib computes it */
	uint32_t version;
	char magic[16]; /* PACK_MAGIC and its final NUL; last, so that truncation shows */
};

struct pack_header { /* starts the payload; the tables follow in this order, then the blob */
	uint32_t codes, relocations, contracts, cells, members, blob_length;
	uint32_t reserved[2];
};

struct pack_code {
	char digest[PACK_DIGEST_LENGTH];
	uint32_t text_offset, text_length; /* in the blob */
	uint32_t relocation_first, relocation_count;
	uint32_t isa;
	uint32_t reserved;
};

struct pack_relocation { /* field = address(target) + addend - address(field), 32 bits */
	int64_t addend;
	uint32_t field; /* offset in the code's text */
	uint32_t kind;
	uint32_t target;        /* call: enum op, the libc function; data: offset in the blob */
	uint32_t target_length; /* data: bytes of the constant; call: 0 */
};

struct pack_contract {
	uint64_t size;
	uint32_t code, op, fill, alignment;
};

struct pack_cell {
	uint64_t size;
	uint32_t op, fill, scenario;
	uint32_t member_first, member_count; /* in the table of members: indices of codes */
	uint32_t baseline;                   /* index of a code, one of the members */
};

struct pack {
	struct pack_header header;
	const struct pack_code *codes;
	const struct pack_relocation *relocations;
	const struct pack_contract *contracts;
	const struct pack_cell *cells;
	const uint32_t *members;
	const uint8_t *blob;
	void *owned; /* the payload; pack_close frees it */
};

/* Reads and checks the pack at the end of the file `path`. Returns NULL, or what is wrong with it
 * (a constant string; *pack is then empty and needs no closing). */
const char *pack_open(const char *path, struct pack *pack);

/* Checks a payload whose footer was already found good, and points *pack into it. `payload` must be
 * aligned for uint64_t and outlive *pack. Returns NULL or what is wrong. */
const char *pack_parse(const void *payload, uint64_t length, struct pack *pack);

void pack_close(struct pack *pack);

#endif
