import { signal } from '@preact/signals';

export const isPaletteOpen = signal(false);
export const isHelpOpen = signal(false);
/** The pages of a narrow window. */
export const isMenuOpen = signal(false);
