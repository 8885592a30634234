// Timeouts as the configuration has them: empty or zero is Envoy's own default, `infinity` switches a timeout off.
import { parseDuration } from '@capstan/kube';

export type Timeout =
  | { readonly kind: 'default' }
  | { readonly kind: 'infinite' }
  | { readonly kind: 'after'; readonly ms: number };

/** The meaning of a timeout; the problem when it has none. */
export function parseTimeout(text: string | undefined): Timeout | { problem: string } {
  if (text === undefined || text === '') return { kind: 'default' };
  if (text === 'infinity' || text === 'infinite') return { kind: 'infinite' };
  try {
    const ms = parseDuration(text);
    if (ms < 0) return { problem: 'is negative' };
    return ms === 0 ? { kind: 'default' } : { kind: 'after', ms };
  } catch {
    return { problem: 'is not a duration' };
  }
}
