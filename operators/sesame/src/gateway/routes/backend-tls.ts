// BackendTLSPolicy: which policy counts for a port of a Service, and how Envoy verifies the backend.

import type { UpstreamValidation } from '../../model/cluster.ts';
import { shortHash } from '../../routing/upstream/upstream.ts';
import type { GatewayLookup } from '../api/lookup.ts';
import type { BackendTLSPolicy } from '../api/objects.ts';
import { authority, type RefProblem } from '../listeners/certificates.ts';

export interface BackendTls {
  readonly sni: string;
  readonly validation: UpstreamValidation;
}

/** The policy for the port: one that names it wins over one for the whole Service, then the first by precedence. */
export function policyFor(
  policies: readonly BackendTLSPolicy[],
  service: string,
  portName: string,
): BackendTLSPolicy | undefined {
  const targets = (policy: BackendTLSPolicy, section: string | undefined) =>
    policy.spec.targetRefs.some(
      ({ group, kind, name, sectionName }) =>
        group === '' && kind === 'Service' && name === service && (sectionName || undefined) === section,
    );
  return (
    (portName === '' ? undefined : policies.find((policy) => targets(policy, portName))) ??
    policies.find((policy) => targets(policy, undefined))
  );
}

/** Oldest first, then by name: the order in which policies for the same target count. */
export function byPrecedence(left: BackendTLSPolicy, right: BackendTLSPolicy): number {
  const text = ({ metadata }: BackendTLSPolicy) =>
    `${metadata.creationTimestamp ?? ''} ${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
  return text(left) < text(right) ? -1 : 1;
}

export interface PolicyRefs {
  readonly certificates: Buffer | 'system' | undefined;
  readonly problem: RefProblem | undefined;
}

/** The authorities that a policy names; those that cannot be used are left out, and the first problem is reported. */
export function policyAuthorities(
  { validation }: BackendTLSPolicy['spec'],
  namespace: string,
  lookup: Pick<GatewayLookup, 'configMap' | 'secret'>,
): PolicyRefs {
  if (validation.wellKnownCACertificates !== undefined && validation.wellKnownCACertificates !== '')
    return validation.wellKnownCACertificates === 'System'
      ? { certificates: 'system', problem: undefined }
      : {
          certificates: undefined,
          problem: {
            reason: 'InvalidCACertificateRef',
            message: `spec.validation.wellKnownCACertificates: ${validation.wellKnownCACertificates} is not known; use System`,
          },
        };
  const found: Buffer[] = [];
  let problem: RefProblem | undefined;
  for (const [index, ref] of (validation.caCertificateRefs ?? []).entries()) {
    const { group = '', kind = 'ConfigMap', name } = ref;
    const at = `spec.validation.caCertificateRefs[${index}]`;
    if (group !== '' || (kind !== 'ConfigMap' && kind !== 'Secret')) {
      problem ??= {
        reason: 'InvalidKind',
        message: `${at}: ${kind} ${name} is not supported; name a ConfigMap or a Secret`,
      };
      continue;
    }
    const one = authority(kind, namespace, name, lookup);
    if (!one.isOk)
      problem ??= {
        reason: 'InvalidCACertificateRef',
        message: `${at}: ${kind} ${namespace}/${name} cannot be used: ${one.problem}`,
      };
    else found.push(one.value, Buffer.from('\n'));
  }
  return { certificates: found.length > 0 ? Buffer.concat(found) : undefined, problem };
}

/** Undefined when no authority can be used: the backend must not be reached then. */
export function backendTls(
  policy: BackendTLSPolicy,
  lookup: Pick<GatewayLookup, 'configMap' | 'secret'>,
): BackendTls | undefined {
  const namespace = policy.metadata.namespace ?? '';
  const { certificates } = policyAuthorities(policy.spec, namespace, lookup);
  if (certificates === undefined) return undefined;
  const { hostname, subjectAltNames = [] } = policy.spec.validation;
  const names = subjectAltNames.flatMap(({ type, hostname: name }) => (type === 'Hostname' && name ? [name] : []));
  const uris = subjectAltNames.flatMap(({ type, uri }) => (type === 'URI' && uri ? [uri] : []));
  return {
    sni: hostname,
    validation: {
      caName: certificates === 'system' ? 'system' : shortHash(certificates.toString('utf8')),
      ca: certificates,
      subjectNames: subjectAltNames.length > 0 ? names : [hostname],
      subjectUris: uris,
    },
  };
}
