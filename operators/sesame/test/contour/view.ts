// The resources of a host from either of the two, in one form: names that follow from a digest are replaced by their meaning.
import type { Resources } from './contour.ts';

export type Value = string | number | boolean | null | readonly Value[] | { readonly [field: string]: Value };
type Fields = { readonly [field: string]: Value };

export interface HostView {
  readonly plain: Value;
  readonly secure: Value;
  readonly chain: Value;
}

export function hostView(resources: Resources, host: string): HostView {
  const clusters = resources.get('cds');
  const shown = (value: unknown) => normalised(value, (name) => clusters?.get(name));
  const virtualHost = (routes: string) => {
    const { virtual_hosts: all = [] } = (resources.get('rds')?.get(routes) ?? {}) as {
      virtual_hosts?: readonly Fields[];
    };
    const found = all.find(({ domains }) => Array.isArray(domains) && domains.includes(host));
    return found === undefined ? null : shown(byMatch(found));
  };
  const { filter_chains: chains = [] } = (resources.get('lds')?.get('ingress_https') ?? {}) as {
    filter_chains?: readonly Fields[];
  };
  const chain = chains.find(({ filter_chain_match: match }) =>
    ((match as { server_names?: readonly string[] } | undefined)?.server_names ?? []).includes(host),
  );
  return {
    plain: virtualHost('ingress_http'),
    secure: virtualHost(`https/${host}`),
    chain: chain === undefined ? null : shown(withoutName(chain)),
  };
}

/** Returns the parts of listeners that all hosts share, by the names of the listeners. */
export function listenersView(resources: Resources): Value {
  const clusters = resources.get('cds');
  const listeners = [...(resources.get('lds') ?? [])].map(([name, listener]): [string, Value] => {
    const { filter_chains: chains = [], ...shared } = listener as Fields & { filter_chains?: readonly Fields[] };
    // The chains of the HTTPS listener are those of hosts.
    const content = name === 'ingress_https' ? shared : { ...shared, filter_chains: chains };
    return [name, normalised(withoutName(content), (cluster) => clusters?.get(cluster))];
  });
  return sorted(Object.fromEntries(listeners));
}

/** Routes by their match, so that one that is missing does not shift all others; their order is compared by itself. */
function byMatch(host: Fields): Fields {
  const routes = (host['routes'] ?? []) as readonly Fields[];
  const keys = routes.map(({ match }) => JSON.stringify(inAnyOrder(match ?? null)));
  return {
    ...host,
    order: keys,
    routes: Object.fromEntries(routes.map((route, at) => [keys[at] ?? '', { ...route, match: null }])),
  };
}

/** All conditions of a match must hold: their order means nothing. */
function inAnyOrder(match: Value): Value {
  if (!isFields(match)) return match;
  const lists = Object.entries(match).map(([key, value]): [string, Value] => [
    key,
    Array.isArray(value) ? value.map((each) => JSON.stringify(sorted(each as Value))).toSorted() : value,
  ]);
  return sorted(Object.fromEntries(lists));
}

/** Names, and fields that only statistics and logs show. */
const LEFT_OUT = new Set(['alt_stat_name', 'metadata', 'stat_prefix', 'track_remaining']);
/** Values that Envoy has without them. */
const DEFAULTS: Readonly<Record<string, unknown>> = {
  codec_type: 'AUTO',
  lb_policy: 'ROUND_ROBIN',
  server_header_transformation: 'OVERWRITE',
  denominator: 'HUNDRED',
  action: 'ALLOW',
  response_code: 'MOVED_PERMANENTLY',
  per_try_timeout: '0s',
  enable_x_ratelimit_headers: 'OFF',
};
const DEFAULT_CIPHERS =
  '["[ECDHE-ECDSA-AES128-GCM-SHA256|ECDHE-ECDSA-CHACHA20-POLY1305]","[ECDHE-RSA-AES128-GCM-SHA256|ECDHE-RSA-CHACHA20-POLY1305]","ECDHE-ECDSA-AES256-GCM-SHA384","ECDHE-RSA-AES256-GCM-SHA384"]';

/** A method is written in capitals, and the name of a filter or of a route configuration within a listener means nothing. */
function withoutSpelling(fields: Fields): Fields {
  if (fields['name'] === 'router') return { ...fields, name: 'envoy.filters.http.router' };
  if (fields['name'] !== ':method' || !isFields(fields['string_match'])) return fields;
  const { ignore_case: _, ...match } = fields['string_match'];
  return { ...fields, string_match: match };
}

function normalised(value: unknown, cluster: (name: string) => unknown): Value {
  if (typeof value === 'string') {
    const found = cluster(value);
    if (found !== undefined) return normalised(withoutName(found as Fields), () => undefined);
    return value.replace(/^contour\b/, 'sesame');
  }
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (Array.isArray(value)) return value.map((each) => normalised(each, cluster));
  if (typeof value !== 'object' || value === null) return null;
  const fields = Object.entries(withoutSpelling(value as Fields)).filter(
    ([key, content]) => !LEFT_OUT.has(key) && !isDefault(key, content),
  );
  const of = ([key, content]: [string, unknown]): [string, Value] => {
    if (key === 'eds_config' || key === 'config_source' || key === 'sds_config') return [key, 'xDS'];
    if (key === 'http_filters') return [key, byName((content as readonly Fields[]).map(withoutSpelling), cluster)];
    if (key === 'route_config') return [key, normalised(withoutName(content as Fields), cluster)];
    // The order of headers with different names means nothing.
    if (/^(?:request|response)_headers_to_add$/.test(key)) return [key, byHeader(normalised(content, cluster))];
    const name = normalised(content, cluster);
    if (key !== 'tls_certificate_sds_secret_configs') return [key, name];
    return [key, JSON.parse(JSON.stringify(name).replace(/("[^/"]+\/[^/"]+)\/[0-9a-f]{10}"/g, '$1"')) as Value];
  };
  return Object.fromEntries(fields.map(of).filter(([, content]) => !isEmptyList(content)));
}

function byName(filters: readonly Fields[], cluster: (name: string) => unknown): Value {
  const of = (filter: Fields): [string, Value] => [
    typeof filter['name'] === 'string' ? filter['name'] : '',
    normalised(filter, cluster),
  ];
  // A filter that no host has switched on does nothing.
  const used = filters.filter(({ disabled }) => disabled !== true);
  return { names: used.map(({ name }) => name ?? ''), ...Object.fromEntries(used.map(of)) };
}

function byHeader(headers: Value): Value {
  const name = (each: Value) => JSON.stringify(isFields(each) ? each['header'] : each);
  if (!Array.isArray(headers)) return headers;
  return (headers as readonly Value[]).toSorted((left, right) => name(left).localeCompare(name(right)));
}

/** Such as thresholds that only count. */
function isEmptyList(value: Value): boolean {
  return (
    Array.isArray(value) && value.every((each) => isFields(each as Value) && Object.keys(each as Fields).length === 0)
  );
}

function withoutName(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => key !== 'name'));
}

function isDefault(key: string, value: unknown): boolean {
  if (value === undefined || DEFAULTS[key] === value) return true;
  if (key === 'runtime_fraction') return JSON.stringify(value).startsWith('{"default_value":{"numerator":100}');
  return key === 'cipher_suites' && JSON.stringify(value) === DEFAULT_CIPHERS;
}

export function sorted(value: Value): Value {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Fields)
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, content]) => [key, sorted(content)]),
  );
}

export interface Found {
  readonly path: string;
  readonly contour: Value | undefined;
  readonly sesame: Value | undefined;
}

/** The leaves that differ. */
export function differencesBetween(contour: Value | undefined, sesame: Value | undefined, path = ''): Found[] {
  if (JSON.stringify(contour) === JSON.stringify(sesame)) return [];
  if (isFields(contour) && isFields(sesame))
    return [...new Set([...Object.keys(contour), ...Object.keys(sesame)])].flatMap((key) =>
      differencesBetween(contour[key], sesame[key], `${path}.${key.startsWith('{') ? `[${key}]` : key}`),
    );
  if (Array.isArray(contour) && Array.isArray(sesame) && contour.length === sesame.length)
    return contour.flatMap((each, at) => differencesBetween(each as Value, sesame[at] as Value, `${path}[${at}]`));
  return [{ path, contour, sesame }];
}

function isFields(value: Value | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
