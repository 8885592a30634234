// A whole embedded cluster from the outside: a data folder, one API server for each logical cluster in it, one port for all
// of them, and a kubeconfig. It begins by taking the folder for itself, and ends in the opposite order.
import { join } from 'node:path';
import {
  type Clock,
  createRuleEvaluator,
  type EvaluateRule,
  type Logger,
  type Random,
  reasonOf,
  silentLogger,
} from '@capstan/kube';
import { loadBuiltins } from '../builtin/builtin.ts';
import { createServicePool } from '../builtin/service-pool.ts';
import { ADMIN, type Admission } from '../core.ts';
import { ClusterErrors } from '../errors.ts';
import { startHttpServer } from '../http/http-server.ts';
import type { ReadLogs } from '../rest/pod-subresources.ts';
import { type ApiServer, createApiServer } from '../server.ts';
import { lockFolder } from '../storage-sqlite/database.ts';
import { sqliteStorage } from '../storage-sqlite/sqlite-storage.ts';
import { memoryStorage, type Storage } from '../store/storage.ts';
import type { PodStreams } from '../streams/pod-streams.ts';
import { kubeconfigText } from './kubeconfig.ts';
import { openPki } from './pki.ts';
import { makePrivateFolder } from './private-folder.ts';
import { fileSecretStore, memorySecretStore, type SecretStore } from './secret-store.ts';

export interface ClusterOptions {
  clock: Clock;
  random: Random;
  /** Default: silent. */
  logger?: Logger;
  /** The folder of the data, made when it is not there; without it everything is in memory and gone at the end. */
  data?: string;
  /** The names of the logical clusters; default one, `capstan`. */
  clusters?: readonly string[];
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 6443; 0 takes any that is free. */
  port?: number;
  /** For each cluster: looks at every write; default none. */
  admission?: (cluster: string) => Admission;
  /** Returns the reader of the output of containers for each cluster; default: logs are not served. */
  readLogs?: (cluster: string) => ReadLogs;
  /** For each cluster: connects to pods (exec, attach, port-forward); default: refused. */
  podStreams?: (cluster: string) => PodStreams;
  /** Evaluates the CEL rules of custom resources; default as an API server does. */
  evaluateRule?: EvaluateRule;
}

export interface LogicalCluster {
  readonly name: string;
  readonly server: ApiServer;
  /** Where clients reach it. */
  readonly url: string;
  /** Where it is at the root, for programs in its pods, which get a host and a port but no path. */
  readonly endpoint: { readonly host: string; readonly port: number };
}

export interface Cluster {
  /** In the order of the options; the first is the current context of the kubeconfig. */
  readonly clusters: readonly LogicalCluster[];
  readonly host: string;
  readonly port: number;
  /** With the administrator's key in it: a secret. One context a cluster. */
  readonly kubeconfig: string;
  /** PEM, of the authority that signed the server's certificate. */
  readonly ca: string;
  /** Ends connections and watches, and resolves when everything is on disk. */
  close(): Promise<void>;
}

export const DEFAULT_CLUSTER = 'capstan';
export const DEFAULT_PORT = 6443;

/** Starts the cluster; throws one of the ClusterErrors, with nothing left open, when it cannot. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const { clock, random, logger = silentLogger, data, host = '127.0.0.1' } = options;
  const names = options.clusters?.length ? options.clusters : [DEFAULT_CLUSTER];
  checkNames(names);
  const opened: { close(): Promise<unknown> }[] = [];
  try {
    if (data !== undefined) {
      await makeFolder(data);
      opened.push(lockFolder(data));
    }
    const storages: Storage[] = [];
    for (const name of names) {
      const storage = await openStorage(data, name);
      storages.push(storage);
      opened.unshift(storage);
    }
    const keep: SecretStore = data === undefined ? memorySecretStore() : fileSecretStore(data);
    const pki = await openPki({ keep, clock, host, clusters: names });
    const builtins = loadBuiltins();
    const evaluateRule = options.evaluateRule ?? createRuleEvaluator();
    const servicePool = createServicePool();
    const servers = names.map((name, index) =>
      createApiServer({
        clock,
        random,
        logger: logger.with({ cluster: name }),
        builtins,
        servicePool,
        storage: storages[index] ?? memoryStorage(),
        authorization: 'RBAC',
        serviceAccountKey: pki.serviceAccountKey(name),
        staticTokens: [{ token: pki.adminToken, user: ADMIN }],
        namespaceDefaults: { rootCa: pki.ca },
        ...(options.readLogs && { readLogs: options.readLogs(name) }),
        ...(options.podStreams && { podStreams: options.podStreams(name) }),
        ...(options.admission && { admission: options.admission(name) }),
        evaluateRule,
      }),
    );
    // A server closes its storage.
    opened.splice(0, storages.length, ...servers);
    const serve = async (served: readonly { name: string; server: ApiServer }[], at: number) => {
      const tls = { certificate: pki.server.certificate, key: pki.server.key, ca: pki.ca };
      const http = await startHttpServer({ clusters: served, clock, logger, host, port: at, tls });
      opened.unshift(http);
      return http;
    };
    const all = names.map((name, index) => ({ name, server: servers[index] as ApiServer }));
    const http = await serve(all, options.port ?? DEFAULT_PORT);
    const origin = `https://${reachable(host)}:${http.port}`;
    const clusters: LogicalCluster[] = [];
    for (const [index, one] of all.entries()) {
      const { port } = index === 0 ? http : await serve([one], 0);
      const url = index === 0 ? origin : `${origin}/clusters/${one.name}`;
      clusters.push({ ...one, url, endpoint: { host: reachable(host), port } });
    }
    return {
      clusters,
      host,
      port: http.port,
      ca: pki.ca,
      kubeconfig: kubeconfigText(clusters, pki),
      close: () => closeAll(opened),
    };
  } catch (error) {
    await closeAll(opened).catch(() => {});
    throw error;
  }
}

async function openStorage(data: string | undefined, name: string): Promise<Storage> {
  if (data === undefined) return memoryStorage();
  const folder = join(data, 'clusters', name);
  await makeFolder(folder);
  return sqliteStorage({ path: join(folder, 'state.db') });
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await makePrivateFolder(folder);
  } catch (error) {
    throw ClusterErrors.NotWritable(folder, reasonOf(error));
  }
}

/** In order; all of them, even when one does not end well. */
async function closeAll(parts: readonly { close(): Promise<unknown> }[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts) {
    try {
      await part.close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

function checkNames(names: readonly string[]): void {
  for (const [index, name] of names.entries()) {
    if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name)) throw ClusterErrors.BadClusterName(name);
    if (names.indexOf(name) !== index) throw ClusterErrors.SameClusterName(name);
  }
}

/** An address that stands for every interface cannot be connected to everywhere. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
