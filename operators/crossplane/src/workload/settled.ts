import type { KubeObject } from '@capstan/kube';
import type { Reader } from '@capstan/reconcile';
import type { RuntimeObjects, Workload } from '../runtime/index.ts';

/**
 * Whether all pods are those of this revision, under this account, and ready. A workload that keeps its name goes over in a
 * rolling update: until its end there are pods of before, which need the Service and the ServiceAccount of before.
 */
export function isSettled(read: Reader, workload: Workload, rendered: RuntimeObjects, revision: string): boolean {
  const { namespace = '', name = '' } = rendered.workload.metadata;
  if (!read.get(workload.kind, { namespace, name }, workload.health)?.isComplete) return false;
  const running = read.get(workload.kind, { namespace, name }, workload.running);
  const { account } = workload.running(rendered.workload as KubeObject);
  // A workload of another owner does not name a revision.
  return (running?.revision ?? revision) === revision && running?.account === account;
}
