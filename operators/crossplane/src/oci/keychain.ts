// Who we are to a registry, from pull secrets as Kubernetes keeps them. An entry's key is a host, perhaps with a scheme,
// a port, a path and asterisks for parts of the host's name; the one with the longest matching path is taken, then the
// one without asterisks, then the first. Nothing that is read here is ever printed.
import { isRecord, withoutTrailing } from '@capstan/kube';
import { ReferenceErrors } from './errors.ts';

export type Credentials =
  | { readonly type: 'basic'; readonly username: string; readonly password: string }
  /** Exchanged for tokens at the registry's token service (OAuth 2). */
  | { readonly type: 'identity'; readonly token: string }
  /** Sent as it is. */
  | { readonly type: 'bearer'; readonly token: string };

/** The credentials for a repository of a registry, if there are any. */
export type Keychain = (
  registry: string,
  repository: string,
) => Credentials | undefined | Promise<Credentials | undefined>;

/** One whose credentials are at hand. */
export type StaticKeychain = (registry: string, repository: string) => Credentials | undefined;

/** Anonymous access. */
export const anonymous: StaticKeychain = () => undefined;

/** A Secret of one of the two types that hold pull secrets, its data as in the API: base64. */
export interface PullSecret {
  readonly name: string;
  readonly data: Readonly<Record<string, string>> | undefined;
}

/** Builds one keychain from several secrets, the earlier ones first. Throws BadPullSecret, which does not reveal the content. */
export function keychainOf(secrets: readonly PullSecret[]): StaticKeychain {
  const entries = secrets
    .flatMap(entriesOf)
    .toSorted((a, b) => b.path.length - a.path.length || a.wildcards - b.wildcards);
  return (registry, repository) => {
    const { host, port } = splitHost(canonical(registry));
    return entries.find(
      (entry) =>
        matchesHost(entry.host, host) &&
        (entry.port === undefined || entry.port === port) &&
        (entry.path === '' || repository === entry.path || repository.startsWith(`${entry.path}/`)),
    )?.credentials;
  };
}

/** Asks one after the other. */
export function firstOf(keychains: readonly StaticKeychain[]): StaticKeychain {
  return (registry, repository) => {
    for (const keychain of keychains) {
      const credentials = keychain(registry, repository);
      if (credentials !== undefined) return credentials;
    }
    return undefined;
  };
}

interface Entry {
  host: string;
  port: string | undefined;
  path: string;
  wildcards: number;
  credentials: Credentials;
}

function entriesOf({ name, data = {} }: PullSecret): Entry[] {
  const [json, cfg] = [data['.dockerconfigjson'], data['.dockercfg']];
  if (json === undefined && cfg === undefined)
    throw ReferenceErrors.BadPullSecret(name, 'it has neither .dockerconfigjson nor .dockercfg');
  const whole = jsonOf(name, json ?? cfg ?? '');
  const auths = json === undefined ? whole : (whole['auths'] ?? {});
  if (typeof auths !== 'object' || auths === null) throw ReferenceErrors.BadPullSecret(name, 'it has no auths');
  return Object.entries(auths as Record<string, unknown>).flatMap(([key, value]) => {
    const credentials = credentialsIn(value);
    return credentials === undefined ? [] : [{ ...placeOf(key), credentials }];
  });
}

/** Credentials from a file such as `~/.docker/config.json`. */
export function keychainOfDockerConfig(text: string, name: string): StaticKeychain {
  return keychainOf([{ name, data: { '.dockerconfigjson': Buffer.from(text).toString('base64') } }]);
}

function jsonOf(name: string, base64: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(base64, 'base64').toString('utf8'));
    if (isRecord(value)) return value;
  } catch {
    // Its message would quote the text, which holds passwords.
  }
  throw ReferenceErrors.BadPullSecret(name, 'what it holds is not JSON');
}

function credentialsIn(value: unknown): Credentials | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { auth, username, password, identitytoken, registrytoken } = value as Record<string, unknown>;
  if (isText(registrytoken)) return { type: 'bearer', token: registrytoken };
  if (isText(identitytoken)) return { type: 'identity', token: identitytoken };
  if (isText(auth)) {
    const pair = withoutTrailing(Buffer.from(auth, 'base64').toString('utf8'), '\0');
    const colon = pair.indexOf(':');
    if (colon > 0) return { type: 'basic', username: pair.slice(0, colon), password: pair.slice(colon + 1) };
  }
  if (isText(username)) return { type: 'basic', username, password: isText(password) ? password : '' };
  return undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The registry that a key of a Docker configuration names: `https://index.docker.io/v1/` is Docker Hub. */
export function registryIn(key: string): string {
  const bare = key.replace(/^https?:\/\//, '');
  return canonical(bare.replace(/\/.*/, '').toLowerCase());
}

function placeOf(key: string): Omit<Entry, 'credentials'> {
  const bare = withoutTrailing(key.replace(/^https?:\/\//, ''), '/');
  const slash = bare.indexOf('/');
  // `https://index.docker.io/v1/` names the API and not a path of repositories.
  const path = slash === -1 ? '' : bare.slice(slash + 1).replace(/^v[12]$/, '');
  const { host, port } = splitHost(registryIn(key));
  return { host, port, path, wildcards: host.split('*').length - 1 };
}

function splitHost(authority: string): { host: string; port: string | undefined } {
  const [, host = authority, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(authority) ?? [];
  return { host: host.toLowerCase(), port };
}

/** Docker Hub has three names. */
function canonical(authority: string): string {
  return authority === 'docker.io' || authority === 'registry-1.docker.io' ? 'index.docker.io' : authority;
}

// An asterisk stands for any part of one label.
function matchesHost(pattern: string, host: string): boolean {
  const [patterns, labels] = [pattern.split('.'), host.split('.')];
  return patterns.length === labels.length && patterns.every((each, i) => matchesLabel(each, labels[i] ?? ''));
}

function matchesLabel(pattern: string, label: string): boolean {
  if (!pattern.includes('*')) return pattern === label;
  const pieces = pattern.split('*').map((piece) => piece.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${pieces.join('.*')}$`).test(label);
}
