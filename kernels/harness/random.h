/* Random numbers that a seed reproduces: xoshiro256** 1.0, seeded by splitmix64 (both by Blackman and
 * Vigna, public domain; written anew here). Fast enough to shuffle between two timed batches. */
#ifndef MEMSTRAT_RANDOM_H
#define MEMSTRAT_RANDOM_H

#include <stdint.h>

struct random_state {
	uint64_t word[4];
};

static inline struct random_state random_from_seed(uint64_t seed)
{
	struct random_state state;

	for (int i = 0; i < 4; i++) {
		uint64_t mixed = seed += 0x9e3779b97f4a7c15;

		mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
		mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
		state.word[i] = mixed ^ (mixed >> 31);
	}
	return state;
}

static inline uint64_t random_rotate(uint64_t value, int bits)
{
	return (value << bits) | (value >> (64 - bits));
}

static inline uint64_t random_next(struct random_state *state)
{
	uint64_t *word = state->word;
	uint64_t result = random_rotate(word[1] * 5, 7) * 9;
	uint64_t shifted = word[1] << 17;

	word[2] ^= word[0];
	word[3] ^= word[1];
	word[1] ^= word[2];
	word[0] ^= word[3];
	word[2] ^= shifted;
	word[3] = random_rotate(word[3], 45);
	return result;
}

/* Uniform in [0, limit), limit > 0; the bias of a 128-bit product is below 2^-32 here. */
static inline uint32_t random_below(struct random_state *state, uint32_t limit)
{
	return (uint32_t)(((unsigned __int128)random_next(state) * limit) >> 64);
}

/* Fisher-Yates. */
static inline void random_shuffle(struct random_state *state, uint32_t *values, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = random_below(state, i);
		uint32_t swapped = values[i - 1];

		values[i - 1] = values[j];
		values[j] = swapped;
	}
}

#endif
