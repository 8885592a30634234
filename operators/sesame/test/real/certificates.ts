// Certificates of one test: an authority, and the certificates that it issues.
import { type CertificateAndKey, createCa, issueCertificate } from '@capstan/kube';

export interface Authority {
  readonly ca: CertificateAndKey;
  /** For the name, as server and client. */
  issue(name: string): Promise<CertificateAndKey>;
}

const VALIDITY = { notBefore: Date.now() - 60_000, notAfter: Date.now() + 3_600_000 };

export async function createAuthority(commonName = 'test'): Promise<Authority> {
  const ca = await createCa({ commonName, ...VALIDITY });
  return {
    ca,
    issue: (name) =>
      issueCertificate({ ca, commonName: name, dnsNames: [name], usages: ['server', 'client'], ...VALIDITY }),
  };
}

/** The data of a Secret of the type kubernetes.io/tls. */
export function tlsData({ certificate, key }: CertificateAndKey): Record<string, string> {
  return { 'tls.crt': certificate, 'tls.key': key };
}
