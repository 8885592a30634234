import type {
  DaemonSet,
  Deployment,
  LabelSelector,
  PodDisruptionBudget,
  PodTemplateSpec,
  ReplicaSet,
  RollingUpdateDaemonSet,
  RollingUpdateDeployment,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { podTemplate } from './pod-rules.ts';
import { amount, atMostAll, type Errors, immutable, labelSelector, notNegative, selects, supported } from './rules.ts';

export function deployment(errors: Errors, { spec }: Deployment, old: Deployment | undefined): void {
  notNegative(errors, 'spec.replicas', spec?.replicas);
  selected(errors, spec?.selector, spec?.template, 'deployment', 'ReplicaSet');
  const strategy = spec?.strategy;
  if (strategy?.type === 'Recreate') {
    if (strategy.rollingUpdate) {
      const detail = "may not be specified when strategy `type` is 'Recreate'";
      errors.push(fieldForbidden('spec.strategy.rollingUpdate', detail));
    }
  } else if (strategy?.type === 'RollingUpdate') {
    rollingUpdate(errors, 'spec.strategy.rollingUpdate', strategy.rollingUpdate);
  } else errors.push(fieldNotSupported('spec.strategy', goStrategy(strategy), ['Recreate', 'RollingUpdate']));
  notNegative(errors, 'spec.minReadySeconds', spec?.minReadySeconds);
  notNegative(errors, 'spec.revisionHistoryLimit', spec?.revisionHistoryLimit);
  const deadline = spec?.progressDeadlineSeconds;
  notNegative(errors, 'spec.progressDeadlineSeconds', deadline);
  if (deadline !== undefined && deadline <= (spec?.minReadySeconds ?? 0)) {
    errors.push(fieldInvalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds'));
  }
  if (old) immutable(errors, 'spec.selector', spec?.selector, old.spec?.selector);
}

/** As Kubernetes shows it in a message: Go's struct. */
function goStrategy(strategy: { type?: string; rollingUpdate?: RollingUpdateDeployment } | undefined): unknown {
  const { type = '', rollingUpdate } = strategy ?? {};
  const update = rollingUpdate
    ? { MaxUnavailable: rollingUpdate.maxUnavailable ?? 0, MaxSurge: rollingUpdate.maxSurge ?? 0 }
    : null;
  return { Type: type, RollingUpdate: update };
}

/** Counts are not negative, and none of a part is above that of the whole. */
function counts<T extends object>(errors: Errors, status: T | undefined, all: readonly (keyof T & string)[]): void {
  for (const field of all) notNegative(errors, `status.${field}`, status?.[field] as number | undefined);
}

function notAbove<T extends object>(
  errors: Errors,
  status: T | undefined,
  field: keyof T & string,
  limit: keyof T & string,
): void {
  const [value, most] = [status?.[field] ?? 0, status?.[limit] ?? 0] as [number, number];
  if (value > most)
    errors.push(fieldInvalid(`status.${field}`, value, `cannot be greater than ${LIMITS[limit] ?? limit}`));
}

const LIMITS: Readonly<Record<string, string>> = { replicas: 'status.replicas' };

export function deploymentStatus(errors: Errors, { status }: Deployment): void {
  counts(errors, status, [
    'observedGeneration',
    'replicas',
    'updatedReplicas',
    'readyReplicas',
    'availableReplicas',
    'unavailableReplicas',
  ]);
  for (const field of ['updatedReplicas', 'readyReplicas', 'availableReplicas'] as const) {
    notAbove(errors, status, field, 'replicas');
  }
  notAbove(errors, status, 'availableReplicas', 'readyReplicas');
}

export function replicaSetStatus(errors: Errors, { status }: ReplicaSet): void {
  counts(errors, status, [
    'replicas',
    'fullyLabeledReplicas',
    'readyReplicas',
    'availableReplicas',
    'observedGeneration',
  ]);
  for (const field of ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'] as const) {
    notAbove(errors, status, field, 'replicas');
  }
  notAbove(errors, status, 'availableReplicas', 'readyReplicas');
}

export function daemonSetStatus(errors: Errors, { status }: DaemonSet): void {
  counts(errors, status, [
    'currentNumberScheduled',
    'numberMisscheduled',
    'desiredNumberScheduled',
    'numberReady',
    'observedGeneration',
    'updatedNumberScheduled',
    'numberAvailable',
    'numberUnavailable',
  ]);
}

export function replicaSet(errors: Errors, { spec }: ReplicaSet, old: ReplicaSet | undefined): void {
  notNegative(errors, 'spec.replicas', spec?.replicas);
  notNegative(errors, 'spec.minReadySeconds', spec?.minReadySeconds);
  selected(errors, spec?.selector, spec?.template, 'deployment', 'ReplicaSet');
  if (old) immutable(errors, 'spec.selector', spec?.selector, old.spec?.selector);
}

export function daemonSet(errors: Errors, { spec }: DaemonSet, old: DaemonSet | undefined): void {
  if (old) immutable(errors, 'spec.selector', spec?.selector, old.spec?.selector);
  selected(errors, spec?.selector, spec?.template, 'daemonset', 'DaemonSet');
  notNegative(errors, 'spec.minReadySeconds', spec?.minReadySeconds);
  const strategy = spec?.updateStrategy;
  if (strategy?.type === 'RollingUpdate') {
    daemonUpdate(errors, 'spec.updateStrategy.rollingUpdate', strategy.rollingUpdate);
  } else if (strategy?.type !== 'OnDelete') {
    errors.push(fieldNotSupported('spec.updateStrategy', goStrategy(strategy), ['RollingUpdate', 'OnDelete']));
  }
  notNegative(errors, 'spec.revisionHistoryLimit', spec?.revisionHistoryLimit);
}

export function disruptionBudget(errors: Errors, { spec }: PodDisruptionBudget): void {
  if (spec?.minAvailable !== undefined && spec.maxUnavailable !== undefined) {
    const shown = {
      MinAvailable: spec.minAvailable,
      Selector: spec.selector ?? null,
      MaxUnavailable: spec.maxUnavailable,
      UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
    };
    errors.push(fieldInvalid('spec', shown, 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const field of ['minAvailable', 'maxUnavailable'] as const) {
    amount(errors, `spec.${field}`, spec?.[field]);
    atMostAll(errors, `spec.${field}`, spec?.[field]);
  }
  labelSelector(errors, 'spec.selector', spec?.selector);
  supported(errors, 'spec.unhealthyPodEvictionPolicy', spec?.unhealthyPodEvictionPolicy, [
    'AlwaysAllow',
    'IfHealthyBudget',
  ]);
}

function rollingUpdate(errors: Errors, path: string, update: RollingUpdateDeployment | undefined): void {
  amount(errors, `${path}.maxUnavailable`, update?.maxUnavailable);
  amount(errors, `${path}.maxSurge`, update?.maxSurge);
  const isNone = (value: number | string | undefined) => Number.parseInt(String(value ?? 0), 10) === 0;
  if (isNone(update?.maxUnavailable) && isNone(update?.maxSurge)) {
    const detail = 'may not be 0 when `maxSurge` is 0';
    errors.push(fieldInvalid(`${path}.maxUnavailable`, update?.maxUnavailable, detail));
  }
  atMostAll(errors, `${path}.maxUnavailable`, update?.maxUnavailable);
}

/** A DaemonSet replaces pods either before or after the old ones are gone. */
function daemonUpdate(errors: Errors, path: string, update: RollingUpdateDaemonSet | undefined): void {
  amount(errors, `${path}.maxUnavailable`, update?.maxUnavailable);
  amount(errors, `${path}.maxSurge`, update?.maxSurge);
  atMostAll(errors, `${path}.maxUnavailable`, update?.maxUnavailable);
  atMostAll(errors, `${path}.maxSurge`, update?.maxSurge);
  const count = (value: number | string | undefined) => Number.parseInt(String(value ?? 0), 10);
  if (count(update?.maxUnavailable) > 0 && count(update?.maxSurge) > 0) {
    errors.push(fieldInvalid(`${path}.maxSurge`, update?.maxSurge, 'may not be set when maxUnavailable is non-zero'));
  } else if (count(update?.maxUnavailable) === 0 && count(update?.maxSurge) === 0) {
    const detail = 'cannot be 0 when maxSurge is 0';
    errors.push(fieldInvalid(`${path}.maxUnavailable`, update?.maxUnavailable, detail));
  }
}

/** A workload must select its own pods, by their labels. */
function selected(
  errors: Errors,
  selector: LabelSelector | undefined,
  template: PodTemplateSpec | undefined,
  what: string,
  kind: string,
): void {
  if (!selector) {
    // A DaemonSet without one selects nothing, which is reported below.
    if (what !== 'daemonset') errors.push(fieldRequired('spec.selector'));
  } else {
    labelSelector(errors, 'spec.selector', selector);
    if (Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0) {
      errors.push(fieldInvalid('spec.selector', selector, `empty selector is invalid for ${what}`));
    }
  }
  const matches = selects(selector, template?.metadata?.labels);
  if (matches === undefined) errors.push(fieldInvalid('spec.selector', selector, 'invalid label selector'));
  else if (!matches) {
    const detail = '`selector` does not match template `labels`';
    errors.push(fieldInvalid('spec.template.metadata.labels', template?.metadata?.labels, detail));
  }
  podTemplate(errors, 'spec.template', template);
  const policy = template?.spec?.restartPolicy;
  if (policy !== undefined && policy !== 'Always') {
    errors.push(fieldNotSupported('spec.template.spec.restartPolicy', policy, ['Always']));
  }
  if (template?.spec?.activeDeadlineSeconds !== undefined) {
    const field = 'spec.template.spec.activeDeadlineSeconds';
    errors.push(fieldForbidden(field, `activeDeadlineSeconds in ${kind} is not Supported`));
  }
}
