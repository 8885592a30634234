// Log-in data for an image: the pull secrets of the package, the one that an ImageConfig names, and those of the manager's
// own ServiceAccount, in that order. All of them lie in the system namespace.
import { Secret, ServiceAccount } from '@capstan/kube';
import type { Digest, Reader } from '@capstan/reconcile';
import type { Vault } from '../facts/vault.ts';
import type { PullSecret } from '../oci/keychain.ts';
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
  readonly vault: Vault<readonly PullSecret[]>;
  /** Names of Secrets. */
  readonly secrets: readonly string[];
}

export function keychainOf({ read, digest, settings, vault, secrets }: KeychainInput): Keychain {
  const { namespace } = settings;
  const own = read.get(ServiceAccount, { namespace, name: settings.serviceAccount }, pullSecretsOf) ?? [];
  const found: PullSecret[] = [];
  const missing: string[] = [];
  for (const name of new Set([...secrets, ...own])) {
    const data = pullDataOf(read.get(Secret, { namespace, name }));
    if (data !== undefined) found.push({ name, data });
    else if (secrets.includes(name)) missing.push(name);
  }
  if (found.length === 0) return { id: undefined, missing };
  const id = digest(found);
  vault.put(id, found);
  return { id, missing };
}

export const pullSecretsOf = ({ imagePullSecrets }: ServiceAccount): readonly string[] =>
  (imagePullSecrets ?? []).flatMap(({ name }) => name ?? []);

/** Only what holds log-in data for registries: nothing else of a Secret is kept. */
function pullDataOf(secret: Secret | undefined): Record<string, string> | undefined {
  const entries = ['.dockerconfigjson', '.dockercfg'].flatMap((key) => {
    const text = secret?.data?.[key];
    return text === undefined ? [] : [[key, text] as const];
  });
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
