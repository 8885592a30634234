// A connection to a broker by its address and a token.
import { type Client, connectKubeconfig, createClient } from '@capstan/kube';
import { stringify } from 'yaml';

export interface BrokerAccess {
  /** host:port or URL. */
  readonly server: string;
  /** PEM. */
  readonly ca: string | undefined;
  readonly token: string;
  readonly insecure?: boolean;
}

export async function connectToBroker({ server, ca, token, insecure = false }: BrokerAccess): Promise<Client> {
  const authority = ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const kubeconfig = stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'broker',
    clusters: [
      {
        name: 'broker',
        cluster: {
          server: server.includes('://') ? server : `https://${server}`,
          ...(insecure ? { 'insecure-skip-tls-verify': true } : authority),
        },
      },
    ],
    users: [{ name: 'member', user: { token } }],
    contexts: [{ name: 'broker', context: { cluster: 'broker', user: 'member' } }],
  });
  return createClient({ transport: await connectKubeconfig(kubeconfig, { name: 'broker' }) });
}
