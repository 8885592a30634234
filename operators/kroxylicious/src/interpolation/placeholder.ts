// Placeholders in filter configurations: `${secret:NAME:KEY}` and `${configmap:NAME:KEY}`, as the whole of a string value,
// become the path of the file that the key is mounted at. The value itself never enters the configuration.
//
// Carets before a placeholder quote it: with an odd number it stays text, with an even number it is filled in; in both cases
// half of the carets stay (an odd one rounded down).
import type { JsonObject } from '@capstan/kube';

export type Provider = 'secret' | 'configmap';

export interface Placeholder {
  readonly provider: Provider;
  readonly name: string;
  readonly key: string;
}

export interface Reference extends Placeholder {
  /** Where it stands first, below `spec.configTemplate`: `.rules[0].file`. */
  readonly path: string;
}

export interface PlaceholderFault {
  /** Below `spec.configTemplate`: `.rules[0].file`. */
  readonly path: string;
  readonly problem: string;
}

export interface Interpolated {
  readonly config: JsonObject;
  /** Each once, Secrets first, sorted by name and key. */
  readonly references: readonly Reference[];
  readonly faults: readonly PlaceholderFault[];
}

/** Names are as long as Kubernetes takes them for Secrets and ConfigMaps: 253 characters. */
const WHOLE = /^(\^*)\$\{([a-z]{1,63}):([a-zA-Z0-9_.-]{1,253}):([a-zA-Z0-9_.-]+)\}$/;
/** One with other text around it. */
const WITHIN = /(\^*)\$\{[a-z]{1,63}:[a-zA-Z0-9_.-]{1,253}:[a-zA-Z0-9_.-]+\}/;
/** Something that was meant as one of ours: a key is missing, the brace is not closed, letters are large. Others' stay text. */
const MEANT = /(\^*)\$\{\s*(?:secret|configmap)\s*:/i;

/** The configuration with paths instead of placeholders, and what it refers to. */
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
