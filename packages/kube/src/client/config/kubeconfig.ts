// Kubeconfig files: reading one, merging several by kubectl's rules, choosing a context.
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
import { dirname, isAbsolute, join } from 'node:path';
import { ConfigErrors } from '../../errors.ts';
import { type Path, readYaml, type YamlSource } from './yaml-source.ts';

export interface Kubeconfig {
  /** The origin, for messages: one file, or several with commas. */
  file: string;
  currentContext?: string;
  clusters: ReadonlyMap<string, ClusterEntry>;
  users: ReadonlyMap<string, UserEntry>;
  contexts: ReadonlyMap<string, ContextEntry>;
}

export interface ClusterEntry {
  /** The file that has this entry. */
  file: string;
  server: string;
  /** Base64. It has precedence over the file. */
  caData?: string;
  /** Absolute. */
  caFile?: string;
  insecure?: boolean;
  tlsServerName?: string;
  proxyUrl?: string;
  /** The cluster's configuration for exec plugins, from its extensions. */
  execConfig?: unknown;
}

export interface UserEntry {
  file: string;
  token?: string;
  /** An absolute path. It has precedence over `token`. */
  tokenFile?: string;
  username?: string;
  password?: string;
  /** Base64. It has precedence over the file. */
  certData?: string;
  certFile?: string;
  keyData?: string;
  keyFile?: string;
  exec?: ExecEntry;
  /** The name of an auth provider. A user with one is refused when it is used. */
  authProvider?: string;
  impersonate?: Impersonation;
}

export interface Impersonation {
  user?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

export interface ExecEntry {
  apiVersion: string;
  /** A name on the PATH, or an absolute path. */
  command: string;
  args: string[];
  env: Record<string, string>;
  installHint?: string;
  provideClusterInfo: boolean;
  interactiveMode: 'Never' | 'IfAvailable' | 'Always';
}

export interface ContextEntry {
  file: string;
  cluster: string;
  user?: string;
  namespace?: string;
}

/** Parses one file. Relative paths are resolved against its folder. Throws a ConfigError. */
export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const source = readYaml(text, file);
  return {
    file,
    currentContext: source.string(['current-context']),
    clusters: named(source, 'clusters', (path) => readCluster(source, [...path, 'cluster'])),
    users: named(source, 'users', (path) => readUser(source, [...path, 'user'])),
    contexts: named(source, 'contexts', (path) => readContext(source, [...path, 'context'])),
  };
}

/** Merges files. The first file that sets an entry or the current context wins, and entries are never merged with one another. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const merge = <T>(maps: ReadonlyMap<string, T>[]) => new Map(maps.toReversed().flatMap((map) => [...map]));
  return {
    file: configs.map(({ file }) => file).join(', '),
    currentContext: configs.find((config) => config.currentContext !== undefined)?.currentContext,
    clusters: merge(configs.map(({ clusters }) => clusters)),
    users: merge(configs.map(({ users }) => users)),
    contexts: merge(configs.map(({ contexts }) => contexts)),
  };
}

/** The cluster and the user of one context, from which a connection is created. */
export interface ClusterConfig {
  /** The context's name. */
  context: string;
  /** The namespace of unqualified names. */
  namespace: string;
  clusterName: string;
  cluster: ClusterEntry;
  userName: string;
  user: UserEntry;
}

/** Returns the named context, or the current one. Throws a ConfigError that lists the existing names. */
export function selectContext(config: Kubeconfig, name: string | undefined): ClusterConfig {
  const { file, contexts, clusters, users } = config;
  const wanted = name ?? config.currentContext;
  if (wanted === undefined) throw ConfigErrors.NoCurrentContext(file, [...contexts.keys()]);
  const context = contexts.get(wanted);
  if (context === undefined) throw ConfigErrors.UnknownContext(file, wanted, [...contexts.keys()]);
  const cluster = clusters.get(context.cluster);
  if (cluster === undefined) {
    throw ConfigErrors.Dangling(context.file, wanted, 'cluster', context.cluster, [...clusters.keys()]);
  }
  const user: UserEntry | undefined = context.user === undefined ? { file: context.file } : users.get(context.user);
  if (user === undefined) {
    throw ConfigErrors.Dangling(context.file, wanted, 'user', context.user ?? '', [...users.keys()]);
  }
  return {
    context: wanted,
    namespace: context.namespace ?? 'default',
    clusterName: context.cluster,
    cluster,
    userName: context.user ?? '',
    user,
  };
}

function named<T>(source: YamlSource, list: string, read: (path: Path) => T): Map<string, T> {
  const entries = new Map<string, T>();
  for (let index = 0; index < source.length([list]); index++) {
    const path = [list, index];
    source.keys(path);
    const name = source.string([...path, 'name']);
    if (name === undefined) throw source.wrong([...path, 'name'], 'is missing');
    if (entries.has(name)) throw source.wrong([...path, 'name'], `is "${name}" for a second time`);
    entries.set(name, read(path));
  }
  return entries;
}

function readCluster(source: YamlSource, path: Path): ClusterEntry {
  source.keys(path);
  const extensions = Array.from({ length: source.length([...path, 'extensions']) }, (_, index) => index);
  const execIndex = extensions.find(
    (index) => source.string([...path, 'extensions', index, 'name']) === 'client.authentication.k8s.io/exec',
  );
  return {
    file: source.file,
    server: source.string([...path, 'server']) ?? '',
    caData: source.string([...path, 'certificate-authority-data']),
    caFile: fileField(source, [...path, 'certificate-authority']),
    insecure: source.boolean([...path, 'insecure-skip-tls-verify']),
    tlsServerName: source.string([...path, 'tls-server-name']),
    proxyUrl: source.string([...path, 'proxy-url']),
    execConfig: execIndex === undefined ? undefined : source.value([...path, 'extensions', execIndex, 'extension']),
  };
}

function readUser(source: YamlSource, path: Path): UserEntry {
  source.keys(path);
  return {
    file: source.file,
    token: source.string([...path, 'token']),
    tokenFile: fileField(source, [...path, 'tokenFile']),
    username: source.string([...path, 'username']),
    password: source.string([...path, 'password']),
    certData: source.string([...path, 'client-certificate-data']),
    certFile: fileField(source, [...path, 'client-certificate']),
    keyData: source.string([...path, 'client-key-data']),
    keyFile: fileField(source, [...path, 'client-key']),
    exec: source.has([...path, 'exec']) ? readExec(source, [...path, 'exec']) : undefined,
    authProvider: source.has([...path, 'auth-provider'])
      ? (source.string([...path, 'auth-provider', 'name']) ?? 'unnamed')
      : undefined,
    impersonate: readImpersonation(source, path),
  };
}

function readExec(source: YamlSource, path: Path): ExecEntry {
  source.keys(path);
  const field = (name: string) => source.string([...path, name]);
  const command = field('command');
  if (command === undefined) throw source.wrong([...path, 'command'], 'is missing');
  const mode = field('interactiveMode') ?? 'IfAvailable';
  if (mode !== 'Never' && mode !== 'IfAvailable' && mode !== 'Always') {
    throw source.wrong([...path, 'interactiveMode'], 'should be Never, IfAvailable or Always');
  }
  const env: Record<string, string> = {};
  for (let index = 0; index < source.length([...path, 'env']); index++) {
    const name = source.string([...path, 'env', index, 'name']);
    if (name === undefined) throw source.wrong([...path, 'env', index, 'name'], 'is missing');
    env[name] = source.string([...path, 'env', index, 'value']) ?? '';
  }
  return {
    apiVersion: field('apiVersion') ?? '',
    // Like kubectl, resolve a command with a slash against this file, and look up other commands on the PATH.
    command: /[/\\]/.test(command) ? absolute(source.file, command) : command,
    args: source.strings([...path, 'args']),
    env,
    installHint: field('installHint'),
    provideClusterInfo: source.boolean([...path, 'provideClusterInfo']) ?? false,
    interactiveMode: mode,
  };
}

function readImpersonation(source: YamlSource, path: Path): Impersonation | undefined {
  const extra: Record<string, string[]> = {};
  for (const key of source.keys([...path, 'as-user-extra']))
    extra[key] = source.strings([...path, 'as-user-extra', key]);
  const user = source.string([...path, 'as']);
  const uid = source.string([...path, 'as-uid']);
  const groups = source.strings([...path, 'as-groups']);
  const isEmpty = user === undefined && uid === undefined && groups.length === 0 && Object.keys(extra).length === 0;
  return isEmpty ? undefined : { user, uid, groups, extra };
}

function readContext(source: YamlSource, path: Path): ContextEntry {
  source.keys(path);
  return {
    file: source.file,
    cluster: source.string([...path, 'cluster']) ?? '',
    user: source.string([...path, 'user']),
    namespace: source.string([...path, 'namespace']),
  };
}

function fileField(source: YamlSource, path: Path): string | undefined {
  const file = source.string(path);
  return file === undefined ? undefined : absolute(source.file, file);
}

function absolute(kubeconfig: string, path: string): string {
  return isAbsolute(path) ? path : join(dirname(kubeconfig), path);
}
