// Timeouts as the configuration has them: empty or zero is Envoy's own default, `infinity` switches a timeout off.
import { parseDuration } from '@capstan/kube/values';
import { accept, type Result, refuse } from '../result.ts';

export type Timeout =
  | { readonly kind: 'default' }
  | { readonly kind: 'infinite' }
  | { readonly kind: 'after'; readonly ms: number };

/** The meaning of a timeout; the problem when it has none. */
export function parseTimeout(text: string | undefined): Result<Timeout> {
  if (text === undefined || text === '') return accept({ kind: 'default' });
  if (text === 'infinity' || text === 'infinite') return accept({ kind: 'infinite' });
  try {
    const ms = parseDuration(text);
    if (ms < 0) return refuse('is negative');
    return accept(ms === 0 ? { kind: 'default' } : { kind: 'after', ms });
  } catch {
    return refuse('is not a duration');
  }
}
