/* What this CPU says of itself, read from CPUID itself: /proc/cpuinfo knows no leaf 7.1. */
#ifndef MEMSTRAT_FEATURES_H
#define MEMSTRAT_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "pack.h"

struct features {
	char vendor[13];
	char brand[49];
	char hypervisor[13]; /* empty on bare metal */
	uint32_t family, model, stepping;
	bool erms, fsrm, fzrm, fsrs, fsrc; /* fast rep movs/stos, long and short */
	bool avx;                          /* with the system's support, as all below */
	bool avx2, avx512f, avx512bw, avx512dq, avx512vl;
};

struct features features_read(void);

/* The widest ISA that codes may use here; avx512 means F, BW, DQ and VL together. */
enum isa features_isa(const struct features *features);

/* "gpr", "sse2", "avx2", "avx512". */
const char *isa_name(enum isa isa);

#endif
