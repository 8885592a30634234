// Inspects certificate Secrets and trust anchors before a proxy starts with them, since one bad file stops all its virtual clusters.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { StoreType } from '../kinds/index.ts';

/** Netty tries these types one after another. The proxy does not start with any other type. */
const KEY_TYPES = new Set(['rsa', 'dsa', 'ec']);

export interface Validity {
  /** Milliseconds. */
  readonly from: number;
  readonly until: number;
}

/**
 * Returns the problem of a certificate and its key (PEM), or the time in which the certificate is valid. The result contains none of their
 * content.
 */
export function inspectCertificate(certificate: string, key: string): string | Validity {
  const chain = chainOf(certificate);
  const [leaf, ...others] = chain ?? [];
  if (leaf === undefined) return 'tls.crt holds no PEM certificate that can be read; renew it';
  if (chain?.includes(undefined))
    return 'tls.crt holds a certificate that cannot be read after the first; renew it with the whole chain';
  const privateKey = keyOf(key);
  if (privateKey === undefined) return 'tls.key holds no PEM private key that can be read; it must not have a password';
  if (!leaf.checkPrivateKey(privateKey))
    return others.some((other) => other?.checkPrivateKey(privateKey))
      ? 'the certificate of tls.key is not the first one in tls.crt; put it before those that signed it'
      : 'tls.key is not the key of the certificate in tls.crt; store the two that belong together';
  // Netty supports no other form, and the proxy would not start.
  if (!key.includes('-----BEGIN PRIVATE KEY-----'))
    return 'tls.key is not in the PKCS#8 form, the only one that the proxy reads; convert it with "openssl pkcs8 -topk8 -nocrypt", or set privateKey.encoding to PKCS8 in its Certificate of cert-manager';
  if (!KEY_TYPES.has(privateKey.asymmetricKeyType ?? ''))
    return `tls.key is a key of the type ${privateKey.asymmetricKeyType}, and the proxy reads RSA and EC keys; renew the certificate with such a key (cert-manager: privateKey.algorithm RSA or ECDSA)`;
  return { from: leaf.validFromDate.getTime(), until: leaf.validToDate.getTime() };
}

/** Returns the problem of a trust store's bytes, or undefined if they have the format of its type. */
export function trustFault(content: Buffer, storeType: StoreType): string | undefined {
  switch (storeType) {
    case 'PEM': {
      const chain = chainOf(content.toString('utf8'));
      if (chain?.[0] === undefined) return 'it holds no PEM certificate that can be read';
      const unreadable = chain.indexOf(undefined);
      return unreadable < 0 ? undefined : `certificate ${unreadable + 1} in it cannot be read; renew or remove it`;
    }
    case 'JKS':
      return content.length > 4 && content.readUInt32BE() === JKS_MAGIC ? undefined : 'it is no Java key store';
    case 'PKCS12':
      return isPkcs12(content) ? undefined : 'it is no PKCS#12 store';
  }
}

/**
 * Returns whether the proxy would find no certificate in an otherwise valid trust store, and so trust no peer. The proxy gets no password.
 * Without one, Java skips the encrypted certificates of a PKCS#12 store (keytool and openssl encrypt them by default) and those that are
 * not marked as trusted. Other stores are readable without a password.
 */
export function seemsEmpty(content: Buffer, storeType: StoreType): boolean {
  return storeType === 'PKCS12' && (content.includes(ENCRYPTED_DATA) || !content.includes(TRUSTED_KEY_USAGE));
}

/** The object identifier of PKCS#7's encryptedData. */
const ENCRYPTED_DATA = Buffer.from('06092a864886f70d010706', 'hex');
/** The object identifier of the attribute with which Java marks certificates as trusted. */
const TRUSTED_KEY_USAGE = Buffer.from('060c6086480186f966adca7b0101', 'hex');

/** Returns all certificates of a PEM text in their order, with undefined for an unreadable one. Returns undefined if there are none. */
function chainOf(pem: string): (X509Certificate | undefined)[] | undefined {
  const blocks = pem.match(/-----BEGIN [^-\n]*CERTIFICATE-----[\s\S]*?-----END [^-\n]*CERTIFICATE-----/g);
  return blocks?.map((block) => {
    try {
      return new X509Certificate(block);
    } catch {
      return undefined;
    }
  });
}

function keyOf(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

const JKS_MAGIC = 0xfe_ed_fe_ed;
/** Matches a SEQUENCE with a length of up to four bytes or an indefinite one, and the version INTEGER 3. */
const PKCS12_HEAD = /^30(80|[0-7].|81..|82.{4}|83.{6}|84.{8})020103/;

function isPkcs12(content: Buffer): boolean {
  return PKCS12_HEAD.test(content.subarray(0, 12).toString('hex'));
}

/** Returns the store type for the suffix of a key. */
export function storeTypeOf(key: string): StoreType | undefined {
  if (key.endsWith('.pem')) return 'PEM';
  if (key.endsWith('.p12')) return 'PKCS12';
  if (key.endsWith('.jks')) return 'JKS';
  return undefined;
}
