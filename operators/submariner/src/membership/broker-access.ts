// How a broker is reached: its address and the certificate authority as a kubeconfig has them, and a client with a token.
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
  const authority = ca === undefined ? undefined : { data: Buffer.from(ca).toString('base64') };
  const kubeconfig = brokerKubeconfig({ server, authority, insecure, user: { token } });
  return createClient({ transport: await connectKubeconfig(kubeconfig, { name: 'broker' }) });
}

export interface BrokerAddress {
  /** host:port or URL. */
  readonly server: string;
  /** A file, or base64 as in a Secret; without one, those of the system. */
  readonly authority: { readonly file: string } | { readonly data: string } | undefined;
  readonly insecure: boolean;
  /** A token, or the file that holds it. */
  readonly user: { readonly token: string } | { readonly tokenFile: string };
}

export function brokerKubeconfig({ server, authority, insecure, user }: BrokerAddress): string {
  const trusted =
    authority === undefined
      ? {}
      : 'file' in authority
        ? { 'certificate-authority': authority.file }
        : { 'certificate-authority-data': authority.data };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'broker',
    clusters: [
      {
        name: 'broker',
        cluster: {
          server: server.includes('://') ? server : `https://${server}`,
          ...(insecure ? { 'insecure-skip-tls-verify': true } : trusted),
        },
      },
    ],
    users: [{ name: 'member', user }],
    contexts: [{ name: 'broker', context: { cluster: 'broker', user: 'member' } }],
  });
}
