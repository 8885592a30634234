// Certificates that a Gateway names: of its listeners, for the verification of clients, and its own towards backends.
import type { Envoy } from '../../envoy/index.ts';
import { accept, type Result, refuse } from '../../result.ts';
import {
  CA_CERT,
  caSecretProblem,
  NO_SECRET,
  secretResource,
  tlsSecretProblem,
} from '../../routing/upstream/tls-secret.ts';
import type { Resource } from '../../xds/index.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import type { FrontendValidation } from '../api/objects.ts';
import { GATEWAY_GROUP, isPermitted, type ObjectReference, type Referrer } from '../api/references.ts';

export interface RefProblem {
  readonly reason: string;
  readonly message: string;
}

export interface ResolvedCertificates {
  readonly names: readonly string[];
  readonly resources: readonly Resource[];
  readonly problem: RefProblem | undefined;
}

const gatewayIn = (namespace: string): Referrer => ({ group: GATEWAY_GROUP, kind: 'Gateway', namespace });

/** Of several, those that can be used are served; the first problem is reported. */
export function resolveCertificates(
  refs: readonly ObjectReference[],
  namespace: string,
  lookup: GatewayLookup,
  reason = 'InvalidCertificateRef',
): ResolvedCertificates {
  const resources: Resource[] = [];
  let problem: RefProblem | undefined;
  for (const [index, ref] of refs.entries()) {
    const found = resolveCertificate(ref, namespace, lookup, reason);
    if ('reason' in found) problem ??= { ...found, message: `tls.certificateRefs[${index}]: ${found.message}` };
    else resources.push(found);
  }
  return { names: resources.map(({ name }) => name), resources, problem };
}

export function resolveCertificate(
  ref: ObjectReference,
  namespace: string,
  lookup: GatewayLookup,
  reason: string,
): Resource | RefProblem {
  const { group = '', kind = 'Secret', namespace: target = namespace, name } = ref;
  const where = `Secret ${target}/${name}`;
  if (group !== '' || kind !== 'Secret')
    return { reason, message: `${kind} ${name} of group ${JSON.stringify(group)} is not supported; name a Secret` };
  if (!isPermitted(gatewayIn(namespace), { group, kind, namespace: target, name }, lookup.grants))
    return {
      reason: 'RefNotPermitted',
      message: `${where}: no ReferenceGrant in namespace ${target} allows Gateways of ${namespace} to use it; add one there`,
    };
  const secret = lookup.secret(target, name);
  if (!secret) return { reason, message: `${where} cannot be used: ${NO_SECRET}` };
  const problem = tlsSecretProblem(secret);
  return problem === undefined ? secretResource(secret) : { reason, message: `${where} cannot be used: ${problem}` };
}

export interface ClientValidation {
  /** Of Envoy's validation context. */
  readonly context: Envoy.CertificateValidationContext | undefined;
  readonly isRequired: boolean;
  readonly isInsecure: boolean;
  readonly problem: RefProblem | undefined;
}

/** How certificates of clients are verified. */
export function clientValidation(
  { caCertificateRefs, mode = 'AllowValidOnly' }: FrontendValidation,
  namespace: string,
  lookup: GatewayLookup,
): ClientValidation {
  const authorities: Buffer[] = [];
  let problem: RefProblem | undefined;
  for (const [index, ref] of caCertificateRefs.entries()) {
    const found = authorityOf(ref, namespace, lookup);
    if ('reason' in found)
      problem ??= { ...found, message: `validation.caCertificateRefs[${index}]: ${found.message}` };
    else authorities.push(found);
  }
  const isInsecure = mode === 'AllowInsecureFallback';
  return {
    context:
      authorities.length === 0
        ? undefined
        : {
            trusted_ca: { inline_bytes: joined(authorities) },
            trust_chain_verification: isInsecure ? 'ACCEPT_UNTRUSTED' : undefined,
          },
    isRequired: !isInsecure,
    isInsecure,
    problem,
  };
}

function authorityOf(ref: ObjectReference, own: string, lookup: GatewayLookup): Buffer | RefProblem {
  const { group = '', kind = 'ConfigMap', namespace = own, name } = ref;
  const where = `${kind} ${namespace}/${name}`;
  if (group !== '' || (kind !== 'ConfigMap' && kind !== 'Secret'))
    return { reason: 'InvalidCACertificateKind', message: `${where} is not supported; name a ConfigMap or a Secret` };
  if (!isPermitted(gatewayIn(own), { group, kind, namespace, name }, lookup.grants))
    return {
      reason: 'RefNotPermitted',
      message: `${where}: no ReferenceGrant in namespace ${namespace} allows Gateways of ${own} to use it; add one there`,
    };
  const found = authority(kind, namespace, name, lookup);
  return found.isOk
    ? found.value
    : { reason: 'InvalidCACertificateRef', message: `${where} cannot be used: ${found.problem}` };
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
