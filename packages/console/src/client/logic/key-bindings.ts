// Single keys and the sequence `g` + page. Keys are off while the user types, and single keys can be turned off (WCAG 2.1.4).

export type KeyAction =
  | { readonly go: string }
  | 'palette'
  | 'filter'
  | 'next'
  | 'previous'
  | 'open'
  | 'back'
  | 'edit'
  | 'why'
  | 'broken'
  | 'deeper'
  | 'shallower'
  | 'help';

export interface PressedKey {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  /** Whether the focus is in a field that takes text. */
  readonly isTyping: boolean;
  /** In milliseconds. */
  readonly at: number;
}

export interface KeyBindings {
  press(key: PressedKey): KeyAction | undefined;
}

export const PAGE_KEYS: readonly (readonly [key: string, path: string, title: string])[] = [
  ['o', '/', 'Overview'],
  ['t', '/time', 'Time line'],
  ['e', '/explore', 'Explorer'],
  ['i', '/ingress', 'Ingress'],
  ['c', '/cables', 'Cables'],
  ['k', '/kafka', 'Kafka proxies'],
  ['d', '/discovery', 'Discovery'],
  ['p', '/packages', 'Packages'],
];

export const SINGLE_KEYS: readonly (readonly [key: string, action: KeyAction & string, title: string])[] = [
  ['/', 'filter', 'Filter'],
  ['j', 'next', 'Next row'],
  ['k', 'previous', 'Previous row'],
  ['e', 'edit', 'Edit and plan'],
  ['w', 'why', 'Why it is as it is'],
  ['b', 'broken', 'Only broken objects'],
  ['[', 'shallower', 'One step less in graphs'],
  [']', 'deeper', 'One step more in graphs'],
  ['?', 'help', 'Shortcuts'],
];

const SEQUENCE_MS = 1500;

export function createKeyBindings(areSingleKeysOn: () => boolean): KeyBindings {
  let pendingSince: number | undefined;
  return {
    press({ key, ctrlKey, metaKey, altKey, isTyping, at }) {
      const isSequence = pendingSince !== undefined && at - pendingSince < SEQUENCE_MS;
      pendingSince = undefined;
      if ((ctrlKey || metaKey) && !altKey) return key.toLowerCase() === 'k' ? 'palette' : undefined;
      if (altKey || ctrlKey || metaKey) return undefined;
      if (key === 'Escape') return 'back';
      if (isTyping || !areSingleKeysOn()) return undefined;
      if (isSequence) {
        const page = PAGE_KEYS.find(([letter]) => letter === key);
        return page && { go: page[1] };
      }
      if (key === 'g') {
        pendingSince = at;
        return undefined;
      }
      return SINGLE_KEYS.find(([one]) => one === key)?.[1];
    },
  };
}
