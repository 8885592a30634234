import { X509Certificate } from 'node:crypto';

export interface CertificateValidity {
  notBefore: Date;
  notAfter: Date;
}

/** The validity of the first certificate in PEM data; throws when there is none. */
export function certificateValidity(pem: string): CertificateValidity {
  const { validFromDate, validToDate } = new X509Certificate(pem);
  return { notBefore: validFromDate, notAfter: validToDate };
}

/** When to renew: after two thirds of the certificate's life. */
export function renewalTime({ notBefore, notAfter }: CertificateValidity): Date {
  const life = notAfter.getTime() - notBefore.getTime();
  return new Date(notBefore.getTime() + (life * 2) / 3);
}
