import type { UnknownObject } from '@capstan/kube';
import { boundedErrors } from '../bounded-errors.ts';
import type { FieldError } from '../errors.ts';
import { withoutNulls } from '../json/copy.ts';
import * as autoscaler from './autoscaler-rules.ts';
import * as batch from './batch-rules.ts';
import { claim, storageClass, volume } from './claim-rules.ts';
import * as cluster from './cluster-rules.ts';
import * as event from './event-rules.ts';
import { apiService } from './extensions/aggregation-rules.ts';
import * as network from './network-rules.ts';
import * as node from './node-rules.ts';
import { pod } from './pod-rules.ts';
import * as policy from './policy-rules.ts';
import type { Errors } from './rules.ts';
import * as stateful from './stateful-rules.ts';
import { webhooks } from './webhook-rules.ts';
import * as workload from './workload-rules.ts';

export type BuiltinValidation = (object: UnknownObject, old: UnknownObject | undefined) => FieldError[];

/** Returns the validation of a kind, by `plural.group`. The types of the object have been checked, and its defaults filled in. */
export function builtinValidation(id: string): BuiltinValidation {
  const check = RULES[id];
  return (object, old) => {
    if (!check) return [];
    const errors = boundedErrors();
    // Go writes null for an unset list.
    check(errors, withoutFieldNulls(object), old && withoutFieldNulls(old));
    return errors;
  };
}

/** Fields in which there is no null. Objects are not changed once they are validated, and the next version shares the fields that stay. */
const nullFree = new WeakSet<object>();

/** Looks for nulls in the fields of a large object, in a step of its own: the rules do not look again. */
export function findNulls(object: UnknownObject): void {
  withoutFieldNulls(object);
}

function withoutFieldNulls(object: UnknownObject): UnknownObject {
  const entries = Object.entries(object).map(([name, part]): [string, unknown] => {
    if (typeof part !== 'object' || part === null || nullFree.has(part)) return [name, part];
    const kept = withoutNulls(part);
    if (kept === part) nullFree.add(part);
    return [name, kept];
  });
  return Object.fromEntries(entries.filter(([, part]) => part !== null)) as UnknownObject;
}

type Rule = (errors: Errors, object: UnknownObject, old: UnknownObject | undefined) => void;

// The decoder has seen to it that an object of a kind has the types of that kind.
const rule = <T>(check: (errors: Errors, object: T, old: T | undefined) => void) => check as unknown as Rule;

const RULES: Readonly<Record<string, Rule>> = {
  pods: rule(pod),
  'apiservices.apiregistration.k8s.io': rule(apiService),
  persistentvolumeclaims: rule(claim),
  persistentvolumes: rule(volume),
  'storageclasses.storage.k8s.io': rule(storageClass),
  'deployments.apps': rule(workload.deployment),
  'deployments.apps/status': rule(workload.deploymentStatus),
  'replicasets.apps/status': rule(workload.replicaSetStatus),
  'daemonsets.apps/status': rule(workload.daemonSetStatus),
  namespaces: rule(cluster.namespace),
  'namespaces/status': rule(cluster.namespaceStatus),
  'replicasets.apps': rule(workload.replicaSet),
  replicationcontrollers: rule(batch.replicationController),
  podtemplates: rule(batch.podTemplates),
  'jobs.batch': rule(batch.job),
  'cronjobs.batch': rule(batch.cronJob),
  'runtimeclasses.node.k8s.io': rule(batch.runtimeClass),
  'daemonsets.apps': rule(workload.daemonSet),
  'poddisruptionbudgets.policy': rule(workload.disruptionBudget),
  'statefulsets.apps': rule(stateful.statefulSet),
  'statefulsets.apps/status': rule(stateful.statefulSetStatus),
  'controllerrevisions.apps': rule(stateful.controllerRevision),
  'horizontalpodautoscalers.autoscaling': rule(autoscaler.autoscaler),
  'horizontalpodautoscalers.autoscaling/status': rule(autoscaler.autoscalerStatus),
  nodes: rule(node.node),
  'nodes/status': rule(node.nodeStatus),
  events: rule(event.coreEvent),
  'events.events.k8s.io': rule(event.newEvent),
  'networkpolicies.networking.k8s.io': rule(policy.networkPolicy),
  services: rule(network.service),
  'services/status': rule(network.serviceStatus),
  endpoints: rule(network.endpoints),
  'endpointslices.discovery.k8s.io': rule(network.endpointSlice),
  'ingresses.networking.k8s.io': rule(network.ingress),
  'ingressclasses.networking.k8s.io': rule(policy.ingressClass),
  configmaps: rule(cluster.configMap),
  secrets: rule(cluster.secret),
  'roles.rbac.authorization.k8s.io': rule(cluster.role(true)),
  'clusterroles.rbac.authorization.k8s.io': rule(cluster.role(false)),
  'rolebindings.rbac.authorization.k8s.io': rule(cluster.roleBinding(true)),
  'clusterrolebindings.rbac.authorization.k8s.io': rule(cluster.roleBinding(false)),
  'leases.coordination.k8s.io': rule(cluster.lease),
  'priorityclasses.scheduling.k8s.io': rule(cluster.priorityClass),
  'mutatingwebhookconfigurations.admissionregistration.k8s.io': rule(webhooks),
  'validatingwebhookconfigurations.admissionregistration.k8s.io': rule(webhooks),
};
