// Says on a DeploymentRuntimeConfig what is wrong with it, or misplaced; nothing while there is nothing to say, so that an
// edit of one that many packages use writes their Deployments and no more.
import { conditionType, noCondition, plan, type Reconciler, reconciler } from '@capstan/reconcile';
import { DeploymentRuntimeConfig } from '../kinds/index.ts';
import type { RevisionRuntimes } from '../workload/runtime-of-revision.ts';

const valid = conditionType<'Invalid' | 'Warnings'>('Valid');

export function createRuntimeConfigReconciler({ normalizedConfig }: RevisionRuntimes): Reconciler {
  return reconciler<DeploymentRuntimeConfig>({
    name: 'deployment-runtime-config',
    resource: DeploymentRuntimeConfig,
    primary: false,
    reconcile({ object, read }) {
      const found = read.derived(normalizedConfig, object.metadata.name ?? '');
      const texts = (findings: readonly { message: string }[]) => findings.map(({ message }) => message).join('; ');
      if (found === undefined) return plan();
      if (found.errors.length > 0)
        return plan({ conditions: [valid.isFalse('Invalid', `${texts(found.errors)}; what runs stays as it is`)] });
      if (found.warnings.length > 0) return plan({ conditions: [valid.isTrue('Warnings', texts(found.warnings))] });
      return plan({ conditions: [noCondition(valid.type)] });
    },
  });
}
