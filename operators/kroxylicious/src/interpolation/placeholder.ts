// Replaces placeholders in filter configurations. A string value that is exactly `${secret:NAME:KEY}` or `${configmap:NAME:KEY}` becomes
// the path of the file at which the key is mounted. The value itself never enters the configuration.
//
// Carets before a placeholder escape it. After an odd number of carets the placeholder stays text, after an even number it is replaced. In
// both cases half of the carets stay, rounded down.
import type { JsonObject } from '@capstan/kube';

export type Provider = 'secret' | 'configmap';

export interface Placeholder {
  readonly provider: Provider;
  readonly name: string;
  readonly key: string;
}

export interface Reference extends Placeholder {
  /** The path of the first use, below `spec.configTemplate`: `.rules[0].file`. */
  readonly path: string;
}

export interface PlaceholderFault {
  /** The path below `spec.configTemplate`: `.rules[0].file`. */
  readonly path: string;
  readonly problem: string;
}

export interface Interpolated {
  readonly config: JsonObject;
  /** Without duplicates: Secrets first, sorted by name and key. */
  readonly references: readonly Reference[];
  readonly faults: readonly PlaceholderFault[];
}

/** Names have at most 253 characters, as Kubernetes allows for Secrets and ConfigMaps. */
const WHOLE = /^(\^*)\$\{([a-z]{1,63}):([a-zA-Z0-9_.-]{1,253}):([a-zA-Z0-9_.-]+)\}$/;
/** Matches a placeholder with other text around it. */
const WITHIN = /(\^*)\$\{[a-z]{1,63}:[a-zA-Z0-9_.-]{1,253}:[a-zA-Z0-9_.-]+\}/;
/**
 * Matches a malformed placeholder of ours: the key is missing, the brace is not closed, or letters are in upper case. Placeholders of other
 * tools stay text.
 */
const MEANT = /(\^*)\$\{\s*(?:secret|configmap)\s*:/i;

/** Returns the configuration with paths instead of placeholders, and the references that it contains. */
export function interpolate(template: JsonObject, pathOf: (placeholder: Placeholder) => string): Interpolated {
  const references = new Map<string, Reference>();
  const faults: PlaceholderFault[] = [];

  function text(value: string, path: string): string {
    const match = WHOLE.exec(value);
    if (match === null) {
      const inside = WITHIN.exec(value) ?? MEANT.exec(value);
      if (inside !== null && (inside[1]?.length ?? 0) % 2 === 0)
        faults.push({ path, problem: 'a placeholder must be the whole value, of the form ${secret:NAME:KEY}' });
      return value;
    }
    const [, carets = '', provider = '', name = '', key = ''] = match;
    const kept = '^'.repeat(Math.floor(carets.length / 2));
    if (carets.length % 2 === 1) return kept + value.slice(carets.length);
    if (provider !== 'secret' && provider !== 'configmap') {
      faults.push({ path, problem: `there is no provider "${provider}": use secret or configmap` });
      return value;
    }
    const placeholder: Placeholder = { provider, name, key };
    const id = JSON.stringify([provider === 'secret' ? 0 : 1, name, key]);
    if (!references.has(id)) references.set(id, { ...placeholder, path });
    return kept + pathOf(placeholder);
  }

  function within(value: unknown, path: string): unknown {
    if (typeof value === 'string') return text(value, path);
    if (Array.isArray(value)) return value.map((item, i) => within(item, `${path}[${i}]`));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, within(part, `${path}.${name}`)]));
  }

  const config = within(template, '') as JsonObject;
  const sorted = [...references].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return { config, references: sorted.map(([, placeholder]) => placeholder), faults };
}
