// What is in certificate Secrets and trust anchors: checked before a proxy starts with it, since one bad file stops all of
// its virtual clusters.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { StoreType } from '../kinds/index.ts';

/** What is wrong with a certificate and its key (PEM); undefined when they fit. Never tells any of their content. */
export function certificateFault(certificate: string, key: string): string | undefined {
  let parsed: X509Certificate;
  try {
    parsed = new X509Certificate(certificate);
  } catch {
    return 'tls.crt holds no PEM certificate that can be read; renew it';
  }
  try {
    return parsed.checkPrivateKey(createPrivateKey(key))
      ? undefined
      : 'tls.key is not the key of the certificate in tls.crt; store the two that belong together';
  } catch {
    return 'tls.key holds no PEM private key that can be read; it must not have a password';
  }
}

/** What is wrong with a trust store's bytes; undefined when it looks like what it should be. */
export function trustFault(content: Buffer, storeType: StoreType): string | undefined {
  switch (storeType) {
    case 'PEM':
      try {
        // The first certificate is parsed; the proxy reads all of them.
        return new X509Certificate(content).raw.length > 0 ? undefined : 'it is empty';
      } catch {
        return 'it holds no PEM certificate that can be read';
      }
    case 'JKS':
      return content.length > 4 && content.readUInt32BE() === JKS_MAGIC ? undefined : 'it is no Java key store';
    case 'PKCS12':
      return content[0] === DER_SEQUENCE ? undefined : 'it is no PKCS#12 store';
  }
}

const JKS_MAGIC = 0xfe_ed_fe_ed;
const DER_SEQUENCE = 0x30;

/** The store type that a key's ending stands for. */
export function storeTypeOf(key: string): StoreType | undefined {
  if (key.endsWith('.pem')) return 'PEM';
  if (key.endsWith('.p12')) return 'PKCS12';
  if (key.endsWith('.jks')) return 'JKS';
  return undefined;
}
