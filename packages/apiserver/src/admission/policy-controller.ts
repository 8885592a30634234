import type { UnknownObject } from '@capstan/kube';
import type { ObjectOperations } from '../controllers.ts';
import type { Core } from '../core.ts';
import { valueAt } from '../json/copy.ts';
import { POLICIES } from './policy.ts';

/** Reports on each policy that its present generation is in force; its expressions were checked when it was written. */
export function startPolicyController(
  core: Core,
  operations: ObjectOperations,
  run: (work: () => Promise<void>) => void,
): void {
  const isBehind = (policy: UnknownObject) =>
    valueAt(policy, ['status', 'observedGeneration']) !== policy.metadata.generation;
  const report = (key: string) =>
    operations.change(
      POLICIES,
      key,
      (policy) => {
        const status = (policy['status'] as object | undefined) ?? {};
        return { ...policy, status: { ...status, observedGeneration: policy.metadata.generation, typeChecking: {} } };
      },
      'status',
    );
  const look = () => {
    for (const { key, object } of core.store.list(POLICIES, '')) if (isBehind(object)) run(() => report(key));
  };
  core.store.subscribe(POLICIES, look);
  look();
}
