// The draft of a plan: in the fragment of the address, which browsers never send, and in the storage of the tab. Manifests of Secrets
// are in neither.
import { outlineOf } from '../manifests/yaml-outline.ts';

const NAME = 'capstan.draft';
/** Longer drafts are in the storage of the tab alone: addresses have limits. */
const MOST_IN_ADDRESS = 6000;

/** Numbers the plans of this tab, so that the server ends the older ones. */
export const DRAFT_ID = crypto.randomUUID();

export function keptDraft(): string {
  const [, encoded] = /^#draft=(.+)$/.exec(location.hash) ?? [];
  try {
    return encoded === undefined ? (sessionStorage.getItem(NAME) ?? '') : decodeURIComponent(encoded);
  } catch {
    return '';
  }
}

export function keepDraft(text: string): void {
  const isKept = text.trim() !== '' && !outlineOf(text).some(({ kind }) => kind === 'Secret');
  const fragment = isKept && text.length <= MOST_IN_ADDRESS ? `#draft=${encodeURIComponent(text)}` : '';
  history.replaceState(null, '', location.pathname + location.search + fragment);
  try {
    if (isKept) sessionStorage.setItem(NAME, text);
    else sessionStorage.removeItem(NAME);
  } catch {
    // The draft ends with the page.
  }
}
