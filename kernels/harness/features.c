#include "features.h"

#include <cpuid.h>
#include <string.h>

struct registers {
	uint32_t eax, ebx, ecx, edx;
};

static struct registers cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct registers r = { 0, 0, 0, 0 };

	__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
	return r;
}

static bool bit(uint32_t word, unsigned position)
{
	return (word >> position & 1) != 0;
}

/* Which register states the system saves (XCR0); 0 where it does not offer XSAVE. */
static uint64_t saved_states(bool osxsave)
{
	uint32_t low, high;

	if (!osxsave)
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (uint64_t)high << 32 | low;
}

static void read_names(struct features *f)
{
	struct registers r = cpuid(0, 0);

	memcpy(f->vendor, &r.ebx, 4);
	memcpy(f->vendor + 4, &r.edx, 4);
	memcpy(f->vendor + 8, &r.ecx, 4);
	for (uint32_t i = 0; i < 3; i++) {
		r = cpuid(0x80000002 + i, 0);
		memcpy(f->brand + 16 * i, &r, 16);
	}
	if (bit(cpuid(1, 0).ecx, 31)) { /* set by hypervisors alone; their leaves are not in CPUID's range */
		__cpuid(0x40000000, r.eax, r.ebx, r.ecx, r.edx);
		memcpy(f->hypervisor, &r.ebx, 4);
		memcpy(f->hypervisor + 4, &r.ecx, 4);
		memcpy(f->hypervisor + 8, &r.edx, 4);
	}
}

/* Intel SDM, CPUID leaf 1: the extended fields count only for families 15 and 6. */
static void read_signature(struct features *f, uint32_t eax)
{
	uint32_t family = eax >> 8 & 15, extended_model = eax >> 16 & 15;

	f->stepping = eax & 15;
	f->model = eax >> 4 & 15;
	f->family = family;
	if (family == 15)
		f->family += eax >> 20 & 255;
	if (family == 15 || family == 6)
		f->model += extended_model << 4;
}

struct features features_read(void)
{
	struct features f = { 0 };
	struct registers first = cpuid(1, 0), seventh = cpuid(7, 0);
	uint64_t states = saved_states(bit(first.ecx, 27));
	bool ymm = (states & 0x06) == 0x06, zmm = (states & 0xe6) == 0xe6;

	read_names(&f);
	read_signature(&f, first.eax);
	f.erms = bit(seventh.ebx, 9);
	f.fsrm = bit(seventh.edx, 4);
	if (seventh.eax >= 1) {
		uint32_t word = cpuid(7, 1).eax;

		f.fzrm = bit(word, 10);
		f.fsrs = bit(word, 11);
		f.fsrc = bit(word, 12);
	}
	f.avx = ymm && bit(first.ecx, 28);
	f.avx2 = ymm && bit(seventh.ebx, 5);
	f.avx512f = zmm && bit(seventh.ebx, 16);
	f.avx512dq = zmm && bit(seventh.ebx, 17);
	f.avx512bw = zmm && bit(seventh.ebx, 30);
	f.avx512vl = zmm && bit(seventh.ebx, 31);
	return f;
}

enum isa features_isa(const struct features *f)
{
	if (f->avx2 && f->avx512f && f->avx512bw && f->avx512dq && f->avx512vl)
		return ISA_AVX512;
	return f->avx2 ? ISA_AVX2 : ISA_SSE2;
}

const char *isa_name(enum isa isa)
{
	static const char *const names[ISA_COUNT] = { "gpr", "sse2", "avx2", "avx512" };

	return names[isa];
}
