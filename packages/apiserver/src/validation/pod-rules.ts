import {
  type Pod,
  type PodSpec,
  type PodTemplateSpec,
  type Toleration,
  type Volume,
  validateAnnotationKey,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { containers } from './container-rules.ts';
import { type Errors, fieldDuplicate, labels, named, oneOf, requiredLabel } from './rules.ts';

export function podTemplate(errors: Errors, path: string, template: PodTemplateSpec | undefined): void {
  labels(errors, `${path}.labels`, template?.metadata?.labels);
  for (const key of Object.keys(template?.metadata?.annotations ?? {})) {
    named(errors, `${path}.annotations`, key, validateAnnotationKey(key));
  }
  podSpec(errors, `${path}.spec`, template?.spec);
}

export function podSpec(errors: Errors, path: string, spec: PodSpec | undefined): void {
  const names = volumes(errors, `${path}.volumes`, spec?.volumes);
  const taken = new Set<string>();
  if ((spec?.containers ?? []).length === 0) errors.push(fieldRequired(`${path}.containers`));
  containers(errors, `${path}.containers`, spec?.containers, names, taken);
  containers(errors, `${path}.initContainers`, spec?.initContainers, names, taken, true);
  if (!spec) return;
  oneOf(errors, `${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  oneOf(errors, `${path}.dnsPolicy`, spec.dnsPolicy, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']);
  if (spec.dnsPolicy === 'None' && (spec.dnsConfig?.nameservers ?? []).length === 0) {
    const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
    errors.push(
      spec.dnsConfig
        ? fieldRequired(`${path}.dnsConfig.nameservers`, detail)
        : fieldRequired(`${path}.dnsConfig`, 'must provide `dnsConfig` when `dnsPolicy` is None'),
    );
  }
  labels(errors, `${path}.nodeSelector`, spec.nodeSelector);
  const subdomains = ['serviceAccountName', 'nodeName', 'priorityClassName', 'runtimeClassName'] as const;
  for (const field of subdomains) {
    const value = spec[field];
    if (value) named(errors, `${path}.${field}`, value, validateDns1123Subdomain(value));
  }
  for (const field of ['hostname', 'subdomain'] as const) {
    const value = spec[field];
    if (value) named(errors, `${path}.${field}`, value, validateDns1123Label(value));
  }
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > MAX_INT32)) {
    errors.push(
      fieldInvalid(`${path}.activeDeadlineSeconds`, deadline, `must be between 1 and ${MAX_INT32}, inclusive`),
    );
  }
  tolerations(errors, `${path}.tolerations`, spec.tolerations);
}

const MAX_INT32 = 2_147_483_647;

function volumes(errors: Errors, path: string, list: readonly Volume[] | undefined): Set<string> {
  const names = new Set<string>();
  for (const [index, volume] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    const found: Errors = [];
    const sources = Object.keys(volume).filter((key) => key !== 'name');
    for (const source of sources.slice(1)) {
      found.push(fieldForbidden(`${at}.${source}`, 'may not specify more than 1 volume type'));
    }
    if (volume.secret && !volume.secret.secretName) found.push(fieldRequired(`${at}.secret.secretName`));
    if (volume.configMap && !volume.configMap.name) found.push(fieldRequired(`${at}.configMap.name`));
    if (volume.hostPath && volume.hostPath.path === '') found.push(fieldRequired(`${at}.hostPath.path`));
    requiredLabel(found, `${at}.name`, volume.name);
    if (names.has(volume.name)) found.push(fieldDuplicate(`${at}.name`, volume.name));
    if (found.length === 0) names.add(volume.name);
    errors.push(...found);
  }
  return names;
}

function tolerations(errors: Errors, path: string, list: readonly Toleration[] | undefined): void {
  for (const [index, toleration] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    const { key = '', operator = 'Equal', value = '', effect = '' } = toleration;
    if (key !== '') named(errors, `${at}.key`, key, validateQualifiedName(key));
    if (key === '' && operator !== 'Exists') {
      const detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(fieldInvalid(`${at}.operator`, operator, detail));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.push(fieldInvalid(`${at}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
    if (operator === 'Exists' && value !== '') {
      errors.push(fieldInvalid(`${at}.operator`, value, "value must be empty when `operator` is 'Exists'"));
    }
    if (effect !== '') oneOf(errors, `${at}.effect`, effect, ['NoExecute', 'NoSchedule', 'PreferNoSchedule']);
  }
}

const UPDATABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
];

/** Of a pod that is there only a few fields may change: the one that wants more makes another pod. */
export function podUpdate(errors: Errors, pod: Pod, old: Pod): void {
  for (const field of ['containers', 'initContainers'] as const) {
    if ((pod.spec?.[field] ?? []).length === (old.spec?.[field] ?? []).length) continue;
    errors.push(fieldForbidden(`spec.${field}`, 'pod updates may not add or remove containers'));
    return;
  }
  const [before, after] = [old.spec?.activeDeadlineSeconds, pod.spec?.activeDeadlineSeconds];
  if (before !== undefined && after !== undefined && after > before) {
    errors.push(fieldInvalid('spec.activeDeadlineSeconds', after, 'must be less than or equal to previous value'));
    return;
  }
  if (before !== undefined && after === undefined) {
    const detail = 'must not update from a positive integer to nil value';
    errors.push(fieldInvalid('spec.activeDeadlineSeconds', after, detail));
  }
  if (!keepsTolerations(pod, old)) {
    const detail = 'existing toleration can not be modified except its tolerationSeconds';
    errors.push(fieldForbidden('spec.tolerations', detail));
  }
  if (equalJson(fixedPart(pod, old), fixedPart(old, old))) return;
  errors.push(fieldForbidden('spec', `pod updates may not change fields other than ${UPDATABLE.join(',')}`));
}

function keepsTolerations(pod: Pod, old: Pod): boolean {
  const timeless = (one: Toleration) => ({ ...one, tolerationSeconds: 0 });
  const present = (pod.spec?.tolerations ?? []).map(timeless);
  return (old.spec?.tolerations ?? []).every((one) => present.some((other) => equalJson(other, timeless(one))));
}

function fixedPart({ spec }: Pod, old: Pod): unknown {
  if (!spec) return undefined;
  const { activeDeadlineSeconds: _, tolerations: _tolerations, schedulingGates: _gates, ...rest } = spec;
  const patience = old.spec?.terminationGracePeriodSeconds;
  const isMended = patience !== undefined && patience < 0 && spec.terminationGracePeriodSeconds === 1;
  const withImages = (list: PodSpec['containers'] | undefined, before: PodSpec['containers'] | undefined) =>
    list?.map((one, index) => ({ ...one, image: before?.[index]?.image }));
  return {
    ...rest,
    ...(isMended && { terminationGracePeriodSeconds: patience }),
    containers: withImages(spec.containers, old.spec?.containers),
    initContainers: withImages(spec.initContainers, old.spec?.initContainers) ?? [],
  };
}
