// Log-in data for an image: the pull secrets of the package, the one that an ImageConfig names, and those of the manager's
// own ServiceAccount, in that order. All of them lie in the system namespace.
import { Secret, ServiceAccount } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import type { PullSecret } from '../oci/keychain.ts';
import type { Settings } from '../settings.ts';

export interface Keychain {
  /** Secret: for facts alone. */
  readonly credentials: readonly PullSecret[];
  /** Secrets that were named and are not there, or hold nothing that can be used. */
  readonly missing: readonly string[];
}

interface KeychainInput {
  readonly read: Reader;
  readonly settings: Pick<Settings, 'namespace' | 'serviceAccount'>;
  /** Names of Secrets. */
  readonly secrets: readonly string[];
}

export function keychainOf({ read, settings, secrets }: KeychainInput): Keychain {
  const { namespace } = settings;
  const own = read.get(ServiceAccount, { namespace, name: settings.serviceAccount }, pullSecretsOf) ?? [];
  const found: PullSecret[] = [];
  const missing: string[] = [];
  for (const name of new Set([...secrets, ...own])) {
    const data = pullDataOf(read.get(Secret, { namespace, name }));
    if (data !== undefined) found.push({ name, data });
    else if (secrets.includes(name)) missing.push(name);
  }
  return { credentials: found, missing };
}

export const pullSecretsOf = ({ imagePullSecrets }: ServiceAccount): readonly string[] =>
  (imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);

/** Returns only the keys with log-in data for registries: no other key of a Secret is kept. */
function pullDataOf(secret: Secret | undefined): Record<string, string> | undefined {
  const entries = ['.dockerconfigjson', '.dockercfg'].flatMap((key) => {
    const text = secret?.data?.[key];
    return text === undefined ? [] : [[key, text] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
