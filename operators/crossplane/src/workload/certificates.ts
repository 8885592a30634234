// The certificate authority of an operator, at hand for those who mint certificates: its key is in no plan.
import { type CertificateAndKey, Secret } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import { CertificateErrors } from '../errors.ts';
import { authorityOf, createTlsMinters, ROOT_CA_SECRET, type TlsMinters } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';

export interface Certificates {
  readonly minters: TlsMinters;
  /** The fingerprint of the authority, whose key is at hand from then on; undefined while there is none. */
  authority(read: Reader): string | undefined;
}

export function createCertificates({ namespace, now }: Pick<Settings, 'namespace' | 'now'>): Certificates {
  let current: { secret: Secret; ca: CertificateAndKey; fingerprint: string } | undefined;
  return {
    minters: createTlsMinters({
      now,
      loadCa: async () => {
        if (current === undefined) throw CertificateErrors.NoAuthority(namespace, ROOT_CA_SECRET);
        return current.ca;
      },
    }),
    authority(read) {
      const secret = read.get(Secret, { namespace, name: ROOT_CA_SECRET });
      if (secret !== undefined && secret.data === current?.secret.data) return current?.fingerprint;
      const fingerprint = authorityOf(secret);
      if (secret === undefined || fingerprint === undefined) return undefined;
      const text = (key: string) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
      current = { secret, ca: { certificate: text('tls.crt'), key: text('tls.key') }, fingerprint };
      return fingerprint;
    },
  };
}
