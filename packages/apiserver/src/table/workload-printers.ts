import {
  type ControllerRevision,
  type CronJob,
  type DaemonSet,
  type Deployment,
  type HorizontalPodAutoscaler,
  type Job,
  type JobCondition,
  type MetricSpec,
  type MetricStatus,
  type MetricTarget,
  type MetricValueStatus,
  type PodDisruptionBudget,
  type PodTemplate,
  type ReplicaSet,
  type ReplicationController,
  type StatefulSet,
} from '@capstan/kube';
import { podPrinter } from './pod-printer.ts';
import { type ColumnText, type Printer, printer } from './printer.ts';
import { containerImages, containerNames, firstOf, labelsText, selectorText, since, timeOf } from './text.ts';

type Templated = Pick<DaemonSet, 'spec'> | Pick<ReplicaSet, 'spec'> | Pick<Job, 'spec'> | Pick<StatefulSet, 'spec'>;

const containersOf = ({ spec }: Templated | ReplicationController) => spec?.template?.spec?.containers;
const CONTAINERS: readonly ColumnText<Templated | ReplicationController>[] = [
  ['Containers*', (object) => containerNames(containersOf(object))],
  ['Images*', (object) => containerImages(containersOf(object))],
];
const TEMPLATE: readonly ColumnText<Templated>[] = [
  ...CONTAINERS,
  ['Selector*', ({ spec }) => selectorText(spec?.selector)],
];
const COUNTS = [
  'Desired:integer = spec.replicas',
  'Current:integer = status.replicas',
  'Ready:integer = status.readyReplicas',
];
const READY: ColumnText<Deployment | StatefulSet> = [
  'Ready',
  ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
];

export const workloadPrinters: Readonly<Record<string, Printer>> = {
  pods: podPrinter,
  'deployments.apps': printer<Deployment>([
    'Name',
    READY,
    'Up-to-date = status.updatedReplicas | 0',
    'Available = status.availableReplicas | 0',
    'Age',
    ...TEMPLATE,
  ]),
  'replicasets.apps': printer<ReplicaSet>(['Name', ...COUNTS, 'Age', ...TEMPLATE]),
  'daemonsets.apps': printer<DaemonSet>([
    'Name',
    'Desired:integer = status.desiredNumberScheduled',
    'Current:integer = status.currentNumberScheduled',
    'Ready:integer = status.numberReady',
    'Up-to-date:integer = status.updatedNumberScheduled',
    'Available:integer = status.numberAvailable',
    ['Node Selector', ({ spec }) => labelsText(spec?.template.spec?.nodeSelector)],
    'Age',
    ...TEMPLATE,
  ]),
  'statefulsets.apps': printer<StatefulSet>(['Name', READY, 'Age', ...CONTAINERS]),
  replicationcontrollers: printer<ReplicationController>([
    'Name',
    ...COUNTS,
    'Age',
    ...CONTAINERS,
    ['Selector*', ({ spec }) => labelsText(spec?.selector)],
  ]),
  podtemplates: printer<PodTemplate>([
    'Name',
    ['Containers', ({ template }) => containerNames(template?.spec?.containers)],
    ['Images', ({ template }) => containerImages(template?.spec?.containers)],
    ['Pod Labels', ({ template }) => labelsText(template?.metadata?.labels)],
  ]),
  'jobs.batch': printer<Job>([
    'Name',
    ['Status', jobState],
    ['Completions', completions],
    ['Duration', duration],
    'Age',
    ...TEMPLATE,
  ]),
  'cronjobs.batch': printer<CronJob>([
    'Name',
    'Schedule = spec.schedule',
    'Timezone = spec.timeZone | <none>',
    'Suspend:boolean = spec.suspend',
    ['Active:integer', ({ status }) => status?.active?.length ?? 0],
    [
      'Last Schedule',
      ({ status }, now) => (status?.lastScheduleTime === undefined ? '<none>' : since(status.lastScheduleTime, now)),
    ],
    'Age',
    ...TEMPLATE.map(ofJobTemplate),
  ]),
  'controllerrevisions.apps': printer<ControllerRevision>([
    'Name',
    ['Controller', controllerOf],
    'Revision = revision | 0',
    'Age',
  ]),
  'poddisruptionbudgets.policy': printer<PodDisruptionBudget>([
    'Name',
    ['Min Available', ({ spec }) => String(spec?.minAvailable ?? 'N/A')],
    ['Max Unavailable', ({ spec }) => String(spec?.maxUnavailable ?? 'N/A')],
    'Allowed Disruptions:integer = status.disruptionsAllowed',
    'Age',
  ]),
  'horizontalpodautoscalers.autoscaling': printer<HorizontalPodAutoscaler>([
    'Name',
    ['Reference', ({ spec }) => `${spec?.scaleTargetRef.kind ?? ''}/${spec?.scaleTargetRef.name ?? ''}`],
    ['Targets', ({ spec, status }) => metricsText(spec?.metrics ?? [], status?.currentMetrics ?? [])],
    ['MinPods', ({ spec }) => String(spec?.minReplicas ?? '<unset>')],
    'MaxPods = spec.maxReplicas | 0',
    'Replicas = status.currentReplicas | 0',
    'Age',
  ]),
};

/** The same column of the Jobs that a CronJob creates. */
function ofJobTemplate(column: ColumnText<Templated>): ColumnText<CronJob> {
  if (typeof column === 'string') return column;
  const [name, cell] = column;
  return [name, ({ spec }, now) => cell({ spec: spec?.jobTemplate.spec }, now)];
}

function controllerOf({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const group = owner?.apiVersion.includes('/') ? `.${owner.apiVersion.split('/')[0]}` : '';
  return owner ? `${(owner.kind + group).toLowerCase()}/${owner.name}` : '<none>';
}

function duration({ status }: Job, now: number): string {
  if (status?.startTime === undefined) return '';
  const ended = status.completionTime ?? (status.conditions ?? []).find(isJobEnd)?.lastTransitionTime;
  return since(status.startTime, timeOf(ended) ?? now);
}

const isJobEnd = ({ type, status }: JobCondition) => status === 'True' && (type === 'Complete' || type === 'Failed');

function jobState({ metadata, status }: Job): string {
  const holds = (type: string) =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
  for (const type of ['Complete', 'Failed']) if (holds(type)) return type;
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  for (const type of ['Suspended', 'FailureTarget']) if (holds(type)) return type;
  return holds('SuccessCriteriaMet') ? 'SuccessCriteriaMet' : 'Running';
}

function completions({ spec, status }: Job): string {
  const done = status?.succeeded ?? 0;
  if (spec?.completions !== undefined) return `${done}/${spec.completions}`;
  const parallelism = spec?.parallelism ?? 0;
  return parallelism > 1 ? `${done}/1 of ${parallelism}` : `${done}/1`;
}

function metricsText(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return '<none>';
  const texts = specs.map((spec, index) => metricText(spec, statuses[index]));
  return firstOf(texts, 2, ', ');
}

function metricText(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case 'Resource':
      return `${spec.resource?.name}: ${utilisation(spec.resource?.target, status?.resource?.current)}`;
    case 'ContainerResource': {
      const { name, target } = spec.containerResource ?? {};
      return `${name}: ${utilisation(target, status?.containerResource?.current)}`;
    }
    case 'Pods':
      return `${quantity(status?.pods?.current, 'averageValue')}/${spec.pods?.target.averageValue}`;
    case 'Object':
      return value(spec.object?.target, status?.object?.current);
    case 'External':
      return value(spec.external?.target, status?.external?.current);
    default:
      return '<unknown type>';
  }
}

const UNKNOWN = '<unknown>';

/** Go prints a quantity that a known metric does not have as nil. */
const quantity = (current: MetricValueStatus | undefined, field: 'averageValue' | 'value') =>
  current === undefined ? UNKNOWN : (current[field] ?? '<nil>');

function utilisation(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${quantity(current, 'averageValue')}/${target.averageValue}`;
  const percent = (number: number | undefined, missing: string) => (number === undefined ? missing : `${number}%`);
  return `${percent(current?.averageUtilization, UNKNOWN)}/${percent(target?.averageUtilization, '<auto>')}`;
}

function value(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`;
  return `${quantity(current, 'value')}/${target?.value}`;
}
