/** The environment that images, the embedded node and the first line of the program set: little memory outside of the heap. */
export const IMAGE_ENVIRONMENT = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '65536',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const;
