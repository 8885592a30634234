/** The value below which a share of the samples lies, by nearest rank. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.max(1, Math.ceil(share * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** Always one of the samples: of an even number the lower middle. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}
