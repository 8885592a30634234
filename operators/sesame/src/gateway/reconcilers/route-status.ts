// The status of a route, for each Gateway of ours that it names. The statuses of other controllers are left as they are.

import { type ConditionInput, plan, type Reader, type Reconciler, reconciler } from '@capstan/reconcile';
import { condition, nestedConditions } from '../api/nested-conditions.ts';
import type { AnyRoute, RouteKindName, RouteStatus } from '../api/objects.ts';
import { isGatewayParent, type ParentReference, parentKey } from '../api/references.ts';
import type { GatewayGraph, OwnGateway } from '../graph/gateway-graph.ts';
import type { RefProblem } from '../listeners/certificates.ts';
import { attach } from '../routes/attachment.ts';
import type { GatewayReads } from '../routes/gateway-reads.ts';

export interface RouteStatusOptions {
  readonly kind: RouteKindName;
  readonly reads: GatewayReads;
  readonly graph: GatewayGraph;
}

export function routeStatus({ kind, reads, graph }: RouteStatusOptions): Reconciler {
  return reconciler<AnyRoute>({
    name: `${kind.toLowerCase()}-status`,
    resource: reads.kinds[kind],
    reads: reads.declarations,
    writesStatus: true,
    primary: false,
    concurrency: 16,
    reconcile({ object, read }) {
      const namespace = object.metadata.namespace ?? '';
      const before = object.status?.parents ?? [];
      const controllers = new Set<string>();
      const ours = (object.spec.parentRefs ?? []).flatMap((parent) => {
        const gateway = isGatewayParent(parent)
          ? read.derived(graph.gateways, parentKey(parent, namespace))
          : undefined;
        if (!gateway) return [];
        controllers.add(gateway.controllerName);
        return [parentStatus(object, kind, parent, gateway, before, reads, graph, read)];
      });
      const others = before.filter(
        ({ parentRef, controllerName }) => !isOurs(read, graph, namespace, parentRef, controllerName),
      );
      if (ours.length === 0 && others.length === before.length) return plan({});
      return plan({ status: { parents: [...others, ...ours] } });
    },
  });
}

/** An entry that we wrote, or would have written: of a Gateway that is ours. */
function isOurs(
  read: Reader,
  graph: GatewayGraph,
  namespace: string,
  parent: ParentReference,
  controllerName: string,
): boolean {
  if (!isGatewayParent(parent)) return false;
  return read.derived(graph.gateways, parentKey(parent, namespace))?.controllerName === controllerName;
}

type ParentEntry = NonNullable<RouteStatus['parents']>[number];

function parentStatus(
  object: AnyRoute,
  kind: RouteKindName,
  parent: ParentReference,
  gateway: OwnGateway,
  before: readonly ParentEntry[],
  reads: GatewayReads,
  graph: GatewayGraph,
  read: Reader,
): ParentEntry {
  const namespace = object.metadata.namespace ?? '';
  const hostnames = 'hostnames' in object.spec ? object.spec.hostnames : undefined;
  const key = `${kind}/${namespace}/${object.metadata.name ?? ''}@${gateway.namespace}/${gateway.name}@http:80`;
  const { refusal } = attach(
    { kind, namespace, hostnames },
    parent,
    { namespace: gateway.namespace, listeners: gateway.state.listeners },
    reads.lookup(read),
  );
  const { refProblems, invalidRules, ruleCount } =
    kind === 'HTTPRoute' || kind === 'GRPCRoute'
      ? read.derived(graph.translated, key)
      : { ...read.derived(graph.streams, key), invalidRules: [], ruleCount: 1 };
  const existing = before.find(
    (each) => each.controllerName === gateway.controllerName && isSameParent(each.parentRef, parent),
  );
  return {
    parentRef: parent,
    controllerName: gateway.controllerName,
    conditions: nestedConditions(
      routeConditions(refusal, refProblems, invalidRules, ruleCount),
      existing?.conditions,
      object.metadata.generation,
    ),
  };
}

export function routeConditions(
  refusal: RefProblem | undefined,
  refProblems: readonly RefProblem[],
  invalidRules: readonly string[],
  ruleCount: number,
): ConditionInput[] {
  const [first] = refProblems;
  const areAllInvalid = invalidRules.length > 0 && invalidRules.length === ruleCount;
  const accepted = refusal
    ? condition('Accepted', false, refusal.reason, refusal.message)
    : areAllInvalid
      ? condition('Accepted', false, 'UnsupportedValue', invalidRules.join('; '))
      : condition('Accepted', true, 'Accepted', 'Accepted');
  return [
    accepted,
    first
      ? condition('ResolvedRefs', false, first.reason, refProblems.map(({ message }) => message).join('; '))
      : condition('ResolvedRefs', true, 'ResolvedRefs', 'References resolved'),
    ...(invalidRules.length > 0 && !areAllInvalid
      ? [condition('PartiallyInvalid', true, 'UnsupportedValue', `Dropped Rule: ${invalidRules.join('; ')}`)]
      : []),
  ];
}

function isSameParent(left: ParentReference, right: ParentReference): boolean {
  return (
    left.name === right.name &&
    left.namespace === right.namespace &&
    left.sectionName === right.sectionName &&
    left.port === right.port
  );
}
