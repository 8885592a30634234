// The keys of one real control plane, created for it and gone with it.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CertificateAndKey, type Clock, createCa, generateKeys, issueCertificate } from '@capstan/kube';

export interface RealPki {
  /** PEM. */
  readonly ca: string;
  readonly admin: CertificateAndKey;
  /** Issues a client certificate: the API server knows its bearer by this name and these groups. */
  user(name: string, groups?: readonly string[]): Promise<CertificateAndKey>;
  /** The paths of the files for kube-apiserver and the controller manager. */
  readonly files: Record<'ca' | 'serverCertificate' | 'serverKey' | 'signingKey', string>;
}

const HOUR = 3_600_000;

export async function createRealPki(folder: string, clock: Pick<Clock, 'now'>): Promise<RealPki> {
  const span = { notBefore: clock.now() - HOUR, notAfter: clock.now() + 48 * HOUR };
  const ca = await createCa({ commonName: 'capstan-real', ...span });
  const server = await issueCertificate({
    ca,
    commonName: 'kube-apiserver',
    usages: ['server'],
    dnsNames: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
    ipAddresses: ['127.0.0.1', '10.96.0.1'],
    ...span,
  });
  const user: RealPki['user'] = (name, groups = []) =>
    issueCertificate({ ca, commonName: name, organizations: groups, usages: ['client'], ...span });
  const admin = await user('kubernetes-admin', ['system:masters']);
  const { privateKey } = await generateKeys();
  await mkdir(folder, { recursive: true });
  const write = async (name: string, text: string) => {
    const path = join(folder, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  };
  return {
    ca: ca.certificate,
    admin,
    user,
    files: {
      ca: await write('ca.crt', ca.certificate),
      serverCertificate: await write('server.crt', server.certificate),
      serverKey: await write('server.key', server.key),
      // Kubernetes finds the public key in the older form of private keys only.
      signingKey: await write('service-account.key', privateKey.export({ type: 'sec1', format: 'pem' })),
    },
  };
}

/** A kubeconfig with one context, for programs that take nothing else. */
export function kubeconfigFor(url: string, ca: string, { certificate, key }: CertificateAndKey): string {
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  // JSON is YAML.
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'real',
    clusters: [{ name: 'real', cluster: { server: url, 'certificate-authority-data': encoded(ca) } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'user', namespace: 'default' } }],
    users: [
      { name: 'user', user: { 'client-certificate-data': encoded(certificate), 'client-key-data': encoded(key) } },
    ],
  });
}
