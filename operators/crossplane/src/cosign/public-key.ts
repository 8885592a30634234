import { createPublicKey, type KeyObject } from 'node:crypto';

export interface PublicKey {
  readonly key: KeyObject;
  /** For crypto.verify; Ed25519 has its own. */
  readonly hash: string | null;
}

const HASHES = ['sha224', 'sha256', 'sha384', 'sha512'];
const MIN_RSA_BITS = 2048;

/** The key of an authority, or why there is none. */
export function loadKey(authority: {
  readonly publicKey?: string;
  readonly hashAlgorithm?: string;
}): PublicKey | string {
  const { publicKey, hashAlgorithm = 'sha256' } = authority;
  if (publicKey === undefined) return 'it has no key, and signing without keys is not supported';
  const hash = hashAlgorithm.trim().toLowerCase();
  if (!HASHES.includes(hash)) return `its hashAlgorithm is not one of ${HASHES.join(', ')}`;
  // A private key would do as well, and has no business in a cluster.
  if (/PRIVATE KEY/.test(publicKey)) return 'its key is a private key; give the public one (cosign.pub)';
  let key: KeyObject;
  try {
    key = createPublicKey(publicKey);
  } catch {
    return 'its key is not a public key in PEM';
  }
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return { key, hash: null };
    case 'ec':
      return { key, hash };
    case 'rsa':
      return (key.asymmetricKeyDetails?.modulusLength ?? 0) < MIN_RSA_BITS
        ? `its RSA key has less than ${MIN_RSA_BITS} bits`
        : { key, hash };
    default:
      return `its key is of the type ${key.asymmetricKeyType}; ECDSA, RSA and Ed25519 are supported`;
  }
}
