/* Every contract of a pack, in child processes. */
#ifndef MEMSTRAT_VERIFY_H
#define MEMSTRAT_VERIFY_H

#include <stdint.h>

#include "features.h"
#include "pack.h"
#include "place.h"

/* Prints a line {"record": "verification", "contract": index, "outcome", "detail"} for each
 * contract of [first, last). One contract may use `limit_ms` of CPU time, and five times as much
 * wall time. Returns NULL or what kept the harness from its work. */
const char *verify_contracts(const struct pack *pack, const struct placement *placement,
			     const struct features *features, uint32_t first, uint32_t last,
			     unsigned limit_ms);

#endif
