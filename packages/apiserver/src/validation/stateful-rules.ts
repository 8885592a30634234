import {
  type ControllerRevision,
  type StatefulSet,
  type StatefulSetSpec,
  type Volume,
  validateDns1123Label,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { equalJson, isObject } from '../json/copy.ts';
import { claimSpec } from './claim-rules.ts';
import { podTemplate } from './pod-rules.ts';
import { type Errors, labelSelector, labels, named, notNegative, selects } from './rules.ts';

export function statefulSet(errors: Errors, { spec }: StatefulSet, old: StatefulSet | undefined): void {
  // Required by the type, and all the same absent where a user forgot it.
  const given = (spec ?? {}) as Partial<StatefulSetSpec>;
  const policy = given.podManagementPolicy ?? '';
  if (policy === '') errors.push(fieldRequired('spec.podManagementPolicy'));
  else if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    errors.push(fieldInvalid('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'"));
  }
  updateStrategy(errors, given);
  const retention = given.persistentVolumeClaimRetentionPolicy;
  for (const field of ['whenDeleted', 'whenScaled'] as const) {
    if (retention && retention[field] !== 'Retain' && retention[field] !== 'Delete') {
      const at = `spec.persistentVolumeClaimRetentionPolicy.${field}`;
      errors.push(fieldNotSupported(at, retention[field] ?? '', ['Retain', 'Delete']));
    }
  }
  if (!old) claims(errors, given);
  notNegative(errors, 'spec.replicas', given.replicas);
  notNegative(errors, 'spec.minReadySeconds', given.minReadySeconds);
  notNegative(errors, 'spec.ordinals.start', given.ordinals?.start);
  if (given.serviceName && !old) {
    named(errors, 'spec.serviceName', given.serviceName, validateDns1123Label(given.serviceName));
  }
  template(errors, given);
  if (old && changesMore(given, old.spec ?? {})) errors.push(fieldForbidden('spec', FIXED));
}

const FIXED =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

const FREE = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
] as const satisfies readonly (keyof StatefulSetSpec)[];

function changesMore(spec: Partial<StatefulSetSpec>, old: Partial<StatefulSetSpec>): boolean {
  const rest = (one: Partial<StatefulSetSpec>) => {
    const kept: Record<string, unknown> = { ...one };
    for (const field of FREE) delete kept[field];
    return kept;
  };
  return !equalJson(rest(spec), rest(old));
}

function updateStrategy(errors: Errors, { updateStrategy: strategy }: Partial<StatefulSetSpec>): void {
  const at = 'spec.updateStrategy';
  const { type = '', rollingUpdate } = strategy ?? {};
  if (type === '') errors.push(fieldRequired(at));
  else if (type === 'OnDelete') {
    if (rollingUpdate) {
      const shown = { Partition: rollingUpdate.partition ?? 0, MaxUnavailable: rollingUpdate.maxUnavailable ?? null };
      errors.push(fieldInvalid(`${at}.rollingUpdate`, shown, "only allowed for updateStrategy 'RollingUpdate'"));
    }
  } else if (type === 'RollingUpdate') {
    notNegative(errors, `${at}.rollingUpdate.partition`, rollingUpdate?.partition);
  } else {
    const shown = { Type: type, RollingUpdate: null };
    errors.push(fieldInvalid(at, shown, "must be 'RollingUpdate' or 'OnDelete'"));
  }
}

function claims(errors: Errors, { volumeClaimTemplates = [] }: Partial<StatefulSetSpec>): void {
  for (const [index, { spec }] of volumeClaimTemplates.entries()) {
    claimSpec(errors, `spec.volumeClaimTemplates[${index}].spec`, spec);
  }
}

function template(
  errors: Errors,
  { selector, template: pod, volumeClaimTemplates = [] }: Partial<StatefulSetSpec>,
): void {
  if (!selector) errors.push(fieldRequired('spec.selector'));
  else {
    labelSelector(errors, 'spec.selector', selector);
    if (Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0) {
      errors.push(fieldInvalid('spec.selector', selector, 'empty selector is invalid for statefulset'));
    }
  }
  const matches = selects(selector, pod?.metadata?.labels);
  if (matches === undefined) errors.push(fieldInvalid('spec.selector', selector, ''));
  else {
    if (!matches) {
      const detail = '`selector` does not match template `labels`';
      errors.push(fieldInvalid('spec.template.metadata.labels', pod?.metadata?.labels, detail));
    }
    // Every claim is a volume of the pods.
    const claimed: Volume[] = volumeClaimTemplates.map(({ metadata: { name = '' } }) => ({
      name,
      persistentVolumeClaim: { claimName: name },
    }));
    const names = new Set(claimed.map(({ name }) => name));
    const volumes = [...claimed, ...(pod?.spec?.volumes ?? []).filter(({ name }) => !names.has(name))];
    podTemplate(errors, 'spec.template', pod && { ...pod, ...(pod.spec && { spec: { ...pod.spec, volumes } }) });
    labels(errors, 'spec.template.labels', pod?.metadata?.labels);
  }
  const policy = pod?.spec?.restartPolicy ?? '';
  if (policy !== 'Always') errors.push(fieldNotSupported('spec.template.spec.restartPolicy', policy, ['Always']));
  if (pod?.spec?.activeDeadlineSeconds !== undefined) {
    const field = 'spec.template.spec.activeDeadlineSeconds';
    errors.push(fieldForbidden(field, 'activeDeadlineSeconds in StatefulSet is not Supported'));
  }
}

export function statefulSetStatus(errors: Errors, { status }: StatefulSet, old: StatefulSet | undefined): void {
  const counts = ['replicas', 'readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'] as const;
  for (const field of [...counts, 'observedGeneration', 'collisionCount'] as const) {
    notNegative(errors, `status.${field}`, status?.[field]);
  }
  const notAbove = (field: (typeof counts)[number], limit: (typeof counts)[number]) => {
    const value = status?.[field] ?? 0;
    if (value <= (status?.[limit] ?? 0)) return;
    errors.push(fieldInvalid(`status.${field}`, value, `cannot be greater than status.${limit}`));
  };
  for (const field of counts.slice(1)) notAbove(field, 'replicas');
  notAbove('availableReplicas', 'readyReplicas');
  const before = old?.status?.collisionCount;
  const after = status?.collisionCount;
  if (before !== undefined && (after === undefined || after < before)) {
    errors.push(fieldInvalid('status.collisionCount', after ?? 0, 'cannot be decremented'));
  }
}

export function controllerRevision(
  errors: Errors,
  { revision, data }: ControllerRevision,
  old: ControllerRevision | undefined,
): void {
  notNegative(errors, 'revision', revision);
  if (old) {
    if (!equalJson(data, old.data)) errors.push(fieldInvalid('data', data, 'field is immutable'));
  } else if (data === undefined || data === null) errors.push(fieldRequired('data', 'data is mandatory'));
  else if (!isObject(data)) errors.push(fieldRequired('data', 'data must be a valid JSON object'));
}
