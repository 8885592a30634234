import { stringify } from 'yaml';
import type { Pki } from './pki.ts';

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
