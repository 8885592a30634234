// The status of a BackendTLSPolicy, for each Gateway whose routes reach a Service that it names.
import { plan, type Reader, type Reconciler, reconciler } from '@capstan/reconcile';
import { condition, nestedConditions } from '../api/nested-conditions.ts';
import { type BackendTLSPolicy, ROUTE_KINDS } from '../api/objects.ts';
import { GATEWAY_GROUP } from '../api/references.ts';
import type { GatewayGraph } from '../graph/gateway-graph.ts';
import { policyAuthorities } from '../routes/backend-tls.ts';
import { type GatewayReads, gatewaysOf } from '../routes/gateway-reads.ts';

export interface PolicyStatusOptions {
  readonly reads: GatewayReads;
  readonly graph: GatewayGraph;
}

/** As many as the API allows. */
const MAX_ANCESTORS = 16;

export function backendTlsPolicyStatus({ reads, graph }: PolicyStatusOptions): Reconciler {
  return reconciler<BackendTLSPolicy>({
    name: 'backend-tls-policy-status',
    resource: reads.kinds.BackendTLSPolicy,
    reads: reads.declarations,
    writesStatus: true,
    primary: false,
    reconcile({ object, read }) {
      const namespace = object.metadata.namespace ?? '';
      const before = object.status?.ancestors ?? [];
      const gateways = ancestorsOf(object, read, reads).flatMap((key) => read.derived(graph.gateways, key) ?? []);
      const others = before.filter(({ ancestorRef, controllerName }) => {
        const key = `${ancestorRef.namespace ?? namespace}/${ancestorRef.name}`;
        return read.derived(graph.gateways, key)?.controllerName !== controllerName;
      });
      if (gateways.length === 0 && others.length === before.length) return plan({});
      const conditions = policyConditions(object, read, reads);
      const ours = gateways.map((gateway) => ({
        ancestorRef: { group: GATEWAY_GROUP, kind: 'Gateway', namespace: gateway.namespace, name: gateway.name },
        controllerName: gateway.controllerName,
        conditions: nestedConditions(
          conditions,
          before.find(
            ({ ancestorRef, controllerName }) =>
              controllerName === gateway.controllerName &&
              ancestorRef.name === gateway.name &&
              (ancestorRef.namespace ?? namespace) === gateway.namespace,
          )?.conditions,
          object.metadata.generation,
        ),
      }));
      return plan({ status: { ancestors: [...others, ...ours].slice(0, MAX_ANCESTORS) } });
    },
  });
}

/** Gateways that a route to one of the Services names. */
function ancestorsOf({ metadata, spec }: BackendTLSPolicy, read: Reader, reads: GatewayReads): string[] {
  const services = spec.targetRefs.filter(({ group, kind }) => group === '' && kind === 'Service');
  const found = services.flatMap(({ name }) =>
    ROUTE_KINDS.flatMap((kind) =>
      reads.isServed(read, reads.kinds[kind])
        ? read.by(reads.routesByService[kind], `${metadata.namespace ?? ''}/${name}`, gatewayKeys).flat()
        : [],
    ),
  );
  return [...new Set(found)].toSorted();
}

const gatewayKeys = (route: object) => gatewaysOf(route as Parameters<typeof gatewaysOf>[0]);

function policyConditions({ metadata, spec }: BackendTLSPolicy, read: Reader, reads: GatewayReads) {
  const namespace = metadata.namespace ?? '';
  const lookup = reads.lookup(read);
  const { certificates, problem } = policyAuthorities(spec, namespace, lookup);
  const winner = spec.targetRefs
    .map(({ name, sectionName }) => {
      const rivals = lookup.backendTlsPolicies(namespace, name);
      const first = rivals.find((policy) =>
        policy.spec.targetRefs.some((ref) => ref.name === name && ref.sectionName === sectionName),
      );
      return first?.metadata.name;
    })
    .find((name) => name !== undefined && name !== metadata.name);
  const accepted =
    winner !== undefined
      ? condition(
          'Accepted',
          false,
          'Conflicted',
          `BackendTLSPolicy ${namespace}/${winner} is older and has the same target`,
        )
      : certificates === undefined
        ? condition('Accepted', false, 'NoValidCACertificate', problem?.message ?? 'No certificate authority is named')
        : condition('Accepted', true, 'Accepted', 'Policy is accepted');
  const resolved = problem
    ? condition('ResolvedRefs', false, problem.reason, problem.message)
    : condition('ResolvedRefs', true, 'ResolvedRefs', 'References resolved');
  return [accepted, resolved];
}
