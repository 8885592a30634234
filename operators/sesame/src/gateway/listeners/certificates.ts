// Certificates that a Gateway names: of its listeners, for the verification of clients, and its own towards backends.
import type { Certificate } from '../../model/certificate.ts';
import type { ClientValidation } from '../../model/listener.ts';
import { accept, type Result, refuse } from '../../result.ts';
import {
  CA_CERT,
  caSecretProblem,
  certificateOf,
  NO_SECRET,
  tlsSecretProblem,
} from '../../routing/upstream/tls-secret.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import type { FrontendValidation } from '../api/objects.ts';
import { GATEWAY_GROUP, isPermitted, type ObjectReference, type Referrer } from '../api/references.ts';

export interface RefProblem {
  readonly reason: string;
  readonly message: string;
}

export interface ResolvedCertificates {
  readonly found: readonly Certificate[];
  readonly problem: RefProblem | undefined;
}

const gatewayIn = (namespace: string): Referrer => ({ group: GATEWAY_GROUP, kind: 'Gateway', namespace });

/** The usable certificates are served; the first problem is reported. */
export function resolveCertificates(
  refs: readonly ObjectReference[],
  namespace: string,
  lookup: GatewayLookup,
  reason = 'InvalidCertificateRef',
): ResolvedCertificates {
  const certificates: Certificate[] = [];
  let problem: RefProblem | undefined;
  for (const [index, ref] of refs.entries()) {
    const found = resolveCertificate(ref, namespace, lookup, reason);
    if (found.isOk) certificates.push(found.value);
    else problem ??= at(`tls.certificateRefs[${index}]`, found.problem);
  }
  return { found: certificates, problem };
}

export function resolveCertificate(
  ref: ObjectReference,
  namespace: string,
  lookup: GatewayLookup,
  reason: string,
): Result<Certificate, RefProblem> {
  const { group = '', kind = 'Secret', namespace: target = namespace, name } = ref;
  const where = `Secret ${target}/${name}`;
  if (group !== '' || kind !== 'Secret')
    return refuse({
      reason,
      message: `${kind} ${name} of group ${JSON.stringify(group)} is not supported; name a Secret`,
    });
  if (!isPermitted(gatewayIn(namespace), { group, kind, namespace: target, name }, lookup.grants))
    return refuse({
      reason: 'RefNotPermitted',
      message: `${where}: no ReferenceGrant in namespace ${target} allows Gateways of ${namespace} to use it; add one there`,
    });
  const secret = lookup.secret(target, name);
  if (!secret) return refuse({ reason, message: `${where} cannot be used: ${NO_SECRET}` });
  const problem = tlsSecretProblem(secret);
  return problem === undefined
    ? accept(certificateOf(secret))
    : refuse({ reason, message: `${where} cannot be used: ${problem}` });
}

export interface FrontendClients {
  readonly validation: ClientValidation | undefined;
  readonly isRequired: boolean;
  readonly isInsecure: boolean;
  readonly problem: RefProblem | undefined;
}

/** How certificates of clients are verified. */
export function clientValidation(
  { caCertificateRefs, mode = 'AllowValidOnly' }: FrontendValidation,
  namespace: string,
  lookup: GatewayLookup,
): FrontendClients {
  const authorities: Buffer[] = [];
  let problem: RefProblem | undefined;
  for (const [index, ref] of caCertificateRefs.entries()) {
    const found = authorityOf(ref, namespace, lookup);
    if (found.isOk) authorities.push(found.value);
    else problem ??= at(`validation.caCertificateRefs[${index}]`, found.problem);
  }
  const isInsecure = mode === 'AllowInsecureFallback';
  return {
    validation: authorities.length === 0 ? undefined : { ca: joined(authorities), acceptsUntrusted: isInsecure },
    isRequired: !isInsecure,
    isInsecure,
    problem,
  };
}

function at(path: string, { reason, message }: RefProblem): RefProblem {
  return { reason, message: `${path}: ${message}` };
}

function authorityOf(ref: ObjectReference, own: string, lookup: GatewayLookup): Result<Buffer, RefProblem> {
  const { group = '', kind = 'ConfigMap', namespace = own, name } = ref;
  const where = `${kind} ${namespace}/${name}`;
  if (group !== '' || (kind !== 'ConfigMap' && kind !== 'Secret'))
    return refuse({
      reason: 'InvalidCACertificateKind',
      message: `${where} is not supported; name a ConfigMap or a Secret`,
    });
  if (!isPermitted(gatewayIn(own), { group, kind, namespace, name }, lookup.grants))
    return refuse({
      reason: 'RefNotPermitted',
      message: `${where}: no ReferenceGrant in namespace ${namespace} allows Gateways of ${own} to use it; add one there`,
    });
  const found = authority(kind, namespace, name, lookup);
  return found.isOk
    ? found
    : refuse({ reason: 'InvalidCACertificateRef', message: `${where} cannot be used: ${found.problem}` });
}

/** The bundle in ca.crt of a ConfigMap or Secret. */
export function authority(
  kind: 'ConfigMap' | 'Secret',
  namespace: string,
  name: string,
  lookup: Pick<GatewayLookup, 'configMap' | 'secret'>,
): Result<Buffer> {
  const data = kind === 'Secret' ? lookup.secret(namespace, name)?.data : bytesOf(lookup.configMap(namespace, name));
  if (!data) return refuse(NO_SECRET);
  const problem = caSecretProblem({ namespace, name, type: 'Opaque', data });
  const certificates = data[CA_CERT];
  return problem !== undefined || !certificates ? refuse(problem ?? `${CA_CERT} is empty`) : accept(certificates);
}

function bytesOf(texts: Readonly<Record<string, string>> | undefined): Record<string, Buffer> | undefined {
  return texts && Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text)]));
}

function joined(bundles: readonly Buffer[]): Buffer {
  return Buffer.concat(bundles.flatMap((bundle) => [bundle, Buffer.from('\n')]));
}
