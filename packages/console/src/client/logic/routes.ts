// The URL is the state: every view has an address, and an address gives the same view again.

/** An object in a world; the local world is ''. */
export interface ObjectPlace {
  readonly world: string;
  /** `Kind.group`, or `Kind` for the core group. */
  readonly kind: string;
  /** `namespace/name`, or `name`. */
  readonly key: string;
}

export type PageName =
  | 'overview'
  | 'time'
  | 'explore'
  | 'plan'
  | 'ingress'
  | 'cables'
  | 'kafka'
  | 'discovery'
  | 'packages'
  | 'object'
  | 'missing';

/** The depth of graphs where the address has none. */
export const DEFAULT_DEPTH = 3;

export interface Route {
  readonly page: PageName;
  /** The decoded parts of the path after the page. */
  readonly parts: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

const PAGES: Readonly<Record<string, PageName>> = {
  '': 'overview',
  time: 'time',
  explore: 'explore',
  plan: 'plan',
  ingress: 'ingress',
  cables: 'cables',
  kafka: 'kafka',
  discovery: 'discovery',
  packages: 'packages',
  o: 'object',
};

export function parseRoute(path: string, search: string): Route {
  const [first = '', ...rest] = path
    .replace(/^\//, '')
    .split('/')
    .map((part) => decoded(part));
  const page = Object.hasOwn(PAGES, first) ? PAGES[first] : undefined;
  const parts = rest.filter((part) => part !== '');
  const query = Object.fromEntries(new URLSearchParams(search));
  if (page === undefined || (page === 'object' && placeOf(parts) === undefined))
    return { page: 'missing', parts: [first, ...parts], query };
  return { page, parts, query };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Reads `WORLD/KIND.GROUP/NAMESPACE/NAME`; undefined where a part is missing. */
export function placeOf(parts: readonly string[]): ObjectPlace | undefined {
  const [world = '', kind = '', ...key] = parts;
  if (world === '' || kind === '' || key.length === 0 || key.length > 2) return undefined;
  return { world: world === '-' ? '' : world, kind, key: key.join('/') };
}

/** The path of an object below `/o/`, `/api/object/` and `/api/graph/`. */
export function pathOfPlace({ world, kind, key }: ObjectPlace): string {
  return [world === '' ? '-' : world, kind, ...key.split('/')].map(encodeURIComponent).join('/');
}

export function linkToObject(place: ObjectPlace, tab = ''): string {
  return `/o/${pathOfPlace(place)}${tab === '' ? '' : `?tab=${encodeURIComponent(tab)}`}`;
}

export function linkToExplorer(q: string): string {
  return q === '' ? '/explore' : `/explore?q=${encodeURIComponent(q)}`;
}

/** Reads an id as reports have it: `Kind.group namespace/name`, with `WORLD/` before it for other worlds. */
export function parseObjectId(id: string): ObjectPlace | undefined {
  const space = id.indexOf(' ');
  if (space <= 0) return undefined;
  const [head, key] = [id.slice(0, space), id.slice(space + 1)];
  const slash = head.lastIndexOf('/');
  if (key === '') return undefined;
  return { world: slash < 0 ? '' : head.slice(0, slash), kind: head.slice(slash + 1), key };
}

/** The kind without its group. */
export function kindName(kind: string): string {
  const dot = kind.indexOf('.');
  return dot < 0 ? kind : kind.slice(0, dot);
}

export function nameOf(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

export function namespaceOf(key: string): string {
  const slash = key.lastIndexOf('/');
  return slash < 0 ? '' : key.slice(0, slash);
}

/** `Kind namespace/name`, as sentences name an object. */
export function describe({ world, kind, key }: ObjectPlace): string {
  return `${kindName(kind)} ${key}${world === '' ? '' : ` in ${world}`}`;
}
