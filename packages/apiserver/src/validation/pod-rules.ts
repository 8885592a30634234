import {
  canonicalJson,
  type Pod,
  type PodSpec,
  type PodTemplateSpec,
  type Toleration,
  validateAnnotationKey,
  validateDns1123Label,
  validateDns1123Subdomain,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldRequired } from '../errors.ts';
import { equalJson } from '../json/copy.ts';
import { containers } from './container-rules.ts';
import { gatesUpdate, withoutNarrowing } from './pods/gated-pod-rules.ts';
import { podResourceName, resources } from './resource-rules.ts';
import {
  between,
  descendingPath,
  type Errors,
  fieldDuplicate,
  fieldTooLong,
  ipAddress,
  labels,
  MAX_INT32,
  named,
  oneOf,
  supported,
} from './rules.ts';
import { affinity, spreading, tolerations } from './scheduling-rules.ts';
import { hostProcess, operatingSystem, ownUsers, podSecurity } from './security-rules.ts';
import { volumes } from './volume-rules.ts';

export function podTemplate(errors: Errors, path: string, template: PodTemplateSpec | undefined): void {
  labels(errors, `${path}.labels`, template?.metadata?.labels);
  for (const key of Object.keys(template?.metadata?.annotations ?? {})) {
    named(errors, `${path}.annotations`, key, validateAnnotationKey(key));
  }
  podAnnotations(errors, `${path}.annotations`, template?.metadata?.annotations, template?.spec);
  podSpec(errors, `${path}.spec`, template?.spec, { isPod: false, podName: '' });
  if ((template?.spec?.ephemeralContainers ?? []).length > 0) {
    const detail = 'ephemeral containers not allowed in pod template';
    errors.push(fieldForbidden(`${path}.spec.ephemeralContainers`, detail));
  }
}

export function pod(errors: Errors, object: Pod, old: Pod | undefined): void {
  const { spec, metadata } = object;
  podAnnotations(errors, 'metadata.annotations', metadata.annotations, spec);
  podSpec(errors, 'spec', spec, { isPod: true, podName: metadata.name ?? '' });
  for (const field of ['containers', 'initContainers'] as const) {
    for (const [index, { image = '' }] of (spec?.[field] ?? []).entries()) {
      const detail = 'must not have leading or trailing whitespace';
      if (image.trim() !== image) errors.push(fieldInvalid(`spec.${field}[${index}].image`, image, detail));
    }
  }
  if (old) {
    podUpdate(errors, object, old);
    return;
  }
  if ((spec?.ephemeralContainers ?? []).length > 0) {
    errors.push(fieldForbidden('spec.ephemeralContainers', 'cannot be set on create'));
  }
  if (spec?.nodeName && (spec.schedulingGates ?? []).length > 0) {
    errors.push(fieldForbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
}

const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';

/** Annotations that Kubernetes reads itself. */
function podAnnotations(
  errors: Errors,
  path: string,
  annotations: Readonly<Record<string, string>> = {},
  spec: PodSpec | undefined,
): void {
  const mirror = annotations['kubernetes.io/config.mirror'];
  if (mirror !== undefined && !spec?.nodeName) {
    const detail = 'must set spec.nodeName if mirror pod annotation is set';
    errors.push(fieldInvalid(`${path}[kubernetes.io/config.mirror]`, mirror, detail));
  }
  const cost = annotations[DELETION_COST];
  if (cost !== undefined && !isInt32(cost)) {
    errors.push(fieldInvalid(`${path}[${DELETION_COST}]`, cost, 'must be a 32bit integer'));
  }
  const names = new Set([...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ name }) => name));
  for (const [key, value] of Object.entries(annotations)) {
    if (/^(container\.)?seccomp\.security\.alpha\.kubernetes\.io\//.test(key)) seccompNote(errors, path, key, value);
    if (!key.startsWith(APP_ARMOR)) continue;
    const name = key.slice(APP_ARMOR.length);
    if (!names.has(name)) errors.push(fieldInvalid(`${path}[${key}]`, name, 'container not found'));
    if (/^(|runtime\/default|unconfined|localhost\/.*)$/s.test(value)) continue;
    errors.push(fieldInvalid(`${path}[${key}]`, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`));
  }
}

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** As Go reads one: no sign in front, no leading zeros. */
function isInt32(text: string): boolean {
  return /^(0|-?[1-9]\d*)$/.test(text) && Number(text) >= -MAX_INT32 - 1 && Number(text) <= MAX_INT32;
}

function seccompNote(errors: Errors, path: string, key: string, value: string): void {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(value)) return;
  if (value.startsWith('localhost/')) {
    descendingPath(errors, `${path}.${key}`, value.slice('localhost/'.length));
  } else errors.push(fieldInvalid(`${path}.${key}`, value, 'must be a valid seccomp profile'));
}

function podSpec(
  errors: Errors,
  path: string,
  given: PodSpec | undefined,
  place: { isPod: boolean; podName: string },
): void {
  // Required by the type, and all the same absent where a user forgot it.
  const spec: PodSpec = given ?? { containers: [] };
  const known = volumes(errors, `${path}.volumes`, spec.volumes, place);
  const claims = resourceClaims(errors, `${path}.resourceClaims`, spec.resourceClaims);
  const context = { spec, volumes: known, claims };
  const taken = new Set<string>();
  if ((spec.containers ?? []).length === 0) errors.push(fieldRequired(`${path}.containers`));
  containers(errors, `${path}.containers`, context, taken);
  containers(errors, `${path}.initContainers`, context, taken, true);
  if (!given) return;
  if (spec.resources) resources(errors, `${path}.resources`, spec.resources, claims, podResourceName);
  if (spec.hostNetwork) sharedPorts(errors, `${path}.containers`, spec, place.isPod);
  oneOf(errors, `${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  oneOf(errors, `${path}.dnsPolicy`, spec.dnsPolicy, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']);
  labels(errors, `${path}.nodeSelector`, spec.nodeSelector);
  podSecurity(errors, `${path}.securityContext`, spec);
  affinity(errors, `${path}.affinity`, spec.affinity);
  dnsConfig(errors, `${path}.dnsConfig`, spec);
  for (const [index, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    named(
      errors,
      `${path}.readinessGates[${index}].conditionType`,
      conditionType,
      validateQualifiedName(conditionType),
    );
  }
  schedulingGates(errors, `${path}.schedulingGates`, spec);
  spreading(errors, `${path}.topologySpreadConstraints`, spec.topologySpreadConstraints);
  hostProcess(errors, path, spec);
  ownUsers(errors, path, spec);
  hostnameOverride(errors, `${path}.hostnameOverride`, spec);
  const subdomains = ['serviceAccountName', 'nodeName', 'priorityClassName', 'runtimeClassName'] as const;
  for (const field of subdomains) {
    const value = spec[field];
    if (value) named(errors, `${path}.${field}`, value, validateDns1123Subdomain(value));
  }
  for (const field of ['hostname', 'subdomain'] as const) {
    const value = spec[field];
    if (value) named(errors, `${path}.${field}`, value, validateDns1123Label(value));
  }
  between(errors, `${path}.activeDeadlineSeconds`, spec.activeDeadlineSeconds, 1, MAX_INT32);
  tolerations(errors, `${path}.tolerations`, spec.tolerations);
  for (const [index, { ip, hostnames = [] }] of (spec.hostAliases ?? []).entries()) {
    const at = `${path}.hostAliases[${index}]`;
    ipAddress(errors, `${at}.ip`, ip);
    for (const [one, name] of hostnames.entries()) {
      named(errors, `${at}.hostnames[${one}]`, name, validateDns1123Subdomain(name));
    }
  }
  supported(errors, `${path}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  operatingSystem(errors, path, spec);
}

/** A pod that has the machine's network has its ports too: one number cannot stand for another. */
function sharedPorts(errors: Errors, path: string, spec: PodSpec, isPod: boolean): void {
  for (const [index, container] of (spec.containers ?? []).entries()) {
    for (const [place, { hostPort = 0, containerPort }] of (container.ports ?? []).entries()) {
      if (hostPort === containerPort || (hostPort === 0 && !isPod)) continue;
      const detail = 'must match `containerPort` when `hostNetwork` is true';
      errors.push(fieldInvalid(`${path}[${index}].ports[${place}].hostPort`, hostPort, detail));
    }
  }
}

function resourceClaims(errors: Errors, path: string, list: PodSpec['resourceClaims']): Set<string> {
  const names = new Set<string>();
  for (const [index, claim] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    const { name, resourceClaimName, resourceClaimTemplateName } = claim;
    if (!name) errors.push(fieldRequired(`${at}.name`));
    else if (names.has(name)) errors.push(fieldDuplicate(`${at}.name`, name));
    else named(errors, `${at}.name`, name, validateDns1123Label(name));
    if (name) names.add(name);
    const shown = {
      Name: name,
      ResourceClaimName: resourceClaimName ?? null,
      ResourceClaimTemplateName: resourceClaimTemplateName ?? null,
    };
    if (resourceClaimName !== undefined && resourceClaimTemplateName !== undefined) {
      const detail = 'at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified';
      errors.push(fieldInvalid(at, shown, detail));
    }
    if (resourceClaimName === undefined && resourceClaimTemplateName === undefined) {
      errors.push(fieldInvalid(at, shown, 'must specify one of: `resourceClaimName`, `resourceClaimTemplateName`'));
    }
    for (const field of ['resourceClaimName', 'resourceClaimTemplateName'] as const) {
      const value = claim[field];
      if (value !== undefined) named(errors, `${at}.${field}`, value, validateDns1123Subdomain(value));
    }
  }
  return names;
}

const MOST_NAMESERVERS = 3;
const MOST_SEARCHES = 32;

function dnsConfig(errors: Errors, path: string, { dnsPolicy, dnsConfig: config }: PodSpec): void {
  const { nameservers = [], searches = [], options = [] } = config ?? {};
  if (dnsPolicy === 'None' && nameservers.length === 0) {
    const detail = 'must provide at least one DNS nameserver when `dnsPolicy` is None';
    errors.push(
      config
        ? fieldRequired(`${path}.nameservers`, detail)
        : fieldRequired(path, 'must provide `dnsConfig` when `dnsPolicy` is None'),
    );
    return;
  }
  if (nameservers.length > MOST_NAMESERVERS) {
    const detail = `must not have more than ${MOST_NAMESERVERS} nameservers`;
    errors.push(fieldInvalid(`${path}.nameservers`, nameservers, detail));
  }
  for (const [index, address] of nameservers.entries()) ipAddress(errors, `${path}.nameservers[${index}]`, address);
  if (searches.length > MOST_SEARCHES) {
    const detail = `must not have more than ${MOST_SEARCHES} search paths`;
    errors.push(fieldInvalid(`${path}.searches`, searches, detail));
  }
  for (const [index, search] of searches.entries()) {
    const text = search.replace(/\.$/, '');
    if (search === '.' || SEARCH_PATH.test(text)) continue;
    errors.push(fieldInvalid(`${path}.searches[${index}]`, text, SEARCH_DETAIL));
  }
  for (const [index, { name }] of options.entries()) {
    if (!name) errors.push(fieldRequired(`${path}.options[${index}]`, 'must not be empty'));
  }
}

/** Underscores may be part of it, as in `_tcp.example.com`. */
const SEARCH_PATH = /^_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*$/;
const SEARCH_DETAIL =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";

function schedulingGates(errors: Errors, path: string, { schedulingGates: list }: PodSpec): void {
  const seen = new Set<string>();
  for (const [index, { name }] of (list ?? []).entries()) {
    named(errors, `${path}[${index}]`, name, validateQualifiedName(name));
    if (seen.has(name)) errors.push(fieldDuplicate(`${path}[${index}]`, name));
    seen.add(name);
  }
}

const LONGEST_HOSTNAME = 64;

function hostnameOverride(errors: Errors, path: string, spec: PodSpec): void {
  const { hostnameOverride: name } = spec;
  if (name === undefined) return;
  if (spec.setHostnameAsFQDN) {
    errors.push(fieldForbidden(path, 'may not be specified when setHostnameAsFQDN is true'));
  }
  if (spec.hostNetwork) errors.push(fieldForbidden(path, 'may not be specified when hostNetwork is true'));
  if (name.length > LONGEST_HOSTNAME) errors.push(fieldTooLong(path, LONGEST_HOSTNAME));
  named(errors, path, name, validateDns1123Subdomain(name));
}

const UPDATABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
];

/** Only a few fields of an existing pod may change: other changes need another pod. */
function podUpdate(errors: Errors, pod: Pod, old: Pod): void {
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
  gatesUpdate(errors, pod, old);
  const narrowed = pod.spec && old.spec ? { ...pod, spec: withoutNarrowing(errors, pod.spec, old.spec) } : pod;
  if (equalJson(fixedPart(narrowed, old), fixedPart(old, old))) return;
  errors.push(fieldForbidden('spec', `pod updates may not change fields other than ${UPDATABLE.join(',')}`));
}

function keepsTolerations(pod: Pod, old: Pod): boolean {
  const timeless = (one: Toleration) => canonicalJson({ ...one, tolerationSeconds: 0 });
  const present = new Set((pod.spec?.tolerations ?? []).map(timeless));
  return (old.spec?.tolerations ?? []).every((one) => present.has(timeless(one)));
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
