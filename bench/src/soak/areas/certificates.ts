import { randomBytes } from 'node:crypto';
import { createCa, issueCertificate } from '@capstan/kube';

/** Certificates and secret texts of a soak. Every secret text is a canary, which no log may contain. */
export interface Certificates {
  next(name: string): Promise<{ readonly 'tls.crt': string; readonly 'tls.key': string }>;
  secretText(): string;
  readonly canaries: readonly string[];
}

/** More are forgotten, the oldest first: a soak of an hour must not fill its own memory. */
const MOST_CANARIES = 2000;

export async function createCertificates(days: number): Promise<Certificates> {
  const validity = { notBefore: Date.now() - 3_600_000, notAfter: Date.now() + days * 86_400_000 };
  const ca = await createCa({ commonName: 'soak', ...validity });
  const canaries: string[] = [];
  const remember = (text: string) => {
    canaries.push(text);
    if (canaries.length > MOST_CANARIES) canaries.shift();
  };
  return {
    canaries,
    async next(name) {
      const issued = await issueCertificate({
        ca,
        commonName: name,
        dnsNames: [`${name}.test`],
        usages: ['server'],
        ...validity,
      });
      // The second line: the first one is the same in every key.
      remember(issued.key.split('\n')[1]?.slice(-40) ?? issued.key);
      return { 'tls.crt': issued.certificate, 'tls.key': issued.key };
    },
    secretText() {
      const text = `canary-${randomBytes(12).toString('hex')}`;
      remember(text);
      return text;
    },
  };
}
