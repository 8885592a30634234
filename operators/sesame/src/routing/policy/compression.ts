// Compression of answers of a route or a host, in the place of that of the configuration.
import type { Compression } from '../../model/policy.ts';
import { accept, type Result, refuse } from '../../result.ts';

const ALGORITHMS: Readonly<Record<string, Compression | 'off'>> = {
  gzip: 'gzip',
  brotli: 'brotli',
  zstd: 'zstd',
  disabled: 'off',
};

/** Returns the compression, or its problem: `algorithm: …`. */
export function compressionOf({ algorithm }: { readonly algorithm: string }): Result<Compression | 'off'> {
  const found = Object.hasOwn(ALGORITHMS, algorithm) ? ALGORITHMS[algorithm] : undefined;
  if (found) return accept(found);
  return refuse(`algorithm: ${JSON.stringify(algorithm)} is not known; use gzip, brotli, zstd or disabled`);
}
