// Exec plugins are programs that print credentials (client.authentication.k8s.io). A plugin is run if there are no credentials, if they
// have expired, or if the server refused them. It never runs twice at a time. Its output is never logged or put into an error.
// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
import { ConfigErrors, reasonOf } from '../../errors.ts';
import { isRecord } from '../../json/is-record.ts';
import { certificateValidity } from '../../x509/validity.ts';
import { type Edge, isMissing } from './edge.ts';
import type { ClusterConfig, ExecEntry } from './kubeconfig.ts';

export interface ExecCredentials {
  token?: string;
  /** PEM. */
  cert?: string;
  key?: string;
  /** Milliseconds since the epoch; undefined if the credentials do not expire. */
  expiresAt?: number;
}

export interface ExecPlugin {
  /** Returns the last credentials while they are valid, and runs the plugin otherwise. */
  credentials(): Promise<ExecCredentials>;
  /** Discards credentials that the server refused, so that the next call runs the plugin again. */
  forget(): void;
  /** Ends the plugin if it runs. */
  close(): Promise<void>;
}

export function createExecPlugin(config: ClusterConfig, exec: ExecEntry, edge: Edge): ExecPlugin {
  const { file } = config.user;
  if (!VERSIONS.has(exec.apiVersion)) throw ConfigErrors.ExecVersion(file, config.userName, exec.apiVersion);
  const closing = new AbortController();
  let cached: ExecCredentials | undefined;
  let running: Promise<ExecCredentials> | undefined;

  async function run(): Promise<ExecCredentials> {
    const isInteractive = edge.isTerminal && exec.interactiveMode !== 'Never';
    if (exec.interactiveMode === 'Always' && !isInteractive) {
      throw ConfigErrors.ExecNeedsTerminal(file, config.userName, exec.command);
    }
    const failed = (problem: string) => ConfigErrors.ExecFailed(file, config.userName, exec.command, problem);
    const env = {
      ...edge.env,
      ...exec.env,
      KUBERNETES_EXEC_INFO: JSON.stringify(await execInfo(config, exec, isInteractive, edge)),
    };
    const { command, args } = exec;
    const result = await edge.run({ command, args, env, isInteractive, signal: closing.signal }).catch((cause) => {
      if (isMissing(cause)) throw ConfigErrors.ExecMissing(file, config.userName, command, exec.installHint);
      throw failed(reasonOf(cause));
    });
    if (result.code !== 0) throw failed(`it ended with exit code ${result.code ?? 'none (killed)'}`);
    return readCredentials(result.stdout, exec.apiVersion, failed);
  }

  return {
    async credentials() {
      const isFresh = cached !== undefined && (cached.expiresAt === undefined || edge.clock.now() < cached.expiresAt);
      if (cached !== undefined && isFresh) return cached;
      running ??= run().finally(() => {
        running = undefined;
      });
      cached = await running;
      return cached;
    },
    forget() {
      cached = undefined;
    },
    async close() {
      closing.abort();
      await running?.catch(() => {});
    },
  };
}

const VERSIONS: ReadonlySet<string> = new Set([
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
]);

async function execInfo(
  { cluster }: ClusterConfig,
  exec: ExecEntry,
  interactive: boolean,
  { readFile }: Edge,
): Promise<unknown> {
  const spec = { apiVersion: exec.apiVersion, kind: 'ExecCredential', spec: { interactive } };
  if (!exec.provideClusterInfo) return spec;
  // Pass the data of the authority even if the kubeconfig names a file.
  const caFile = cluster.caFile === undefined ? undefined : Buffer.from(await readFile(cluster.caFile));
  const info = {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.insecure,
    'certificate-authority-data': cluster.caData ?? caFile?.toString('base64'),
    'proxy-url': cluster.proxyUrl,
    config: cluster.execConfig,
  };
  return { ...spec, spec: { interactive, cluster: info } };
}

function readCredentials(stdout: string, version: string, failed: (problem: string) => Error): ExecCredentials {
  const printed = parse(stdout);
  if (!isRecord(printed)) throw failed('it did not print JSON');
  if (printed['kind'] !== 'ExecCredential') throw failed('it did not print an ExecCredential');
  if (printed['apiVersion'] !== version) throw failed(`it printed another apiVersion than ${version}`);
  const status = printed['status'];
  if (!isRecord(status)) throw failed('what it printed has no status');
  const token = textIn(status, 'token');
  const cert = textIn(status, 'clientCertificateData');
  const key = textIn(status, 'clientKeyData');
  if ((cert === undefined) !== (key === undefined)) throw failed('it printed only one of certificate and key');
  if (token === undefined && cert === undefined) throw failed('it printed neither a token nor a certificate');
  const times = [expiryOf(textIn(status, 'expirationTimestamp'), failed), expiryOfCertificate(cert, failed)];
  const expiresAt = Math.min(...times);
  return { token, cert, key, expiresAt: Number.isFinite(expiresAt) ? expiresAt : undefined };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textIn(status: Record<string, unknown>, key: string): string | undefined {
  const value = status[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function expiryOf(timestamp: string | undefined, failed: (problem: string) => Error): number {
  if (timestamp === undefined) return Number.POSITIVE_INFINITY;
  const time = Date.parse(timestamp);
  if (Number.isNaN(time)) throw failed('its expirationTimestamp is not a time');
  return time;
}

function expiryOfCertificate(cert: string | undefined, failed: (problem: string) => Error): number {
  if (cert === undefined) return Number.POSITIVE_INFINITY;
  try {
    return certificateValidity(cert).notAfter.getTime();
  } catch {
    throw failed('its certificate cannot be read');
  }
}
