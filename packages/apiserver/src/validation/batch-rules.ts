import {
  type CronJob,
  type Job,
  type JobSpec,
  type PodFailurePolicyOnExitCodesRequirement,
  type PodTemplate,
  type ReplicationController,
  type RuntimeClass,
  type SuccessPolicyRule,
  validateDns1123Label,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { subdomain } from '../resources/names.ts';
import { podTemplate } from './pod-rules.ts';
import {
  domainPath,
  type Errors,
  fieldDuplicate,
  fieldTooLong,
  fieldTooMany,
  immutable,
  labelSelector,
  named,
  notNegative,
  oneOf,
  selects,
  supported,
} from './rules.ts';
import { scheduleProblem } from './schedule.ts';

export function replicationController(errors: Errors, { spec }: ReplicationController): void {
  notNegative(errors, 'spec.minReadySeconds', spec?.minReadySeconds);
  notNegative(errors, 'spec.replicas', spec?.replicas);
  const selector = spec?.selector ?? {};
  if (Object.keys(selector).length === 0) errors.push(fieldRequired('spec.selector'));
  if (!spec?.template) {
    errors.push(fieldRequired('spec.template'));
    return;
  }
  if (selects({ matchLabels: selector }, spec.template.metadata?.labels) !== true) {
    const detail = '`selector` does not match template `labels`';
    errors.push(fieldInvalid('spec.template.metadata.labels', spec.template.metadata?.labels, detail));
  }
  podTemplate(errors, 'spec.template', spec.template);
  const policy = spec.template.spec?.restartPolicy;
  if (policy !== undefined && policy !== 'Always') {
    errors.push(fieldNotSupported('spec.template.spec.restartPolicy', policy, ['Always']));
  }
}

export function podTemplates(errors: Errors, { template }: PodTemplate): void {
  podTemplate(errors, 'template', template);
}

export function job(errors: Errors, object: Job, old: Job | undefined): void {
  const { spec, metadata } = object;
  const before = old?.spec;
  if (!old) generatedSelector(errors, object);
  jobSpec(errors, 'spec', spec);
  selectedPods(errors, spec);
  const { completions = 0 } = spec ?? {};
  if (!old && spec?.completionMode === 'Indexed' && completions > 0) {
    const hostname = `${metadata.name}-${completions - 1}`;
    if (validateDns1123Label(hostname).length > 0) {
      const detail = `will not able to create pod with invalid DNS label: ${hostname}`;
      errors.push(fieldInvalid('metadata.name', metadata.name, detail));
    }
  }
  if (!before) return;
  if (spec?.completionMode !== 'Indexed') immutable(errors, 'spec.completions', spec?.completions, before.completions);
  else if (spec.completions !== undefined && spec.completions !== before.completions) {
    const detail = 'can only be modified in tandem with spec.parallelism';
    if (spec.completions !== spec.parallelism) errors.push(fieldInvalid('spec.completions', spec.completions, detail));
  }
  immutable(errors, 'spec.selector', spec?.selector, before.selector);
  // The template of a suspended Job may still change, for example where its pods run.
  if (before.suspend !== true) immutable(errors, 'spec.template', spec?.template, before.template);
  for (const field of FIXED) immutable(errors, `spec.${field}`, spec?.[field], before[field]);
}

const FIXED = [
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const satisfies readonly (keyof JobSpec)[];

/** Labels by which a Job finds its pods are its own, unless its author selects them. */
function generatedSelector(errors: Errors, { metadata, spec }: Job): void {
  if (spec?.manualSelector || !spec?.selector) return;
  const { uid = '', name = '' } = metadata;
  const own = {
    'controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
  };
  const labels = spec.template.metadata?.labels ?? {};
  for (const [key, value] of Object.entries(own)) {
    if (labels[key] === value) continue;
    errors.push(fieldInvalid(`spec.template.metadata.labels[${key}]`, labels, `must be '${value}'`));
  }
  if (selects(spec.selector, own) === false) {
    errors.push(fieldInvalid('spec.selector', spec.selector, '`selector` not auto-generated'));
  }
}

function selectedPods(errors: Errors, spec: JobSpec | undefined): void {
  if (!spec?.selector) errors.push(fieldRequired('spec.selector'));
  else labelSelector(errors, 'spec.selector', spec.selector);
  const labels = spec?.template.metadata?.labels;
  if (selects(spec?.selector, labels) !== false) return;
  const detail = '`selector` does not match template `labels`';
  errors.push(fieldInvalid('spec.template.metadata.labels', labels, detail));
}

const MOST_AT_ONCE = 100_000;
/** Above as many completions, failures of single indexes are counted only within limits. */
const MANY_COMPLETIONS = 100_000;
const MOST_OF_MANY = 10_000;

function jobSpec(errors: Errors, path: string, spec: JobSpec | undefined): void {
  for (const field of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
    'backoffLimitPerIndex',
    'maxFailedIndexes',
  ] as const) {
    notNegative(errors, `${path}.${field}`, spec?.[field]);
  }
  if (spec?.maxFailedIndexes !== undefined && spec.backoffLimitPerIndex === undefined) {
    errors.push(fieldRequired(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  }
  if (spec?.managedBy !== undefined) {
    domainPath(errors, `${path}.managedBy`, spec.managedBy);
    if (spec.managedBy.length > 63) errors.push(fieldTooLong(`${path}.managedBy`, 63));
  }
  supported(errors, `${path}.completionMode`, spec?.completionMode, ['NonIndexed', 'Indexed']);
  if (spec?.completionMode === 'Indexed') indexed(errors, path, spec);
  else if (spec?.completionMode === undefined || spec.completionMode === 'NonIndexed') {
    for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const) {
      const value = spec?.[field];
      if (value !== undefined) errors.push(fieldInvalid(`${path}.${field}`, value, 'requires indexed completion mode'));
    }
  }
  if (spec?.podFailurePolicy) failurePolicy(errors, `${path}.podFailurePolicy`, spec);
  if (spec?.successPolicy) successPolicy(errors, `${path}.successPolicy`, spec, spec.successPolicy.rules ?? []);
  const replacements = spec?.podFailurePolicy ? ['Failed'] : ['Failed', 'TerminatingOrFailed'];
  supported(errors, `${path}.podReplacementPolicy`, spec?.podReplacementPolicy, replacements);
  podTemplate(errors, `${path}.template`, spec?.template);
  const policy = spec?.template?.spec?.restartPolicy;
  const at = `${path}.template.spec.restartPolicy`;
  if (policy === undefined || policy === 'Always') {
    errors.push(fieldRequired(at, 'valid values: "OnFailure", "Never"'));
  } else if (policy !== 'OnFailure' && policy !== 'Never') {
    errors.push(fieldNotSupported(at, policy, ['OnFailure', 'Never']));
  } else if (spec?.podFailurePolicy && policy !== 'Never') {
    errors.push(fieldInvalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified'));
  }
}

function indexed(errors: Errors, path: string, spec: JobSpec): void {
  const { completions, parallelism, maxFailedIndexes, backoffLimitPerIndex } = spec;
  const atMost = (field: 'parallelism' | 'maxFailedIndexes', limit: number, why = '') => {
    const value = spec[field];
    if (value === undefined || value <= limit) return;
    errors.push(fieldInvalid(`${path}.${field}`, value, `must be less than or equal to ${limit}${why}`));
  };
  if (completions === undefined) {
    errors.push(fieldRequired(`${path}.completions`, 'when completion mode is Indexed'));
  }
  if (parallelism !== undefined) atMost('parallelism', MOST_AT_ONCE, ' when completion mode is Indexed');
  if (completions !== undefined && maxFailedIndexes !== undefined && maxFailedIndexes > completions) {
    const detail = 'must be less than or equal to completions';
    errors.push(fieldInvalid(`${path}.maxFailedIndexes`, maxFailedIndexes, detail));
  }
  atMost('maxFailedIndexes', MOST_AT_ONCE);
  if ((completions ?? 0) <= MANY_COMPLETIONS || backoffLimitPerIndex === undefined) return;
  if (maxFailedIndexes === undefined) {
    const detail = `must be specified when completions is above ${MANY_COMPLETIONS}`;
    errors.push(fieldRequired(`${path}.maxFailedIndexes`, detail));
  }
  const why = ` when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
  atMost('parallelism', MOST_OF_MANY, why);
  atMost('maxFailedIndexes', MOST_OF_MANY, why);
}

const ACTIONS = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const STATUSES = ['False', 'True', 'Unknown'];
const MOST_RULES = 20;
const MOST_CODES = 255;

const choices = (values: readonly string[]) => `valid values: [${values.map((one) => JSON.stringify(one)).join(' ')}]`;

function chosen(errors: Errors, path: string, value: string | undefined, values: readonly string[]): void {
  if (!value) errors.push(fieldRequired(path, choices(values)));
  else supported(errors, path, value, values);
}

function failurePolicy(errors: Errors, path: string, spec: JobSpec): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  if (rules.length > MOST_RULES) errors.push(fieldTooMany(`${path}.rules`, rules.length, MOST_RULES));
  for (const [index, { action, onExitCodes, onPodConditions = [] }] of rules.entries()) {
    const at = `${path}.rules[${index}]`;
    if (action !== 'FailIndex') chosen(errors, `${at}.action`, action, ACTIONS);
    else if (spec.backoffLimitPerIndex === undefined) {
      errors.push(fieldInvalid(`${at}.action`, action, 'requires the backoffLimitPerIndex to be set'));
    }
    if (onExitCodes) exitCodes(errors, `${at}.onExitCodes`, onExitCodes, names);
    if (onPodConditions.length > MOST_RULES) {
      errors.push(fieldTooMany(`${at}.onPodConditions`, onPodConditions.length, MOST_RULES));
    }
    for (const [place, { type, status }] of onPodConditions.entries()) {
      const pattern = `${at}.onPodConditions[${place}]`;
      named(errors, `${pattern}.type`, type, validateQualifiedName(type));
      chosen(errors, `${pattern}.status`, status, STATUSES);
    }
    const isNone = !onExitCodes && onPodConditions.length === 0;
    const isBoth = onExitCodes !== undefined && onPodConditions.length > 0;
    const detail = isNone
      ? 'specifying one of OnExitCodes and OnPodConditions is required'
      : 'specifying both OnExitCodes and OnPodConditions is not supported';
    // The rule itself is not shown.
    if (isNone || isBoth) {
      errors.push({ field: at, reason: 'FieldValueInvalid', message: `Invalid value: ${detail}` });
    }
  }
}

function exitCodes(
  errors: Errors,
  path: string,
  { operator, containerName, values }: PodFailurePolicyOnExitCodesRequirement,
  names: ReadonlySet<string>,
): void {
  chosen(errors, `${path}.operator`, operator, ['In', 'NotIn']);
  if (containerName !== undefined && !names.has(containerName)) {
    const detail = 'must be one of the container or initContainer names in the pod template';
    errors.push(fieldInvalid(`${path}.containerName`, containerName, detail));
  }
  const at = `${path}.values`;
  if (values.length === 0) errors.push(fieldInvalid(at, values, 'at least one value is required'));
  if (values.length > MOST_CODES) errors.push(fieldTooMany(at, values.length, MOST_CODES));
  const seen = new Set<number>();
  for (const [index, value] of values.entries()) {
    if (operator === 'In' && value === 0) {
      errors.push(fieldInvalid(`${at}[${index}]`, value, 'must not be 0 for the In operator'));
    }
    if (seen.has(value)) errors.push(fieldDuplicate(`${at}[${index}]`, value));
    seen.add(value);
  }
  const isOrdered = values.every((value, index) => index === 0 || (values[index - 1] ?? 0) <= value);
  if (!isOrdered) errors.push(fieldInvalid(at, values, 'must be ordered'));
}

function successPolicy(errors: Errors, path: string, spec: JobSpec, rules: readonly SuccessPolicyRule[]): void {
  if (spec.completionMode !== 'Indexed') {
    const shown = rules.map(({ succeededIndexes = null, succeededCount = null }) => ({
      SucceededIndexes: succeededIndexes,
      SucceededCount: succeededCount,
    }));
    errors.push(fieldInvalid(path, { Rules: shown }, 'requires indexed completion mode'));
    return;
  }
  if (rules.length === 0) {
    const detail = 'at least one rules must be specified when the successPolicy is specified';
    errors.push(fieldRequired(`${path}.rules`, detail));
  }
  if (rules.length > MOST_RULES) errors.push(fieldTooMany(`${path}.rules`, rules.length, MOST_RULES));
  const { completions = 0 } = spec;
  for (const [index, { succeededCount: count, succeededIndexes: indexes }] of rules.entries()) {
    const at = `${path}.rules[${index}]`;
    if (count === undefined && indexes === undefined) {
      const detail = 'at least one of succeededCount or succeededIndexes must be specified';
      errors.push(fieldRequired(at, detail));
    }
    const counted = indexes === undefined ? 0 : countIndexes(indexes, completions);
    if (typeof counted === 'string') {
      const detail = `error parsing succeededIndexes: ${counted}`;
      errors.push(fieldInvalid(`${at}.succeededIndexes`, indexes, detail));
    }
    if (count === undefined) continue;
    notNegative(errors, `${at}.succeededCount`, count);
    const atMost = (limit: number, what: string) => {
      const detail = `must be less than or equal to ${limit} (${what})`;
      if (count > limit) errors.push(fieldInvalid(`${at}.succeededCount`, count, detail));
    };
    atMost(completions, 'the number of specified completions');
    if (indexes === undefined) continue;
    const most = typeof counted === 'string' ? 0 : counted;
    atMost(most, 'the number of indexes in the specified succeededIndexes field');
  }
}

/** Returns the number of indexes in a text like `1,3-5`, or its problem. */
function countIndexes(text: string, completions: number): number | string {
  let total = 0;
  let last = -1;
  for (const part of text === '' ? [] : text.split(',')) {
    const limits = part.split('-');
    if (limits.length > 2) {
      return `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    }
    for (const limit of limits) {
      if (!/^[+-]?\d+$/.test(limit)) return `cannot convert string to integer for index: ${JSON.stringify(limit)}`;
      if (Number(limit) >= completions) return `too large index: ${JSON.stringify(limit)}`;
    }
    const [first = 0, end = first] = limits.map(Number);
    if (limits.length === 2 && first >= end) return `non-increasing order, previous: ${first}, current: ${end}`;
    if (last >= first) return `non-increasing order, previous: ${last}, current: ${first}`;
    total += end - first + 1;
    last = end;
  }
  return total;
}

export function cronJob(errors: Errors, { spec, metadata }: CronJob, old: CronJob | undefined): void {
  const schedule = spec?.schedule ?? '';
  if (schedule === '') errors.push(fieldRequired('spec.schedule'));
  else {
    const problem = scheduleProblem(schedule);
    if (problem !== undefined) errors.push(fieldInvalid('spec.schedule', schedule, problem));
    if (schedule.includes('TZ')) {
      const wasZoned = old?.spec?.schedule.includes('TZ') === true;
      const detail = wasZoned
        ? 'cannot use both timeZone field and TZ or CRON_TZ in schedule'
        : 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';
      if (!wasZoned || spec?.timeZone !== undefined) errors.push(fieldInvalid('spec.schedule', schedule, detail));
    }
  }
  notNegative(errors, 'spec.startingDeadlineSeconds', spec?.startingDeadlineSeconds);
  if (!old || old.spec?.timeZone !== spec?.timeZone) timeZone(errors, 'spec.timeZone', spec?.timeZone);
  oneOf(errors, 'spec.concurrencyPolicy', spec?.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']);
  const path = 'spec.jobTemplate.spec';
  const template = spec?.jobTemplate?.spec;
  jobSpec(errors, path, template);
  if (template?.selector) {
    errors.push(fieldInvalid(`${path}.selector`, template.selector, '`selector` will be auto-generated'));
  }
  if (template?.manualSelector) {
    errors.push(fieldNotSupported(`${path}.manualSelector`, template.manualSelector, ['nil', 'false']));
  }
  notNegative(errors, 'spec.successfulJobsHistoryLimit', spec?.successfulJobsHistoryLimit);
  notNegative(errors, 'spec.failedJobsHistoryLimit', spec?.failedJobsHistoryLimit);
  // The names of its Jobs end with a time.
  if (!old && (metadata.name ?? '').length > LONGEST_NAME) {
    errors.push(fieldInvalid('metadata.name', metadata.name, `must be no more than ${LONGEST_NAME} characters`));
  }
}

const LONGEST_NAME = 52;

function timeZone(errors: Errors, path: string, zone: string | undefined): void {
  if (zone === undefined) return;
  if (zone === '') {
    errors.push(fieldInvalid(path, zone, 'timeZone must be nil or non-empty string'));
    return;
  }
  if (/^local$/i.test(zone)) {
    const detail = 'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones';
    errors.push(fieldInvalid(path, zone, detail));
    if (zone === 'Local') return;
  }
  if (!isTimeZone(zone)) errors.push(fieldInvalid(path, zone, `unknown time zone ${zone}`));
}

function isTimeZone(zone: string): boolean {
  // JavaScript reads offsets besides the names of zones.
  if (zone.split('/').some((part) => !/^[A-Za-z0-9._+][A-Za-z0-9._+-]*$/.test(part) || /^\.+$/.test(part)))
    return false;
  if (/^[+]/.test(zone)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

export function runtimeClass(errors: Errors, { handler }: RuntimeClass, old: RuntimeClass | undefined): void {
  for (const problem of subdomain(handler, false)) errors.push(fieldInvalid('handler', handler, problem));
  if (old) immutable(errors, 'handler', handler, old.handler);
}
