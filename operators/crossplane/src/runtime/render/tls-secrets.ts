// The Secrets with certificates that a runtime mounts, and the environment variables that name their paths.
import type { EnvVar, Volume, VolumeMount } from '@capstan/kube';
import type { RuntimeKind } from './labels.ts';

export interface TlsSecretNames {
  /** For webhooks and functions, which are called. */
  readonly server: string;
  /** For Providers, which call; a Function has none. */
  readonly client?: string;
}

/** Returns the names of the Secrets of a package, which outlive its revisions. */
export function tlsSecretNames(kind: RuntimeKind, packageName: string): TlsSecretNames {
  const server = suffixed(packageName, '-tls-server');
  return kind === 'Provider' ? { server, client: suffixed(packageName, '-tls-client') } : { server };
}

export interface TlsMount {
  readonly volume: Volume;
  readonly mount: VolumeMount;
  readonly env: EnvVar;
}

export const TLS_CLIENT_ENV = 'TLS_CLIENT_CERTS_DIR';
export const TLS_SERVER_ENV = 'TLS_SERVER_CERTS_DIR';

/** How a Secret is mounted into the runtime container. */
export function tlsMount(role: 'client' | 'server', secretName: string): TlsMount {
  const name = `tls-${role}-certs`;
  const mountPath = `/tls/${role}`;
  const items = ['tls.crt', 'tls.key', 'ca.crt'].map((key) => ({ key, path: key }));
  return {
    volume: { name, secret: { secretName, items } },
    mount: { name, mountPath, readOnly: true },
    env: { name: role === 'client' ? TLS_CLIENT_ENV : TLS_SERVER_ENV, value: mountPath },
  };
}

const MAX_NAME = 253;

function suffixed(name: string, suffix: string): string {
  return name.slice(0, MAX_NAME - suffix.length) + suffix;
}
