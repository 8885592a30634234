import { ServiceAccount } from '@capstan/kube';
import { plan, type Reconciler, reading, reconciler, remove, writing } from '@capstan/reconcile';
import { LOCK_NAME, Lock } from '../kinds/index.ts';
import { PACKAGE_KINDS, runtimeFor } from '../packages/package-kind.ts';
import type { Settings } from '../settings.ts';
import { type AccountsInUse, RUNTIME_ACCOUNT, runtimeAccounts } from '../workload/accounts.ts';
import { derivedReads } from './payload.ts';

/** Removes accounts that were created for packages and that no package wants any more. */
export function createServiceAccountReconciler(settings: Settings, inUse: AccountsInUse): Reconciler {
  return reconciler<Lock>({
    name: 'service-accounts',
    // There is one Lock, as there is one decision for all packages.
    resource: Lock,
    primary: false,
    reads: accountReads(settings),
    writes: [writing(ServiceAccount, 'remove', { namespaces: [settings.namespace] })],
    reconcile({ object, read }) {
      if (object.metadata.name !== LOCK_NAME) return plan();
      const created = runtimeAccounts(read, settings.namespace);
      if (created.length === 0) return plan({ held: false });
      const uses = read.derived(inUse, '');
      const abandoned = created.filter(({ metadata }) => uses[metadata.name] === undefined);
      return plan({
        held: false,
        removals: abandoned.map((account) => remove(ServiceAccount, account, { provenance: RUNTIME_ACCOUNT })),
      });
    },
  });
}

/** The reads that determine the desired accounts. */
export function accountReads(settings: Settings) {
  const kinds = PACKAGE_KINDS.filter((kind) => runtimeFor(kind, settings) !== undefined);
  return [
    ...kinds.map((kind) => reading(kind.package, 'everywhere')),
    ...kinds.flatMap((kind) => derivedReads(kind, settings)),
  ];
}
