// The command line of a discoverer: all of its settings except the credentials, which are files.
import { shortHash } from '../credentials/hash.ts';
import type { CredentialsStatus, EffectiveBackend } from '../kinds/index.ts';

export const CREDENTIALS_DIR = '/etc/gimbal/credentials';

export function discovererArguments(
  effective: EffectiveBackend,
  namespace: string,
  credentials: Pick<CredentialsStatus, 'hash' | 'endpoint' | 'identity'>,
  writeEndpoints: boolean,
): string[] {
  const { type, backendName, writtenAs, namespaces, refreshInterval, httpTimeout } = effective;
  const isCloud = type === 'openstack';
  const flags: Readonly<Record<string, string | undefined>> = {
    'backend-name': backendName,
    'backend-namespace': namespace,
    'backend-kind': writtenAs,
    'credentials-dir': CREDENTIALS_DIR,
    'credentials-id': shortHash(credentials.hash),
    'expect-identity': credentials.identity,
    // The one that was verified together with the credentials.
    endpoint: credentials.endpoint,
    namespaces: namespaces.include.length === 0 ? undefined : namespaces.include.join(','),
    'exclude-namespaces': namespaces.exclude.join(','),
    'create-namespaces': effective.createNamespaces ? 'true' : undefined,
    'write-endpoints': writeEndpoints ? 'true' : undefined,
    'num-threads': String(effective.numThreads),
    'gimbal-client-qps': String(effective.clientQPS),
    'gimbal-client-burst': String(effective.clientBurst),
    'resync-interval': isCloud ? undefined : `${refreshInterval}s`,
    'reconciliation-period': isCloud ? `${refreshInterval}s` : undefined,
    'http-client-timeout': isCloud ? `${httpTimeout}s` : undefined,
    debug: effective.debug ? 'true' : undefined,
  };
  const given = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]));
  return ['discover', type, ...given];
}
