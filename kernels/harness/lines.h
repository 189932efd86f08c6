/* Results as JSON lines on standard output, each written whole and at once, so that a reader has
 * everything up to the moment at which the harness dies. */
#ifndef MEMSTRAT_LINES_H
#define MEMSTRAT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct line {
	size_t length;
	char text[4096];
};

/* {"record": "<record>" ... */
struct line line_begin(const char *record);

/* Keys are plain identifiers. Values are escaped; a value that does not fit is left out. */
void line_whole(struct line *line, const char *key, int64_t value);
void line_real(struct line *line, const char *key, double value);
void line_truth(struct line *line, const char *key, bool value);
void line_text(struct line *line, const char *key, const char *value);

/* Writes the line; ends the process where standard output is gone. */
void line_end(struct line *line);

#endif
