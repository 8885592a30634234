import type { Scale } from '../bench.ts';

/**
 * Returns the size of a part. CAPSTAN_APISERVER_BRIEF shortens a full run, so that three runs of writes and watches, and one of the other parts
 * except churn, take less than ten minutes.
 */
export function sizeOf<T extends object>(sizes: Readonly<Record<Scale, T>>, scale: Scale, brief: Partial<T>): T {
  const isBrief = scale === 'full' && (process.env['CAPSTAN_APISERVER_BRIEF'] ?? '') !== '';
  return isBrief ? { ...sizes[scale], ...brief } : sizes[scale];
}
