import type { ServiceAccount } from '@capstan/kube';
import type { ChildObject } from '@capstan/reconcile';
import type { RuntimeNames } from './names.ts';
import { references } from './overlay.ts';
import type { RenderInput } from './render.ts';

/** The ServiceAccount that a revision's pods run as. */
export function renderServiceAccount(
  { revision, config, namespace, managerPullSecrets, foundPullSecrets }: RenderInput,
  names: RuntimeNames,
): ChildObject<ServiceAccount> {
  const imagePullSecrets = references(revision.pullSecrets, managerPullSecrets, foundPullSecrets);
  return {
    metadata: { ...config.serviceAccount, name: names.serviceAccount, namespace },
    ...(imagePullSecrets.length > 0 && { imagePullSecrets }),
  };
}
