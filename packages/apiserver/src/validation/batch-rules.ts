import type { CronJob, Job, JobSpec, PodTemplate, ReplicationController, RuntimeClass } from '@capstan/kube';
import { fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { subdomain } from '../resources/names.ts';
import { podTemplate } from './pod-rules.ts';
import { type Errors, immutable, notNegative, selects } from './rules.ts';

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

export function job(errors: Errors, { spec }: Job, old: Job | undefined): void {
  jobSpec(errors, 'spec', spec);
  if (!old) return;
  immutable(errors, 'spec.selector', spec?.selector, old.spec?.selector);
  immutable(errors, 'spec.completionMode', spec?.completionMode, old.spec?.completionMode);
  // The template of a suspended Job may still change, for example where its pods run.
  if (old.spec?.suspend !== true) immutable(errors, 'spec.template', spec?.template, old.spec?.template);
}

function jobSpec(errors: Errors, path: string, spec: JobSpec | undefined): void {
  for (const field of [
    'parallelism',
    'completions',
    'activeDeadlineSeconds',
    'backoffLimit',
    'ttlSecondsAfterFinished',
  ] as const) {
    notNegative(errors, `${path}.${field}`, spec?.[field]);
  }
  if (spec?.completionMode === 'Indexed' && spec.completions === undefined) {
    errors.push(fieldRequired(`${path}.completions`, 'when completion mode is Indexed'));
  }
  podTemplate(errors, `${path}.template`, spec?.template);
  const policy = spec?.template.spec?.restartPolicy;
  if (policy === undefined || policy === 'Always') {
    const field = `${path}.template.spec.restartPolicy`;
    errors.push(fieldRequired(field, 'valid values: "OnFailure", "Never"'));
  }
}

export function cronJob(errors: Errors, { spec, metadata }: CronJob): void {
  const LONGEST = 52;
  if ((metadata.name ?? '').length > LONGEST) {
    errors.push(fieldInvalid('metadata.name', metadata.name, `must be no more than ${LONGEST} characters`));
  }
  if (!spec?.schedule) errors.push(fieldRequired('spec.schedule'));
  else if (!isSchedule(spec.schedule)) {
    errors.push(fieldInvalid('spec.schedule', spec.schedule, `expected exactly 5 fields: [${spec.schedule}]`));
  }
  notNegative(errors, 'spec.startingDeadlineSeconds', spec?.startingDeadlineSeconds);
  notNegative(errors, 'spec.successfulJobsHistoryLimit', spec?.successfulJobsHistoryLimit);
  notNegative(errors, 'spec.failedJobsHistoryLimit', spec?.failedJobsHistoryLimit);
  jobSpec(errors, 'spec.jobTemplate.spec', spec?.jobTemplate.spec);
}

function isSchedule(text: string): boolean {
  return (
    /^@(yearly|annually|monthly|weekly|daily|midnight|hourly|every \S+)$/.test(text) ||
    /^\S+( +\S+){4}$/.test(text.trim())
  );
}

export function runtimeClass(errors: Errors, { handler }: RuntimeClass, old: RuntimeClass | undefined): void {
  for (const problem of subdomain(handler, false)) errors.push(fieldInvalid('handler', handler, problem));
  if (old) immutable(errors, 'handler', handler, old.handler);
}
