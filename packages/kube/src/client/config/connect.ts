import { delimiter, join } from 'node:path';
import { ConfigErrors } from '../../errors.ts';
import { createHttpTransport, type HttpTransportOptions } from '../http/http-transport.ts';
import type { Transport } from '../transport.ts';
import { createEdge, type Edge, isMissing } from './edge.ts';
import { inClusterConfig, isInCluster } from './in-cluster.ts';
import { type ClusterConfig, type Kubeconfig, mergeKubeconfigs, parseKubeconfig, selectContext } from './kubeconfig.ts';
import { openCredentials } from './user-credentials.ts';

export interface ConnectOptions extends Partial<Edge> {
  /** The value of `--kubeconfig`: only this file is read. */
  kubeconfig?: string;
  /** The value of `--context`. Default: the current context. */
  context?: string;
  /** True: connect only as a pod. False: never. Default: as a pod if we run in one and no kubeconfig or context is given. */
  inCluster?: boolean;
  /** Limits of the transport. The defaults are the transport's own. */
  transport?: Pick<HttpTransportOptions, 'connections' | 'connectTimeoutMs' | 'maxLineBytes' | 'maxResponseBytes'>;
}

/** A transport with the context and the namespace of its configuration. */
export interface Connection extends Transport {
  /** The context's name, or `in-cluster`. */
  readonly context: string;
  /** The namespace of unqualified names. */
  readonly namespace: string;
}

/**
 * Connects to the cluster of `kubeconfig`, KUBECONFIG, the pod's service account or ~/.kube/config, in this order. Throws a ConfigError. A
 * server that does not answer is noticed by the first request.
 */
export async function connect(options: ConnectOptions = {}): Promise<Connection> {
  const edge = createEdge(options);
  return open(await findConfig(options, edge), edge, options.transport);
}

/**
 * Connects to the cluster of a kubeconfig that is given as data (from a Secret, over the network). It may not run programs or read files on
 * this machine: certificates and tokens must be inside it.
 */
export async function connectKubeconfig(
  text: string,
  options: Omit<ConnectOptions, 'kubeconfig' | 'inCluster'> & {
    name: string;
    /** The address to use instead of the cluster's address. */
    server?: string;
  },
): Promise<Connection> {
  const edge = createEdge(options);
  const selected = selectContext(parseKubeconfig(text, options.name), options.context);
  const { server } = options;
  const config = server === undefined ? selected : { ...selected, cluster: { ...selected.cluster, server } };
  const { cluster, user } = config;
  const outside = {
    'a program (exec)': user.exec,
    'a file (certificate-authority)': cluster.caFile,
    'a file (client-certificate)': user.certFile,
    'a file (client-key)': user.keyFile,
    'a file (tokenFile)': user.tokenFile,
  };
  for (const [what, value] of Object.entries(outside)) {
    if (value !== undefined) throw ConfigErrors.NotSelfContained(options.name, what);
  }
  return open(config, edge, options.transport);
}

/** Loads and merges all kubeconfig files. Throws a ConfigError if there is none. */
export async function loadKubeconfig(options: ConnectOptions = {}): Promise<Kubeconfig> {
  const edge = createEdge(options);
  return readKubeconfigs(kubeconfigPaths(options, edge), edge);
}

async function findConfig(options: ConnectOptions, edge: Edge): Promise<ClusterConfig> {
  if (options.inCluster === true) return inClusterConfig(edge);
  const isNamed = options.kubeconfig !== undefined || Boolean(edge.env['KUBECONFIG']) || options.context !== undefined;
  if (options.inCluster === undefined && !isNamed && isInCluster(edge)) return inClusterConfig(edge);
  return selectContext(await readKubeconfigs(kubeconfigPaths(options, edge), edge), options.context);
}

interface Paths {
  paths: readonly string[];
  /** A file that was named on the command line must exist. Other files may be missing. */
  mustExist: boolean;
}

function kubeconfigPaths({ kubeconfig }: ConnectOptions, { env, homeDir }: Edge): Paths {
  if (kubeconfig !== undefined) return { paths: [kubeconfig], mustExist: true };
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  return { paths: listed.length > 0 ? [...new Set(listed)] : [join(homeDir, '.kube', 'config')], mustExist: false };
}

async function readKubeconfigs({ paths, mustExist }: Paths, { readFile }: Edge): Promise<Kubeconfig> {
  const configs: Kubeconfig[] = [];
  for (const path of paths) {
    try {
      configs.push(parseKubeconfig(await readFile(path), path));
    } catch (error) {
      if (error instanceof Error && 'remedy' in error) throw error;
      if (mustExist || !isMissing(error)) throw ConfigErrors.Unreadable(path, error);
    }
  }
  if (configs.length === 0) {
    const verb = paths.length === 1 ? 'does' : 'do';
    throw ConfigErrors.NothingConfigured(`${paths.join(' and ')} ${verb} not exist`);
  }
  return mergeKubeconfigs(configs);
}

async function open(config: ClusterConfig, edge: Edge, limits: ConnectOptions['transport'] = {}): Promise<Connection> {
  const server = serverUrl(config);
  const proxyUrl = checkedProxy(config);
  const credentials = await openCredentials(config, edge);
  const transport = createHttpTransport({ ...limits, server, proxyUrl, credentials, clock: edge.clock });
  return { ...transport, context: config.context, namespace: config.namespace };
}

/** Applies kubectl's rule for addresses without a scheme: https if any TLS setting is configured, http otherwise. */
function serverUrl({ cluster, clusterName, user }: ClusterConfig): string {
  const { server, file } = cluster;
  const hasTls = [cluster.caData, cluster.caFile, cluster.insecure, user.certData, user.certFile].some(Boolean);
  const url = server.includes('://') ? server : `${hasTls ? 'https' : 'http'}://${server}`;
  const isUsable = server !== '' && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isUsable) throw ConfigErrors.BadServer(file, clusterName, withoutLogin(server));
  return url;
}

function checkedProxy({ cluster, clusterName }: ClusterConfig): string | undefined {
  const { proxyUrl, file } = cluster;
  if (proxyUrl === undefined) return undefined;
  const isUsable = URL.canParse(proxyUrl) && /^(https?|socks5h?):$/.test(new URL(proxyUrl).protocol);
  if (!isUsable) throw ConfigErrors.BadProxy(file, clusterName);
  return proxyUrl.replace(/^socks5h:/, 'socks5:');
}

function withoutLogin(server: string): string {
  return server.replace(/\/\/[^@/]*@/, '//');
}
