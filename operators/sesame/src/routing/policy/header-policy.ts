// Policies that set and remove headers, with Envoy's substitutions in values.
import type { HeaderPolicySpec } from '../../kinds/http-proxy.ts';
import type { HeaderChanges } from '../../model/policy.ts';
import { accept, type Result, refuse } from '../../result.ts';
import type { HeaderSettings } from '../settings.ts';

export interface HeaderPolicy {
  readonly set: ReadonlyMap<string, string>;
  readonly remove: readonly string[];
  /** The host that the service sees in requests. */
  readonly hostRewrite: string | undefined;
  /** The header of requests that has the host. */
  readonly hostRewriteHeader: string | undefined;
}

export interface HeaderContext {
  readonly direction: 'request' | 'response';
  /** The value of Host may be taken from a header; only for routes. */
  readonly allowsHostHeader?: boolean;
  /** The values of %SESAME_…%. */
  readonly variables?: Readonly<Record<string, string>>;
}

export const NO_HEADERS: HeaderPolicy = {
  set: new Map(),
  remove: [],
  hostRewrite: undefined,
  hostRewriteHeader: undefined,
};

/** Returns the policy, or its problem. */
export function headerPolicy(spec: HeaderPolicySpec, context: HeaderContext): Result<HeaderPolicy> {
  const set = new Map<string, string>();
  const remove: string[] = [];
  let hostRewrite: string | undefined;
  let hostRewriteHeader: string | undefined;
  for (const [index, { name, value }] of (spec.set ?? []).entries()) {
    const key = canonicalHeader(name);
    const at = `set[${index}]`;
    if (set.has(key)) return refuse(`${at}.name: ${JSON.stringify(key)} is set twice; keep one of them`);
    if (key === 'Host') {
      if (context.direction === 'response') return refuse(`${at}.name: "Host" is no header of responses; remove it`);
      const header = /^%REQ\(([A-Za-z0-9-]+)\)%$/.exec(value)?.[1];
      if (header !== undefined && context.allowsHostHeader === true) hostRewriteHeader = canonicalHeader(header);
      else if (header !== undefined)
        return refuse(
          `${at}.value: Host can only be taken from a header by the policy of a route; move it there, or write the host`,
        );
      else hostRewrite = value;
      continue;
    }
    if (!isHeaderName(key))
      return refuse(`${at}.name: ${JSON.stringify(key)} is no header name; use letters, digits and "-"`);
    set.set(key, escapeHeaderValue(value, context.variables ?? {}));
  }
  for (const [index, name] of (spec.remove ?? []).entries()) {
    const key = canonicalHeader(name);
    if (remove.includes(key))
      return refuse(`remove[${index}]: ${JSON.stringify(key)} is removed twice; keep one of them`);
    if (key === 'Host')
      return refuse(`remove[${index}]: "Host" cannot be removed; set it instead, or leave it as it is`);
    if (!isHeaderName(key))
      return refuse(`remove[${index}]: ${JSON.stringify(key)} is no header name; use letters, digits and "-"`);
    remove.push(key);
  }
  return accept({ set, remove: remove.sort(), hostRewrite, hostRewriteHeader });
}

/** The configuration's headers for every route; those of the route win. */
export function withDefaultHeaders(
  policy: HeaderPolicy,
  defaults: HeaderSettings | undefined,
  context: HeaderContext,
): HeaderPolicy {
  if (defaults === undefined) return policy;
  const set = new Map<string, string>();
  let { hostRewrite } = policy;
  for (const [name, value] of Object.entries(defaults.set ?? {})) {
    const key = canonicalHeader(name);
    if (key === 'Host') {
      if (context.direction === 'request') hostRewrite ??= value;
    } else if (!policy.remove.includes(key)) set.set(key, escapeHeaderValue(value, context.variables ?? {}));
  }
  for (const [key, value] of policy.set) set.set(key, value);
  const added = (defaults.remove ?? []).map(canonicalHeader).filter((key) => !policy.set.has(key));
  return { ...policy, set, hostRewrite, remove: [...new Set([...policy.remove, ...added])].sort() };
}

/** Undefined when nothing changes. */
export function headerChanges({ set, remove }: HeaderPolicy): HeaderChanges | undefined {
  if (set.size === 0 && remove.length === 0) return undefined;
  return { set: [...set].map(([name, value]) => ({ name, value })), remove };
}

/** Go's canonical form: Content-Type. Names that are no header names stay as they are. */
export function canonicalHeader(name: string): string {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) return name;
  return name.toLowerCase().replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}

export function isHeaderName(name: string): boolean {
  return /^[-A-Za-z0-9]+$/.test(name);
}

/** The names that Envoy substitutes; any other percent sign is literal. */
const OPERATORS = [
  'DOWNSTREAM_REMOTE_ADDRESS',
  'DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT',
  'DOWNSTREAM_DIRECT_REMOTE_ADDRESS',
  'DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT',
  'DOWNSTREAM_LOCAL_ADDRESS',
  'DOWNSTREAM_LOCAL_ADDRESS_WITHOUT_PORT',
  'DOWNSTREAM_LOCAL_PORT',
  'DOWNSTREAM_LOCAL_URI_SAN',
  'DOWNSTREAM_PEER_URI_SAN',
  'DOWNSTREAM_LOCAL_SUBJECT',
  'DOWNSTREAM_PEER_SUBJECT',
  'DOWNSTREAM_PEER_ISSUER',
  'DOWNSTREAM_TLS_SESSION_ID',
  'DOWNSTREAM_TLS_CIPHER',
  'DOWNSTREAM_TLS_VERSION',
  'DOWNSTREAM_PEER_FINGERPRINT_256',
  'DOWNSTREAM_PEER_FINGERPRINT_1',
  'DOWNSTREAM_PEER_SERIAL',
  'DOWNSTREAM_PEER_CERT',
  'DOWNSTREAM_PEER_CERT_V_START',
  'DOWNSTREAM_PEER_CERT_V_END',
  'HOSTNAME',
  'PROTOCOL',
  'REQUESTED_SERVER_NAME',
  'UPSTREAM_REMOTE_ADDRESS',
  'RESPONSE_FLAGS',
  'RESPONSE_CODE_DETAILS',
];

function escapeHeaderValue(value: string, variables: Readonly<Record<string, string>>): string {
  let escaped = value.replaceAll('%', '%%');
  for (const [name, content] of Object.entries(variables)) {
    escaped = escaped.replaceAll(`%%SESAME_${name}%%`, content).replaceAll(`%%CONTOUR_${name}%%`, content);
  }
  for (const operator of OPERATORS) escaped = escaped.replaceAll(`%%${operator}%%`, `%${operator}%`);
  // A length that is no number of 64 bits would be refused.
  return escaped.replace(/%%(REQ\([\w-]+(?:\?[\w-]+)?\)(?::\d{1,18})?)%%/g, '%$1%');
}
