// Properties of the window as signals.
import { signal } from '@preact/signals';

const narrow = matchMedia('(max-width: 760px)');

/** Whether graphs are shown as lists, because the window has no room for columns. */
export const isNarrow = signal(narrow.matches);

narrow.addEventListener('change', ({ matches }) => (isNarrow.value = matches));
