#include "lines.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Appends, or leaves the line as it was where the text does not fit; room for "}\n" is kept. */
__attribute__((format(printf, 2, 3))) static void append(struct line *line, const char *format, ...)
{
	size_t room = sizeof line->text - line->length - 2;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(line->text + line->length, room, format, arguments);
	va_end(arguments);
	if (length > 0 && (size_t)length < room)
		line->length += (size_t)length;
}

struct line line_begin(const char *record)
{
	struct line line;

	line.length = 0;
	append(&line, "{\"record\": \"%s\"", record);
	return line;
}

void line_whole(struct line *line, const char *key, int64_t value)
{
	append(line, ", \"%s\": %lld", key, (long long)value);
}

void line_real(struct line *line, const char *key, double value)
{
	if (isfinite(value))
		append(line, ", \"%s\": %.9g", key, value);
	else
		append(line, ", \"%s\": null", key);
}

void line_truth(struct line *line, const char *key, bool value)
{
	append(line, ", \"%s\": %s", key, value ? "true" : "false");
}

void line_text(struct line *line, const char *key, const char *value)
{
	char escaped[1024];
	size_t length = 0;

	for (const char *next = value; *next != '\0' && length + 7 < sizeof escaped; next++) {
		unsigned char byte = (unsigned char)*next;

		if (byte == '"' || byte == '\\')
			length += (size_t)sprintf(escaped + length, "\\%c", byte);
		else if (byte < 0x20 || byte >= 0x7f)
			length += (size_t)sprintf(escaped + length, "\\u%04x", byte);
		else
			escaped[length++] = (char)byte;
	}
	escaped[length] = '\0';
	append(line, ", \"%s\": \"%s\"", key, escaped);
}

void line_end(struct line *line)
{
	line->text[line->length++] = '}';
	line->text[line->length++] = '\n';
	for (size_t written = 0; written < line->length;) {
		ssize_t now = write(STDOUT_FILENO, line->text + written, line->length - written);

		if (now <= 0)
			_exit(EXIT_FAILURE);
		written += (size_t)now;
	}
}
