import { clockTime } from '../logic/relative-time.ts';
import type { Route } from '../logic/routes.ts';
import { kindName, placeOf } from '../logic/routes.ts';
import { Icon } from '../parts/glyph.tsx';
import { route } from '../state/location.ts';
import { connection } from '../state/stream.ts';
import { now } from '../state/world.ts';
import { isMenuOpen, isPaletteOpen } from './dialogs.ts';

const TITLES: Readonly<Record<Route['page'], string>> = {
  overview: 'Overview',
  time: 'Time line',
  explore: 'Explorer',
  plan: 'Plan a change',
  ingress: 'Ingress',
  cables: 'Cables',
  kafka: 'Kafka proxies',
  discovery: 'Discovery',
  packages: 'Packages',
  object: 'Explorer',
  missing: 'Not found',
};

export function Top() {
  const crumbs = crumbsOf(route.value);
  return (
    <header class="top">
      <button
        type="button"
        class="button small menu"
        aria-expanded={isMenuOpen.value}
        aria-controls="menu"
        onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
      >
        <Icon name="menu" />
        Menu
      </button>
      <nav class="crumbs" aria-label="Where you are">
        {crumbs.map(([text, link], at) => [
          at > 0 && (
            <span class="sep" aria-hidden="true">
              /
            </span>
          ),
          at === crumbs.length - 1 ? <b>{text}</b> : link === '' ? <span>{text}</span> : <a href={link}>{text}</a>,
        ])}
      </nav>
      <button type="button" class="find" onClick={() => (isPaletteOpen.value = true)}>
        <Icon name="find" />
        <span class="cut">Search or jump to</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Live />
    </header>
  );
}

function Live() {
  const { value } = connection;
  const isLive = value.state === 'live';
  return (
    <span class="live">
      <span class={`dot ${isLive ? '' : 'off'}`} />
      {isLive
        ? 'Live'
        : value.state === 'waiting'
          ? `As of ${clockTime(timeOf(value.since), now.value)}`
          : 'Connecting'}
    </span>
  );
}

export function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

export function titleOf(found: Route): string {
  const crumbs = crumbsOf(found);
  return `${crumbs.at(-1)?.[0] ?? ''} · Capstan`;
}

/** The texts and links from the page to the place on it. */
function crumbsOf({ page, parts }: Route): readonly (readonly [text: string, link: string])[] {
  const title = TITLES[page];
  if (page === 'object') {
    const place = placeOf(parts);
    if (place === undefined) return [[title, '/explore']];
    const key = place.key.split('/');
    const kind = kindName(place.kind);
    return [
      [title, '/explore'],
      ...(place.world === '' ? [] : [[place.world, ''] as const]),
      [kind, `/explore?q=${encodeURIComponent(`kind:${place.kind}`)}`],
      ...(key.length === 1 ? [] : [[key[0] ?? '', `/explore?q=${encodeURIComponent(`ns:${key[0]}`)}`] as const]),
      [key.at(-1) ?? '', ''],
    ];
  }
  if (page === 'overview' || page === 'missing' || parts.length === 0) return [[title, '/']];
  return [[title, `/${page}`], ...parts.map((part) => [part, ''] as const)];
}
