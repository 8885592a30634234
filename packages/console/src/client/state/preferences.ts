// Choices of the user that the browser keeps for this origin.
import { effect, signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const theme = signal<Theme>(THEMES.find((one) => one === kept('theme')) ?? 'system');
export const areSingleKeysOn = signal(kept('single-keys') !== 'off');

effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  keep('theme', theme.value);
});
effect(() => keep('single-keys', areSingleKeysOn.value ? 'on' : 'off'));

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
}

/** A browser without storage keeps nothing beyond the tab. */
export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`capstan.${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`capstan.${name}`);
    else localStorage.setItem(`capstan.${name}`, value);
  } catch {
    // The choice holds until the tab is closed.
  }
}
