// Discovers the kinds of a server, for kinds that are only known at run time: a manifest on the command line, `KIND/NAME`. A server with
// aggregation (1.27 and newer) gets one request for the core and one for all groups; other servers get one per group version.
// https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
import { isApiError } from '../errors.ts';
import { isRecord } from '../json/is-record.ts';
import { externalKind, type Kind } from '../kind.ts';
import type { UnknownObject } from '../object.ts';
import type { Client } from './client.ts';
import { recordsIn, stringAt, stringsIn } from './json-value.ts';
import { DISCOVERY_TYPE } from './media-types.ts';

export interface DiscoveredKind extends Kind<UnknownObject> {
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  /** `status`, `scale`, … */
  readonly subresources: readonly string[];
}

export interface Discovery {
  /** Every kind in every served version: the core first, then in the server's order, with preferred versions first. */
  readonly kinds: readonly DiscoveredKind[];
  /** Group versions that are registered but do not answer (an aggregated API that is down). */
  readonly unavailable: readonly string[];
  /**
   * Finds a kind by its kind, plural, singular or short name in any case, alone or followed by `.group` or `.version.group`. The first
   * match wins, as with kubectl.
   */
  find(name: string): DiscoveredKind | undefined;
  /** Finds a kind by its apiVersion and kind in a manifest. */
  kindOf(apiVersion: string, kind: string): DiscoveredKind | undefined;
  /** Returns the kinds of a category, as in `get all`. */
  category(name: string): readonly DiscoveredKind[];
}

/** Asks the server for its kinds. */
export async function discover(client: Client, options: { signal?: AbortSignal } = {}): Promise<Discovery> {
  const [core, groups] = await Promise.all([
    discoverRoot(client, '/api', options),
    discoverRoot(client, '/apis', options),
  ]);
  return createDiscovery([...core.kinds, ...groups.kinds], [...core.unavailable, ...groups.unavailable]);
}

/**
 * Returns a predicate for the kinds that a server may have. It takes one request for the groups, and one for each group of these kinds that
 * exists. The predicate is true for kinds about which the server gives no answer.
 */
export async function servedAmong(
  client: Client,
  kinds: readonly Kind[],
  options: { signal?: AbortSignal } = {},
): Promise<(kind: Kind) => boolean> {
  const { body } = await client.request({ method: 'GET', path: '/apis', ...options });
  if (!isRecord(body) || !Array.isArray(body['groups'])) return () => true;
  const asked = new Set(kinds.map(({ apiVersion }) => apiVersion));
  const there = groupVersions(body).filter(({ group, version }) => asked.has(`${group}/${version}`));
  const { kinds: found, unavailable } = await legacy(client, there, options);
  const named = new Set(found.map(({ apiVersion, plural }) => `${apiVersion} ${plural}`));
  return ({ group, apiVersion, plural }) =>
    group === '' || unavailable.includes(apiVersion) || named.has(`${apiVersion} ${plural}`);
}

function createDiscovery(kinds: readonly DiscoveredKind[], unavailable: readonly string[]): Discovery {
  const byName = new Map<string, DiscoveredKind>();
  const add = (name: string, kind: DiscoveredKind) => {
    if (!byName.has(name)) byName.set(name, kind);
  };
  // Match resource names before short names, so that no group can take `po` or `pods` from the core.
  for (const namesOf of [longNames, (kind: DiscoveredKind) => kind.shortNames]) {
    for (const kind of kinds) {
      for (const name of namesOf(kind)) {
        const lower = name.toLowerCase();
        const suffixes = kind.group === '' ? [kind.version] : [kind.group, `${kind.version}.${kind.group}`];
        add(lower, kind);
        for (const suffix of suffixes) add(`${lower}.${suffix}`, kind);
      }
    }
  }
  const byApiVersion = new Map(kinds.toReversed().map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind]));
  return {
    kinds,
    unavailable,
    find: (name) => byName.get(name.toLowerCase()),
    kindOf: (apiVersion, kind) => byApiVersion.get(`${apiVersion} ${kind}`),
    category: (name) => kinds.filter((kind) => kind.categories.includes(name) && byName.get(kind.plural) === kind),
  };
}

function longNames({ kind, plural, singular }: DiscoveredKind): string[] {
  return [plural, singular, kind];
}

interface Found {
  kinds: DiscoveredKind[];
  unavailable: string[];
}

async function discoverRoot(client: Client, path: '/api' | '/apis', options: Options): Promise<Found> {
  const { body } = await client.request({ method: 'GET', path, accept: DISCOVERY_TYPE, ...options });
  if (!isRecord(body)) return { kinds: [], unavailable: [] };
  if (body['kind'] === 'APIGroupDiscoveryList') return aggregated(body);
  return legacy(client, path === '/api' ? coreVersions(body) : groupVersions(body), options);
}

interface Options {
  signal?: AbortSignal;
}

function aggregated(list: Record<string, unknown>): Found {
  const found: Found = { kinds: [], unavailable: [] };
  for (const item of recordsIn(list['items'])) {
    const group = isRecord(item['metadata']) ? stringAt(item['metadata'], 'name') : '';
    for (const entry of recordsIn(item['versions'])) {
      const version = stringAt(entry, 'version');
      const resources = recordsIn(entry['resources']);
      if (entry['freshness'] === 'Stale') found.unavailable.push(group === '' ? version : `${group}/${version}`);
      for (const resource of resources) {
        const responseKind = resource['responseKind'];
        // A resource without a kind has only subresources.
        if (!isRecord(responseKind)) continue;
        found.kinds.push(
          discovered({
            group,
            version,
            kind: stringAt(responseKind, 'kind'),
            plural: stringAt(resource, 'resource'),
            singular: stringAt(resource, 'singularResource'),
            isNamespaced: resource['scope'] === 'Namespaced',
            resource,
            subresources: recordsIn(resource['subresources']).map((sub) => stringAt(sub, 'subresource')),
          }),
        );
      }
    }
  }
  return found;
}

interface GroupVersion {
  group: string;
  version: string;
}

function coreVersions(body: Record<string, unknown>): GroupVersion[] {
  return stringsIn(body['versions']).map((version) => ({ group: '', version }));
}

function groupVersions(body: Record<string, unknown>): GroupVersion[] {
  return recordsIn(body['groups']).flatMap((item) => {
    const group = stringAt(item, 'name');
    const preferred = isRecord(item['preferredVersion']) ? stringAt(item['preferredVersion'], 'version') : '';
    const versions = recordsIn(item['versions']).map((entry) => stringAt(entry, 'version'));
    const ordered = [...new Set([preferred, ...versions])].filter((version) => versions.includes(version));
    return ordered.map((version) => ({ group, version }));
  });
}

async function legacy(client: Client, groups: readonly GroupVersion[], options: Options): Promise<Found> {
  const found = await Promise.all(groups.map((groupVersion) => legacyGroupVersion(client, groupVersion, options)));
  return { kinds: found.flatMap(({ kinds }) => kinds), unavailable: found.flatMap(({ unavailable }) => unavailable) };
}

async function legacyGroupVersion(client: Client, { group, version }: GroupVersion, options: Options): Promise<Found> {
  const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  try {
    const { body } = await client.request({ method: 'GET', path, ...options });
    const resources = recordsIn(isRecord(body) ? body['resources'] : undefined);
    const names = resources.map((resource) => stringAt(resource, 'name'));
    const kinds = resources
      .filter((resource) => !stringAt(resource, 'name').includes('/'))
      .map((resource) => {
        const plural = stringAt(resource, 'name');
        return discovered({
          group,
          version,
          kind: stringAt(resource, 'kind'),
          plural,
          singular: stringAt(resource, 'singularName'),
          isNamespaced: resource['namespaced'] === true,
          resource,
          subresources: names
            .filter((name) => name.startsWith(`${plural}/`))
            .map((name) => name.slice(plural.length + 1)),
        });
      });
    return { kinds, unavailable: [] };
  } catch (error) {
    // An API that is down must not hide all others.
    if (isApiError(error)) return { kinds: [], unavailable: [group === '' ? version : `${group}/${version}`] };
    throw error;
  }
}

interface Parts extends GroupVersion {
  kind: string;
  plural: string;
  singular: string;
  isNamespaced: boolean;
  resource: Record<string, unknown>;
  subresources: string[];
}

function discovered(parts: Parts): DiscoveredKind {
  const { group, version, kind, plural, resource, subresources } = parts;
  const base = externalKind<UnknownObject>({
    group,
    version,
    kind,
    plural,
    scope: parts.isNamespaced ? 'Namespaced' : 'Cluster',
    hasStatus: subresources.includes('status'),
    // Discovery has no such field. Secret is the only built-in kind whose content is sensitive.
    sensitive: group === '' && kind === 'Secret',
  });
  return {
    ...base,
    singular: parts.singular || kind.toLowerCase(),
    shortNames: stringsIn(resource['shortNames']),
    categories: stringsIn(resource['categories']),
    verbs: stringsIn(resource['verbs']),
    subresources,
  };
}
