// Whom keyless signatures are trusted by: certificate authorities (Fulcio), transparency logs (Rekor) and, for certificates,
// the logs of those. Given as files, as one has them where nothing can be asked: a trusted_root.json, or PEM files of each.
import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { isRecord } from '@capstan/kube';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { type TrustMaterial, toTrustMaterial } from '@sigstore/verify';
import { CosignErrors } from './errors.ts';

/** Paths of files. */
export interface TrustFiles {
  /** A trusted_root.json of Sigstore; the others are not looked at then. */
  readonly trustedRoot?: string;
  /** PEM certificates of Fulcio: roots, and the certificates that they issued. */
  readonly fulcio?: string;
  /** PEM public keys of Rekor. */
  readonly rekor?: string;
  /** PEM public keys of the logs of certificates. */
  readonly ctlog?: string;
}

export type ReadFile = (path: string) => Promise<string>;

/** Reads the files as they are now: keys are rotated without a restart. Throws BadTrustRoot. */
export async function loadTrustRoot(files: TrustFiles, readFile: ReadFile): Promise<TrustMaterial> {
  const { trustedRoot, fulcio = '', rekor = '', ctlog } = files;
  if (trustedRoot !== undefined)
    return parsed(trustedRoot, await read(trustedRoot), (text) =>
      toTrustMaterial(TrustedRoot.fromJSON(objectOf(text))),
    );
  const authorities = parsed(fulcio, await read(fulcio), certificateAuthorities);
  const tlogs = parsed(rekor, await read(rekor), logs);
  const ctlogs = ctlog === undefined ? [] : parsed(ctlog, await read(ctlog), logs);
  const root = { certificateAuthorities: authorities, tlogs, ctlogs, timestampAuthorities: [] };
  return toTrustMaterial(TrustedRoot.fromJSON(root));

  async function read(path: string): Promise<string> {
    try {
      return await readFile(path);
    } catch (error) {
      throw CosignErrors.BadTrustRoot(path, (error as Error).message);
    }
  }
}

function parsed<T>(path: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    throw CosignErrors.BadTrustRoot(path, (error as Error).message);
  }
}

function objectOf(text: string): object {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value) || !Array.isArray(value['tlogs'])) throw new Error('it is no trusted root of Sigstore');
  return value;
}

const blocksOf = (text: string, what: string) =>
  text.match(new RegExp(`-----BEGIN ${what}-----[^-]+-----END ${what}-----`, 'g')) ?? [];

/** One for each root, with everything that is between it and certificates of signers. */
function certificateAuthorities(text: string): object[] {
  const certificates = blocksOf(text, 'CERTIFICATE').map((block) => new X509Certificate(block));
  const isRoot = (one: X509Certificate) => one.checkIssued(one) && one.verify(one.publicKey);
  const roots = certificates.filter(isRoot);
  if (roots.length === 0) throw new Error('it holds no certificate of a root, in PEM');
  const between = certificates.filter((one) => !isRoot(one));
  return roots.map((root) => ({
    certChain: { certificates: [...between, root].map(({ raw }) => ({ rawBytes: raw.toString('base64') })) },
  }));
}

function logs(text: string): object[] {
  const blocks = blocksOf(text, 'PUBLIC KEY');
  if (blocks.length === 0) throw new Error('it holds no public key, in PEM');
  return blocks.map((block) => {
    const raw = createPublicKey(block).export({ type: 'spki', format: 'der' });
    return {
      baseUrl: '',
      hashAlgorithm: 'SHA2_256',
      publicKey: { rawBytes: raw.toString('base64'), keyDetails: 'PKIX_ECDSA_P256_SHA_256' },
      logId: { keyId: createHash('sha256').update(raw).digest('base64') },
    };
  });
}
