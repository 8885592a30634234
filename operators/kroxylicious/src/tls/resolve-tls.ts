// Resolves references to certificates and trust anchors to the TLS part of the proxy's configuration, with the mounts and the content that
// the hash covers. KafkaService uses it towards Kafka, VirtualKafkaCluster towards clients.
import { isUtf8 } from 'node:buffer';
import { ConfigMap, Secret } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import type { TlsConfig } from '../configuration/schema.ts';
import type { AllowDeny, CertificateRef, StoreType, TrustAnchorRef } from '../kinds/index.ts';
import type { Mount, MountSource } from '../resolution/mounts.ts';
import { named, notFound, type Problem, problem, type Warning } from '../resolution/problem.ts';
import { inspectCertificate, seemsEmpty, storeTypeOf, trustFault, type Validity } from './certificates.ts';

export interface Resolved<V> {
  readonly value?: V;
  readonly mounts: readonly Mount[];
  /** The content of the files, for the hash. The digest applies its key to strings of Secrets. */
  readonly content: readonly unknown[];
  readonly problems: readonly Problem[];
  readonly warnings?: readonly Warning[];
}

interface Place {
  readonly read: Reader;
  readonly namespace: string;
  /** The field with the reference. */
  readonly path: string;
  /** Returns the folder at which the source is mounted. */
  readonly mountPath: (name: string) => string;
}

const secretContent = ({ type, data }: Secret) => ({ type, data });
const configMapContent = ({ data, binaryData }: ConfigMap) => ({ data, binaryData });

/** Resolves a certificate and its key from a Secret of type kubernetes.io/tls. */
export function resolveCertificate(ref: CertificateRef, place: Place): Resolved<NonNullable<TlsConfig['key']>> {
  const { read, namespace, path, mountPath } = place;
  const at = { namespace, name: ref.name };
  if (ref.kind !== 'Secret' || ref.group !== '')
    return failed(
      problem('ReferencedGroupKindNotSupported', path, `kind must be Secret of the core group, not ${groupKind(ref)}`),
    );
  const secret = read.get(Secret, at, secretContent);
  if (secret === undefined) return failed(notFound(path, 'Secret', at));
  if (secret.type !== 'kubernetes.io/tls')
    return failed(
      invalid(path, `${named('Secret', at)} has type ${secret.type ?? 'Opaque'}; it must be kubernetes.io/tls`),
    );
  const certificate = secret.data?.['tls.crt'];
  const key = secret.data?.['tls.key'];
  const missing = certificate === undefined ? 'tls.crt' : key === undefined ? 'tls.key' : undefined;
  if (certificate === undefined || key === undefined)
    return failed(invalid(path, `${named('Secret', at)} has no key ${missing}; add it`));
  const found = inspectCertificate(decoded(certificate), decoded(key));
  if (typeof found === 'string') return failed(invalid(path, `${named('Secret', at)}: ${found}`));
  const folder = mountPath(ref.name);
  return {
    value: { privateKeyFile: `${folder}/tls.key`, certificateFile: `${folder}/tls.crt` },
    mounts: [{ source: 'Secret', name: ref.name, path: folder, keys: ['tls.crt', 'tls.key'] }],
    content: [certificate, key],
    problems: [],
    warnings: validityWarnings(found, named('Secret', at), place),
  };
}

/** Returns warnings for a certificate outside its validity. The proxy starts with it and serves it, but clients refuse it. */
function validityWarnings(valid: Validity, where: string, { read, path }: Place): Warning[] {
  const time = (instant: number) => new Date(instant).toISOString().replace('.000Z', 'Z');
  if (!read.reached(valid.from))
    return [
      {
        reason: 'CertificateNotYetValid',
        path,
        message: `the certificate in ${where} is valid from ${time(valid.from)} on; check the clock of who issued it, or wait`,
      },
    ];
  if (!read.reached(valid.until)) return [];
  const message = `the certificate in ${where} expired at ${time(valid.until)}; renew it`;
  return [{ reason: 'CertificateExpired', path, message }];
}

/** Resolves a trust store from one key of a ConfigMap or Secret. */
export function resolveTrust(ref: TrustAnchorRef, place: Place): Resolved<{ storeFile: string; storeType: StoreType }> {
  const { read, namespace, path, mountPath } = place;
  const at = { namespace, name: ref.name };
  if (ref.group !== '' || (ref.kind !== 'ConfigMap' && ref.kind !== 'Secret'))
    return failed(
      problem(
        'ReferencedGroupKindNotSupported',
        path,
        `kind must be ConfigMap or Secret of the core group, not ${groupKind(ref)}`,
      ),
    );
  const source: MountSource = ref.kind;
  const storeType = ref.storeType ?? storeTypeOf(ref.key);
  if (storeType === undefined)
    return failed(
      problem('Invalid', `${path}.key`, `${ref.key} does not end in .pem, .p12 or .jks; rename it or set storeType`),
    );
  const data = keysOf(read, source, at);
  if (data === undefined) return failed(notFound(path, source, at));
  const content = data(ref.key);
  if (content === undefined)
    return failed(invalid(path, `${named(source, at)} has no key ${ref.key}; add it or correct the key`));
  const wrong = trustFault(content.bytes, storeType);
  if (wrong !== undefined)
    return failed(invalid(path, `key ${ref.key} of ${named(source, at)} is not usable: ${wrong}`));
  const folder = mountPath(ref.name);
  return {
    value: { storeFile: `${folder}/${ref.key}`, storeType },
    mounts: [{ source, name: ref.name, path: folder, keys: [ref.key] }],
    content: [content.text],
    problems: [],
    warnings: seemsEmpty(content.bytes, storeType)
      ? [{ reason: 'TrustStoreEmpty', path, message: `key ${ref.key} of ${named(source, at)} ${EMPTY_STORE}` }]
      : [],
  };
}

const EMPTY_STORE =
  'has no certificate that the proxy can read without a password, so no certificate is trusted; create it with "keytool -J-Dkeystore.pkcs12.certProtectionAlgorithm=NONE -importcert", or use PEM';

/** The content of one key: the text in the object (for the hash) and its bytes. */
export interface KeyContent {
  readonly text: string;
  readonly bytes: Buffer;
}

/** Looks up keys of a Secret or ConfigMap. Returns undefined if the object does not exist. */
export function keysOf(
  read: Reader,
  source: MountSource,
  ref: { name: string; namespace: string },
): ((key: string) => KeyContent | undefined) | undefined {
  if (source === 'Secret') {
    const found = read.get(Secret, ref, secretContent);
    if (found === undefined) return undefined;
    return (key) => contentOf(found.data?.[key], 'base64');
  }
  const found = read.get(ConfigMap, ref, configMapContent);
  if (found === undefined) return undefined;
  return (key) => contentOf(found.data?.[key], 'utf8') ?? plainly(contentOf(found.binaryData?.[key], 'base64'));
}

/** Converts text of `binaryData` to the form that it has in `data`, so that both have the same hash. */
function plainly(content: KeyContent | undefined): KeyContent | undefined {
  return content !== undefined && isUtf8(content.bytes)
    ? { text: content.bytes.toString('utf8'), bytes: content.bytes }
    : content;
}

function contentOf(text: string | undefined, encoding: 'base64' | 'utf8'): KeyContent | undefined {
  return text === undefined ? undefined : { text, bytes: Buffer.from(text, encoding) };
}

/**
 * Returns the proxy's form of an allow and a deny list, or undefined if both are empty. Denials are sorted, since their order has no
 * meaning.
 */
export function allowedDenied(lists: AllowDeny | undefined): TlsConfig['protocols'] {
  const allowed = lists?.allow ?? [];
  const denied = [...new Set(lists?.deny)].toSorted();
  if (allowed.length === 0 && denied.length === 0) return undefined;
  return { ...(allowed.length > 0 ? { allowed } : {}), ...(denied.length > 0 ? { denied } : {}) };
}

/** The result if there is nothing to resolve. */
export const UNRESOLVED: Resolved<never> = { mounts: [], content: [], problems: [] };

function failed(...problems: Problem[]): Resolved<never> {
  return { ...UNRESOLVED, problems };
}

function invalid(path: string, message: string): Problem {
  return problem('InvalidReferencedResource', path, message);
}

function groupKind({ group, kind }: { group: string; kind: string }): string {
  return group === '' ? kind : `${kind}.${group}`;
}

function decoded(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}
