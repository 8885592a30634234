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
import { type Printer, printer } from './printer.ts';
import {
  age,
  containerImages,
  containerNames,
  firstOf,
  labelsText,
  nameOf,
  selectorText,
  since,
  timeOf,
} from './text.ts';

const TEMPLATE = ['Containers*', 'Images*', 'Selector*'];

export const workloadPrinters: Readonly<Record<string, Printer>> = {
  pods: podPrinter,
  'deployments.apps': printer<Deployment>(
    ['Name', 'Ready', 'Up-to-date', 'Available', 'Age', ...TEMPLATE],
    (object, now) => {
      const { spec, status } = object;
      return [
        nameOf(object),
        `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`,
        status?.updatedReplicas ?? 0,
        status?.availableReplicas ?? 0,
        age(object, now),
        ...templateCells(spec),
      ];
    },
  ),
  'replicasets.apps': printer<ReplicaSet>(
    ['Name', 'Desired:integer', 'Current:integer', 'Ready:integer', 'Age', ...TEMPLATE],
    (object, now) => {
      const { spec, status } = object;
      const counts = [spec?.replicas ?? 0, status?.replicas ?? 0, status?.readyReplicas ?? 0];
      return [nameOf(object), ...counts, age(object, now), ...templateCells(spec)];
    },
  ),
  'daemonsets.apps': printer<DaemonSet>(
    [
      'Name',
      ...['Desired', 'Current', 'Ready', 'Up-to-date', 'Available'].map((name) => `${name}:integer`),
      'Node Selector',
      'Age',
      ...TEMPLATE,
    ],
    (object, now) => {
      const { spec, status } = object;
      return [
        nameOf(object),
        status?.desiredNumberScheduled ?? 0,
        status?.currentNumberScheduled ?? 0,
        status?.numberReady ?? 0,
        status?.updatedNumberScheduled ?? 0,
        status?.numberAvailable ?? 0,
        labelsText(spec?.template.spec?.nodeSelector),
        age(object, now),
        ...templateCells(spec),
      ];
    },
  ),
  'statefulsets.apps': printer<StatefulSet>(['Name', 'Ready', 'Age', 'Containers*', 'Images*'], (object, now) => {
    const { spec, status } = object;
    const containers = spec?.template.spec?.containers;
    const ready = `${status?.readyReplicas ?? 0}/${spec?.replicas ?? 0}`;
    return [nameOf(object), ready, age(object, now), containerNames(containers), containerImages(containers)];
  }),
  replicationcontrollers: printer<ReplicationController>(
    ['Name', 'Desired:integer', 'Current:integer', 'Ready:integer', 'Age', ...TEMPLATE],
    (object, now) => {
      const { spec, status } = object;
      const counts = [spec?.replicas ?? 0, status?.replicas ?? 0, status?.readyReplicas ?? 0];
      const containers = spec?.template?.spec?.containers;
      const template = [containerNames(containers), containerImages(containers), labelsText(spec?.selector)];
      return [nameOf(object), ...counts, age(object, now), ...template];
    },
  ),
  podtemplates: printer<PodTemplate>(['Name', 'Containers', 'Images', 'Pod Labels'], (object) => {
    const containers = object.template?.spec?.containers;
    const labels = labelsText(object.template?.metadata?.labels);
    return [nameOf(object), containerNames(containers), containerImages(containers), labels];
  }),
  'jobs.batch': printer<Job>(['Name', 'Status', 'Completions', 'Duration', 'Age', ...TEMPLATE], (object, now) => {
    const { spec, status } = object;
    const ended = status?.completionTime ?? (status?.conditions ?? []).find(isJobEnd)?.lastTransitionTime;
    const duration = status?.startTime === undefined ? '' : since(status.startTime, timeOf(ended) ?? now);
    return [nameOf(object), jobState(object), completions(object), duration, age(object, now), ...templateCells(spec)];
  }),
  'cronjobs.batch': printer<CronJob>(
    ['Name', 'Schedule', 'Timezone', 'Suspend:boolean', 'Active:integer', 'Last Schedule', 'Age', ...TEMPLATE],
    (object, now) => {
      const { spec, status } = object;
      return [
        nameOf(object),
        spec?.schedule ?? '',
        spec?.timeZone ?? '<none>',
        spec?.suspend ?? false,
        status?.active?.length ?? 0,
        status?.lastScheduleTime === undefined ? '<none>' : since(status.lastScheduleTime, now),
        age(object, now),
        ...templateCells(spec?.jobTemplate.spec),
      ];
    },
  ),
  'controllerrevisions.apps': printer<ControllerRevision>(['Name', 'Controller', 'Revision', 'Age'], (object, now) => {
    const owner = object.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const group = owner?.apiVersion.includes('/') ? `.${owner.apiVersion.split('/')[0]}` : '';
    const controller = owner ? `${(owner.kind + group).toLowerCase()}/${owner.name}` : '<none>';
    return [nameOf(object), controller, object.revision, age(object, now)];
  }),
  'poddisruptionbudgets.policy': printer<PodDisruptionBudget>(
    ['Name', 'Min Available', 'Max Unavailable', 'Allowed Disruptions:integer', 'Age'],
    (object, now) => {
      const { spec, status } = object;
      const limit = (value: number | string | undefined) => (value === undefined ? 'N/A' : String(value));
      const limits = [limit(spec?.minAvailable), limit(spec?.maxUnavailable)];
      return [nameOf(object), ...limits, status?.disruptionsAllowed ?? 0, age(object, now)];
    },
  ),
  'horizontalpodautoscalers.autoscaling': printer<HorizontalPodAutoscaler>(
    ['Name', 'Reference', 'Targets', 'MinPods', 'MaxPods', 'Replicas', 'Age'],
    (object, now) => {
      const { spec, status } = object;
      return [
        nameOf(object),
        `${spec?.scaleTargetRef.kind ?? ''}/${spec?.scaleTargetRef.name ?? ''}`,
        metricsText(spec?.metrics ?? [], status?.currentMetrics ?? []),
        spec?.minReplicas === undefined ? '<unset>' : String(spec.minReplicas),
        spec?.maxReplicas ?? 0,
        status?.currentReplicas ?? 0,
        age(object, now),
      ];
    },
  ),
};

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

function templateCells(spec: DaemonSet['spec'] | ReplicaSet['spec'] | Job['spec']): string[] {
  const containers = spec?.template?.spec?.containers;
  return [containerNames(containers), containerImages(containers), selectorText(spec?.selector)];
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
      return `${status?.pods?.current.averageValue ?? UNKNOWN}/${spec.pods?.target.averageValue}`;
    case 'Object':
      return value(spec.object?.target, status?.object?.current);
    case 'External':
      return value(spec.external?.target, status?.external?.current);
    default:
      return '<unknown type>';
  }
}

const UNKNOWN = '<unknown>';

function utilisation(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${current?.averageValue ?? UNKNOWN}/${target.averageValue}`;
  const percent = (number: number | undefined, missing: string) => (number === undefined ? missing : `${number}%`);
  return `${percent(current?.averageUtilization, UNKNOWN)}/${percent(target?.averageUtilization, '<auto>')}`;
}

function value(target: MetricTarget | undefined, current: MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${current?.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`;
  return `${current?.value ?? UNKNOWN}/${target?.value}`;
}
