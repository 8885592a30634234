// The address of the page as a signal. Links of the page change it without a load.
import { signal } from '@preact/signals';
import { parseRoute, type Route } from '../logic/routes.ts';

export const route = signal<Route>(current());

export function follow(link: string): void {
  if (link !== location.pathname + location.search) history.pushState(null, '', link);
  show();
  scrollTo(0, 0);
}

/** Changes the address without an entry in the history, as for each key of a filter. */
export function replace(link: string): void {
  history.replaceState(null, '', link + location.hash);
  show();
}

/** Follows the links of the page and the buttons of the browser. */
export function watchLocation(): void {
  addEventListener('popstate', show);
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = (event.target as Element | null)?.closest?.('a[href^="/"]');
    if (!link || link.hasAttribute('target')) return;
    event.preventDefault();
    follow(link.getAttribute('href') ?? '/');
  });
}

/** Puts values into the query of the address; an empty value removes its name. */
export function withQuery(values: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  return location.pathname + (text === '' ? '' : `?${text}`);
}

function show(): void {
  route.value = current();
}

function current(): Route {
  return parseRoute(location.pathname, location.search);
}
