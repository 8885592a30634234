// Carries out the keys of the page.
import { createKeyBindings, type KeyAction } from '../logic/key-bindings.ts';
import { DEFAULT_DEPTH, linkToExplorer, pathOfPlace, placeOf } from '../logic/routes.ts';
import { follow, replace, route, withQuery } from '../state/location.ts';
import { areSingleKeysOn } from '../state/preferences.ts';
import { isHelpOpen, isPaletteOpen } from './dialogs.ts';

const MAX_DEPTH = 6;

export function listenToKeys(): () => void {
  const keys = createKeyBindings(() => areSingleKeysOn.value);
  const press = (event: KeyboardEvent) => {
    // The editor is in a shadow tree: the target of the event is its host.
    const target = event.composedPath()[0];
    const isTyping =
      target instanceof HTMLElement && (target.matches('input, textarea, select') || target.isContentEditable);
    const { key, ctrlKey, metaKey, altKey, timeStamp: at } = event;
    const isModal = isPaletteOpen.value || isHelpOpen.value;
    const action = keys.press({ key, ctrlKey, metaKey, altKey, isTyping: isTyping || isModal, at });
    if (action === undefined) return;
    if (action === 'back' && (isModal || isTyping || event.defaultPrevented)) return;
    if (action !== 'back') event.preventDefault();
    perform(action);
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}

function perform(action: KeyAction): void {
  if (typeof action === 'object') return follow(action.go);
  const { page, parts, query } = route.peek();
  const place = page === 'object' ? placeOf(parts) : undefined;
  switch (action) {
    case 'palette':
      isPaletteOpen.value = !isPaletteOpen.value;
      return;
    case 'help':
      isHelpOpen.value = true;
      return;
    case 'filter':
      if (document.getElementById('filter') === null) follow('/explore');
      requestAnimationFrame(() => document.getElementById('filter')?.focus());
      return;
    case 'broken':
      if (page === 'time') return replace(withQuery({ only: query['only'] === 'broken' ? '' : 'broken' }));
      return follow(linkToExplorer('is:unready'));
    case 'edit':
      // Plans are computed for the cluster of the console alone.
      if (place !== undefined && place.world !== '') return;
      return follow(place === undefined ? '/plan' : `/plan?object=${encodeURIComponent(pathOfPlace(place))}`);
    case 'why':
      document.getElementById('why')?.focus();
      return;
    case 'deeper':
    case 'shallower': {
      const depth = Number(query['depth'] ?? DEFAULT_DEPTH) + (action === 'deeper' ? 1 : -1);
      if (place !== undefined && depth >= 1 && depth <= MAX_DEPTH) replace(withQuery({ depth: String(depth) }));
      return;
    }
    case 'next':
    case 'previous':
      return moveRow(action === 'next' ? 1 : -1);
    case 'back':
      if (page !== 'overview') history.back();
      return;
    case 'open':
      return;
  }
}

/** Moves the focus among the rows of the page; the first press takes the first row. */
function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main [data-row]')];
  const at = rows.findIndex((row) => row === document.activeElement);
  rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))]?.focus();
}
