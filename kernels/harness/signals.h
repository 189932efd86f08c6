/* Names of the signals that a code can end with. sigabbrev_np would know them all, but only in
 * glibc 2.32 or later. */
#ifndef MEMSTRAT_SIGNALS_H
#define MEMSTRAT_SIGNALS_H

#include <signal.h>

static inline const char *signal_name(int number)
{
	switch (number) {
	case SIGSEGV: return "SIGSEGV";
	case SIGBUS: return "SIGBUS";
	case SIGILL: return "SIGILL";
	case SIGFPE: return "SIGFPE";
	case SIGTRAP: return "SIGTRAP";
	case SIGSYS: return "SIGSYS";
	case SIGKILL: return "SIGKILL";
	case SIGABRT: return "SIGABRT";
	default: return "an unusual signal";
	}
}

#endif
