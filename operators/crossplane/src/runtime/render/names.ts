// The names of the objects of a runtime.
import { childName, validateDns1035Label } from '@capstan/kube';
import type { RuntimeConfig } from '../runtime-config.ts';
import type { RevisionIdentity } from './labels.ts';

export interface RuntimeNames {
  readonly deployment: string;
  readonly service: string;
  readonly serviceAccount: string;
  /** The account of the pods. If it differs from `serviceAccount`, it has another owner, and none is created. */
  readonly podServiceAccount: string;
  /** True when the config names the Deployment: the next revision takes it over in one rolling update. */
  readonly isDeploymentFixed: boolean;
}

/** The names that the config gives, else the revision's. */
export function runtimeNames({ name }: Pick<RevisionIdentity, 'name'>, config: RuntimeConfig): RuntimeNames {
  const { metadata, spec } = config.deployment;
  const pod = spec.template?.spec;
  const serviceAccount = config.serviceAccount.name ?? name;
  return {
    deployment: metadata.name ?? name,
    service: config.service.name ?? serviceName(name),
    serviceAccount,
    // `serviceAccount` is the old spelling, which the API still takes.
    podServiceAccount: given(pod?.serviceAccountName) ?? given(pod?.serviceAccount) ?? serviceAccount,
    isDeploymentFixed: metadata.name !== undefined,
  };
}

/** A Service's name is stricter than others: it may not begin with a digit. */
function serviceName(revision: string): string {
  return validateDns1035Label(revision).length === 0 ? revision : childName('p', revision);
}

function given(name: string | undefined): string | undefined {
  return name === '' ? undefined : name;
}
