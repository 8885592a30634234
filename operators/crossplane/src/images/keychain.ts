// Log-in data for an image: the pull secrets of the package, the one that an ImageConfig names, and those of the manager's
// own ServiceAccount, in that order. All of them lie in the system namespace.
import { Secret, ServiceAccount } from '@capstan/kube';
import type { Digest, Reader } from '@capstan/reconcile';
import type { Credentials } from '../facts/package-source.ts';
import type { Vault } from '../facts/vault.ts';
import type { Settings } from '../settings.ts';

export interface Keychain {
  /** The name of the log-in data in the vault; undefined when there is none. */
  readonly id: string | undefined;
  /** Secrets that were named and are not there, or hold nothing that can be used. */
  readonly missing: readonly string[];
}

interface KeychainInput {
  readonly read: Reader;
  readonly digest: Digest;
  readonly settings: Pick<Settings, 'namespace' | 'serviceAccount'>;
  readonly vault: Vault<Credentials>;
  /** Names of Secrets. */
  readonly secrets: readonly string[];
}

export function keychainOf({ read, digest, settings, vault, secrets }: KeychainInput): Keychain {
  const { namespace } = settings;
  const own = read.get(ServiceAccount, { namespace, name: settings.serviceAccount }, pullSecretsOf) ?? [];
  const configs: Credentials['configs'][number][] = [];
  const missing: string[] = [];
  for (const name of new Set([...secrets, ...own])) {
    const config = configOf(read.get(Secret, { namespace, name }));
    if (config !== undefined) configs.push(config);
    else if (secrets.includes(name)) missing.push(name);
  }
  if (configs.length === 0) return { id: undefined, missing };
  const id = digest(configs);
  vault.put(id, { configs });
  return { id, missing };
}

export const pullSecretsOf = ({ imagePullSecrets }: ServiceAccount): readonly string[] =>
  (imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);

const CONFIG_KEYS = { 'kubernetes.io/dockerconfigjson': '.dockerconfigjson', 'kubernetes.io/dockercfg': '.dockercfg' };

function configOf(secret: Secret | undefined): Credentials['configs'][number] | undefined {
  const type = secret?.type;
  if (type !== 'kubernetes.io/dockerconfigjson' && type !== 'kubernetes.io/dockercfg') return undefined;
  const data = secret?.data?.[CONFIG_KEYS[type]];
  if (data === undefined) return undefined;
  return {
    type: type === 'kubernetes.io/dockercfg' ? 'dockercfg' : 'dockerconfigjson',
    text: Buffer.from(data, 'base64').toString('utf8'),
  };
}
