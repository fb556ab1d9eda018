/* The limits of a core by another road: vector extensions, no intrinsics.
   Usage: limits BYTES; prints "f32 GFLOP/s, f64 GFLOP/s, copy GB/s" on one line each time a line comes in. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __AVX512F__
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
#define CHAINS 12

typedef float floats __attribute__((vector_size(WIDTH)));
typedef double doubles __attribute__((vector_size(WIDTH)));
typedef long longs __attribute__((vector_size(WIDTH)));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

volatile double half = 0.5, one = 1.0, sink;

#define FMA(NAME, VECTOR, ELEMENT)                                             \
  static double NAME(long count) {                                             \
    VECTOR factor = (VECTOR){0} + (ELEMENT)half, term = (VECTOR){0} + (ELEMENT)one; \
    VECTOR a[CHAINS];                                                          \
    for (int i = 0; i < CHAINS; i++) a[i] = term;                              \
    double started = now();                                                    \
    for (long n = 0; n < count; n++)                                           \
      for (int i = 0; i < CHAINS; i++) a[i] = a[i] * factor + term;            \
    double taken = now() - started;                                            \
    VECTOR sum = a[0];                                                         \
    for (int i = 1; i < CHAINS; i++) sum += a[i];                              \
    sink = sum[0];                                                             \
    return 2.0 * count * CHAINS * (WIDTH / sizeof(ELEMENT)) / taken;           \
  }
FMA(fma_f32, floats, float)
FMA(fma_f64, doubles, double)

static double copy_loop(longs *restrict to, const longs *restrict from, size_t bytes) {
  double started = now();
  for (size_t i = 0; i < bytes / WIDTH; i++) to[i] = from[i];
  return 2.0 * bytes / (now() - started);
}

static double copy_system(void *to, const void *from, size_t bytes) {
  double started = now();
  memcpy(to, from, bytes);
  sink = ((char *)to)[bytes / 2];
  return 2.0 * bytes / (now() - started);
}

static double larger(double a, double b) { return a > b ? a : b; }

int main(int argc, char **argv) {
  size_t bytes = argc > 1 ? strtoul(argv[1], 0, 10) : 64 << 20;
  char line[64];
  longs *from = aligned_alloc(4096, bytes), *to = aligned_alloc(4096, bytes);
  memset(from, 1, bytes);
  memset(to, 1, bytes);
  while (fgets(line, sizeof line, stdin)) {
    double f32 = 0, f64 = 0, copy = 0;
    for (int i = 0; i < 2; i++) {
      f32 = larger(f32, fma_f32(500000));
      f64 = larger(f64, fma_f64(500000));
      copy = larger(copy, copy_loop(to, from, bytes));
      copy = larger(copy, copy_system(to, from, bytes));
    }
    printf("%f %f %f\n", f32, f64, copy);
    fflush(stdout);
  }
  return 0;
}
