#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "lines.h"

/* The first "microcode : 0x..." of /proc/cpuinfo: the revision cannot be read without privilege. */
static void read_microcode(char *text, size_t length)
{
	char row[512];
	FILE *file = fopen("/proc/cpuinfo", "r");

	snprintf(text, length, "unknown");
	if (file == NULL)
		return;
	while (fgets(row, sizeof row, file) != NULL) {
		const char *value = strchr(row, ':');

		if (strncmp(row, "microcode", 9) == 0 && value != NULL) {
			snprintf(text, length, "%s", value + 1 + strspn(value + 1, " \t"));
			text[strcspn(text, "\n")] = '\0';
			break;
		}
	}
	fclose(file);
}

static void add_features(struct line *line, const struct features *f)
{
	const struct {
		const char *name;
		bool present;
	} known[] = {
		{ "erms", f->erms },         { "fsrm", f->fsrm },         { "fzrm", f->fzrm },
		{ "fsrs", f->fsrs },         { "fsrc", f->fsrc },         { "avx", f->avx },
		{ "avx2", f->avx2 },         { "avx512f", f->avx512f },   { "avx512bw", f->avx512bw },
		{ "avx512dq", f->avx512dq }, { "avx512vl", f->avx512vl },
	};
	char text[256] = "";

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		size_t length = strlen(text);

		if (known[i].present)
			snprintf(text + length, sizeof text - length, "%s%s", length ? " " : "",
				 known[i].name);
	}
	line_text(line, "features", text);
}

static void add_system(struct line *line)
{
	struct utsname system;
	const char *tunables = getenv("GLIBC_TUNABLES");
	char microcode[64], libc[64];

	read_microcode(microcode, sizeof microcode);
	line_text(line, "microcode", microcode);
	line_text(line, "kernel_release", uname(&system) == 0 ? system.release : "unknown");
	line_whole(line, "processors", sysconf(_SC_NPROCESSORS_ONLN));
#ifdef __GLIBC__
	snprintf(libc, sizeof libc, "glibc %s", gnu_get_libc_version());
#else
	snprintf(libc, sizeof libc, "not glibc");
#endif
	line_text(line, "libc", libc);
	if (tunables != NULL && tunables[0] != '\0')
		line_text(line, "tunables", tunables);
}

void machine_report(const struct features *features, const struct clock_facts *clock)
{
	struct line line = line_begin("machine");

	line_text(&line, "vendor", features->vendor);
	line_text(&line, "cpu", features->brand + strspn(features->brand, " "));
	line_whole(&line, "family", features->family);
	line_whole(&line, "model", features->model);
	line_whole(&line, "stepping", features->stepping);
	if (features->hypervisor[0] != '\0')
		line_text(&line, "hypervisor", features->hypervisor);
	line_text(&line, "isa", isa_name(features_isa(features)));
	add_features(&line, features);
	add_system(&line);
	line_real(&line, "tsc_hz", clock->ticks_per_second);
	line_whole(&line, "tsc_step", (int64_t)clock->step);
	line_real(&line, "overhead_ticks", clock->overhead);
	line_real(&line, "load", load_now());
	line_end(&line);
}

/* proc(5): user nice system idle iowait irq softirq steal guest guest_nice; guest time is already
 * part of user and nice. */
struct cpu_time cpu_time_read(void)
{
	unsigned long long value[8] = { 0 };
	struct cpu_time time = { 0, 0 };
	FILE *file = fopen("/proc/stat", "r");

	if (file == NULL)
		return time;
	if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &value[0], &value[1],
		   &value[2], &value[3], &value[4], &value[5], &value[6], &value[7]) == 8) {
		for (int i = 0; i < 8; i++)
			time.total += value[i];
		time.stolen = value[7];
	}
	fclose(file);
	return time;
}

double load_now(void)
{
	double load = 0;

	return getloadavg(&load, 1) == 1 ? load : 0;
}
