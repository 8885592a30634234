import { type Clock, createHttpTransport, fixedCredentials, type Logger, type Random } from '@capstan/kube/cluster';
import type { Redactor } from '@capstan/reconcile/logging';
import type { Given } from '../command/flags.ts';
import type { CredentialFiles } from '../kubernetes/connect.ts';
import { measuredTransport } from '../report/measured-transport.ts';
import type { DiscovererMetrics } from '../report/metrics.ts';
import { readCloudCredentials } from './credentials.ts';
import { createCloudSource } from './remote-cloud.ts';
import { createSession, type Session } from './session.ts';

export interface CloudSurroundings {
  readonly io: { readonly files: CredentialFiles; readonly env: Readonly<Record<string, string | undefined>> };
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly redactor: Redactor;
  readonly metrics: DiscovererMetrics;
  readonly settings: { readonly writeEndpoints: boolean };
}

const DEFAULT_PERIOD_MS = 30_000;
const DEFAULT_TIMEOUT_MS = 5_000;

/** The cloud that the flags and the mounted Secret name. */
export function cloudOf(given: Given, around: CloudSurroundings): ReturnType<typeof createCloudSource> {
  const { clock, random, logger, metrics } = around;
  return createCloudSource({
    open: () => openSession(given, around),
    backend: given['backend-name'] ?? '',
    projects: {
      include: [...(given['openstack-project-watchlist'] ?? []), ...(given.namespaces ?? [])],
      exclude: given['exclude-namespaces'] ?? ['kube-system'],
    },
    writeEndpoints: around.settings.writeEndpoints,
    expectIdentity: given['expect-identity'],
    periodMs: Math.max(given['reconciliation-period'] ?? DEFAULT_PERIOD_MS, SHORTEST_PERIOD_MS),
    clock,
    random,
    logger,
    observe: metrics,
  });
}

/** Throws when the Secret cannot be used. */
async function openSession(given: Given, around: CloudSurroundings): Promise<Session> {
  const { clock, metrics, redactor } = around;
  const credentials = await readCloudCredentials({
    files: around.io.files,
    folder: given['credentials-dir'] ?? '',
    endpoint: given.endpoint,
    caFile: given['openstack-certificate-authority'],
    env: around.io.env,
  });
  const { login, ca } = credentials;
  redactor.redact('secret' in login ? login.secret : login.password);
  // As in Gimbal, 0 is none.
  const timeoutMs =
    given['http-client-timeout'] === 0 ? NO_TIMEOUT_MS : (given['http-client-timeout'] ?? DEFAULT_TIMEOUT_MS);
  const identity = fixedCredentials({ tls: ca === undefined ? {} : { ca } });
  return createSession({
    credentials,
    interface: given['openstack-interface'] ?? interfaceOf(around.io.env),
    clock,
    timeoutMs,
    open: (server) =>
      measuredTransport(
        createHttpTransport({ server, credentials: identity, clock, connections: 8, connectTimeoutMs: timeoutMs }),
        clock,
        metrics.called,
      ),
  });
}

/** `publicURL` is an older spelling of `public`. */
function interfaceOf(env: CloudSurroundings['io']['env']): string {
  return (env['OS_INTERFACE'] || env['OS_ENDPOINT_TYPE'] || 'public').replace(/URL$/, '');
}

/** As long as a timer can be. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
/** Without a pause is no reason to occupy the cloud. */
const SHORTEST_PERIOD_MS = 100;
