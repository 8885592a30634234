// Reports the errors and misplaced fields of a runtime config on it. Without findings it writes nothing, so that an edit of a config that
// many packages use writes only their workloads.
import type { Condition, KubeObject } from '@capstan/kube';
import { conditionType, noCondition, plan, type Reconciler, reconciler } from '@capstan/reconcile';
import type { BuiltInRuntime } from '../runtime/index.ts';
import { configKey, type RevisionRuntimes } from '../workload/runtime-of-revision.ts';

const valid = conditionType<'Invalid' | 'Warnings'>('Valid');

type Config = KubeObject & { status?: { conditions?: Condition[] } };

export function createRuntimeConfigReconciler(
  runtime: BuiltInRuntime,
  { normalizedConfig }: RevisionRuntimes,
): Reconciler {
  const { kind } = runtime.config;
  return reconciler<Config>({
    // `deployment-runtime-config`
    name: kind.kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase(),
    resource: kind,
    primary: false,
    reconcile({ object, read }) {
      const found = read.derived(normalizedConfig, configKey(runtime, object.metadata.name ?? ''));
      const texts = (findings: readonly { message: string }[]) => findings.map(({ message }) => message).join('; ');
      if (found === undefined) return plan();
      if (found.errors.length > 0)
        return plan({ conditions: [valid.isFalse('Invalid', `${texts(found.errors)}; what runs is not changed`)] });
      if (found.warnings.length > 0) return plan({ conditions: [valid.isTrue('Warnings', texts(found.warnings))] });
      return plan({ conditions: [noCondition(valid.type)] });
    },
  });
}
