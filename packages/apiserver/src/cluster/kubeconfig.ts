import { readFile } from 'node:fs/promises';
import { parse, stringify } from 'yaml';
import { ClusterErrors } from '../errors.ts';
import { valueAt } from '../json/copy.ts';
import type { Pki } from './pki.ts';
import { writeSecretFile } from './secret-store.ts';

const USER = 'capstan-admin';

/** A kubeconfig for the administrator: one context a cluster, named as the cluster, the first of them current. */
export function kubeconfigText(clusters: readonly { name: string; url: string }[], { ca, admin }: Pki): string {
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': clusters[0]?.name ?? '',
      clusters: clusters.map(({ name, url }) => ({
        name,
        cluster: { server: url, 'certificate-authority-data': encoded(ca) },
      })),
      contexts: clusters.map(({ name }) => ({ name, context: { cluster: name, user: USER, namespace: 'default' } })),
      users: [
        {
          name: USER,
          user: { 'client-certificate-data': encoded(admin.certificate), 'client-key-data': encoded(admin.key) },
        },
      ],
    },
    { lineWidth: 0 },
  );
}

/** Writes the kubeconfig; throws rather than destroy one that has more in it than we wrote. */
export async function writeKubeconfig(path: string, text: string): Promise<void> {
  const present = await readFile(path, 'utf8').catch(() => undefined);
  if (present !== undefined && present.trim() !== '' && !isOurs(present)) throw ClusterErrors.ForeignKubeconfig(path);
  await writeSecretFile(path, text);
}

function isOurs(text: string): boolean {
  try {
    const users = valueAt(parse(text), ['users']);
    return Array.isArray(users) && users.every((user) => valueAt(user, ['name']) === USER);
  } catch {
    return false;
  }
}
