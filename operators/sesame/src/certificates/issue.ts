// Certificates for the connection between Envoy and Sesame: an authority whose key is thrown away, and one certificate for each side.
import { type CertificateAndKey, createCa, issueCertificate, type KeyType } from '@capstan/kube/cluster';
import { XDS_CLUSTER } from '../bootstrap/bootstrap.ts';

export interface CertificateOptions {
  readonly namespace: string;
  /** The Service of Sesame, which Envoy connects to. */
  readonly sesameService: string;
  readonly envoyService: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly lifeMs: number;
  readonly keyType?: KeyType;
  readonly clusterDomain?: string;
}

export interface XdsCertificates {
  /** PEM. */
  readonly ca: string;
  readonly sesame: CertificateAndKey;
  readonly envoy: CertificateAndKey;
}

export const DAY_MS = 24 * 60 * 60 * 1000;

export async function issueXdsCertificates(options: CertificateOptions): Promise<XdsCertificates> {
  const { now, lifeMs, keyType } = options;
  // Clocks differ: valid from yesterday on, as upstream has it.
  const validity = { notBefore: now - DAY_MS, notAfter: now + lifeMs, ...(keyType && { keyType }) };
  const ca = await createCa({ commonName: 'Project Sesame', ...validity });
  const side = (commonName: string, service: string) =>
    issueCertificate({
      ca,
      commonName,
      dnsNames: serviceNames(commonName, service, options),
      usages: ['server', 'client'],
      ...validity,
    });
  const [sesame, envoy] = await Promise.all([
    side(XDS_CLUSTER, options.sesameService),
    side('envoy', options.envoyService),
  ]);
  return { ca: ca.certificate, sesame, envoy };
}

/** The names of a certificate: Envoy checks the first, `sesame`, whatever the Service is called. */
export function serviceNames(
  commonName: string,
  service: string,
  { namespace, clusterDomain = 'cluster.local' }: Pick<CertificateOptions, 'namespace' | 'clusterDomain'>,
): string[] {
  const ends = ['', `.${namespace}`, `.${namespace}.svc`, `.${namespace}.svc.${clusterDomain}`];
  return [...new Set([commonName, ...ends.map((end) => service + end)])];
}
