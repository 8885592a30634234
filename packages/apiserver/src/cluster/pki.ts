// The keys of an embedded cluster: an authority of its own, the certificates that it issued for the server and for the administrator, and
// for each logical cluster the key that signs tokens. All of them are kept, so kubeconfigs and tokens stay valid over restarts. A
// certificate is issued again at the next start after two thirds of its life, or if it was made for other addresses.
import { createPrivateKey, generateKeyPair, type KeyObject, randomBytes, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { promisify } from 'node:util';
import {
  type CertificateAndKey,
  type Clock,
  certificateValidity,
  createCa,
  type IssueOptions,
  issueCertificate,
  reasonOf,
  renewalTime,
} from '@capstan/kube';
import { ADMIN } from '../core.ts';
import { ClusterErrors } from '../errors.ts';
import type { SecretStore } from './secret-store.ts';

export interface Pki {
  /** The authority's certificate, PEM. */
  readonly ca: string;
  readonly server: CertificateAndKey;
  readonly admin: CertificateAndKey;
  /** Good for the administrator as well; for programs that cannot show a certificate. */
  readonly adminToken: string;
  serviceAccountKey(cluster: string): KeyObject;
}

export interface PkiOptions {
  keep: SecretStore;
  clock: Clock;
  /** Where the server listens. */
  host: string;
  clusters: readonly string[];
}

const AUTHORITY = 'pki/ca';
const DAY = 86_400_000;
const CA_DAYS = 3650;
const LEAF_DAYS = 365;

export async function openPki({ keep, clock, host, clusters }: PkiOptions): Promise<Pki> {
  const now = clock.now();
  const span = (days: number) => ({ notBefore: now - DAY / 24, notAfter: now + days * DAY });
  const ca = await pair(
    keep,
    AUTHORITY,
    now,
    () => true,
    () => createCa({ commonName: 'capstan', ...span(CA_DAYS) }),
  );
  const issue = (options: Omit<IssueOptions, 'ca' | 'notBefore' | 'notAfter'>) =>
    issueCertificate({ ca, ...span(LEAF_DAYS), ...options });
  const isOurs = (certificate: X509Certificate) => certificate.verify(new X509Certificate(ca.certificate).publicKey);
  const names = serverNames(host);
  const server = await pair(
    keep,
    'pki/server',
    now,
    (certificate) => isOurs(certificate) && covers(certificate, names),
    () => issue({ commonName: 'kube-apiserver', usages: ['server'], ...names }),
  );
  const admin = await pair(keep, 'pki/admin', now, isOurs, () =>
    issue({ commonName: ADMIN.name, organizations: ['system:masters'], usages: ['client'] }),
  );
  const adminToken = await kept(keep, 'pki/admin.token', async () => randomBytes(32).toString('base64url'));
  const keys = new Map<string, KeyObject>();
  for (const cluster of clusters) keys.set(cluster, await signingKey(keep, `clusters/${cluster}/service-account.key`));
  return {
    ca: ca.certificate,
    server,
    admin,
    adminToken,
    serviceAccountKey: (cluster) => keys.get(cluster) as KeyObject,
  };
}

async function pair(
  keep: SecretStore,
  name: string,
  now: number,
  isRight: (certificate: X509Certificate) => boolean,
  make: () => Promise<CertificateAndKey>,
): Promise<CertificateAndKey> {
  const certificate = await keep.read(`${name}.crt`);
  const key = await keep.read(`${name}.key`);
  if (certificate !== undefined && key !== undefined) {
    try {
      const parsed = new X509Certificate(certificate);
      if (!parsed.checkPrivateKey(createPrivateKey(key))) throw new TypeError('the key is not that of the certificate');
      const isFresh = now < renewalTime(certificateValidity(certificate)).getTime();
      if (isFresh && isRight(parsed)) return { certificate, key };
    } catch (error) {
      // A renewal that was interrupted leaves a pair that does not fit: it is issued again. Without its authority
      // everything that was ever issued would be worthless, so that is not for us to decide.
      if (name === AUTHORITY) throw ClusterErrors.BadKey(keep.where(`${name}.crt`), reasonOf(error));
    }
  }
  const made = await make();
  await keep.write(`${name}.key`, made.key);
  await keep.write(`${name}.crt`, made.certificate);
  return made;
}

async function kept(keep: SecretStore, name: string, make: () => Promise<string>): Promise<string> {
  const present = (await keep.read(name))?.trim();
  if (present !== undefined && present !== '') return present;
  const made = await make();
  await keep.write(name, `${made}\n`);
  return made;
}

async function signingKey(keep: SecretStore, name: string): Promise<KeyObject> {
  const text = await kept(keep, name, async () => {
    const { privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' });
    return privateKey.export({ type: 'pkcs8', format: 'pem' });
  });
  try {
    return createPrivateKey(text);
  } catch (error) {
    throw ClusterErrors.BadKey(keep.where(name), reasonOf(error));
  }
}

const SERVICE_NAMES = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
];

function serverNames(host: string): { dnsNames: string[]; ipAddresses: string[] } {
  const addresses = new Set(['127.0.0.1', '::1']);
  const names = new Set(['localhost', ...SERVICE_NAMES]);
  if (host === '0.0.0.0' || host === '::') {
    for (const list of Object.values(networkInterfaces())) {
      for (const { address } of list ?? [])
        if (!address.includes('%') && !address.startsWith('fe80')) addresses.add(address);
    }
  } else if (isIP(host) > 0) addresses.add(host);
  else if (host !== '') names.add(host);
  return { dnsNames: [...names], ipAddresses: [...addresses] };
}

function covers(certificate: X509Certificate, names: { dnsNames: string[]; ipAddresses: string[] }): boolean {
  return (
    names.dnsNames.every((name) => certificate.checkHost(name) !== undefined) &&
    names.ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}
