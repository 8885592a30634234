// The defaults of Kubernetes for the other kinds.
import { isObject, type JsonObject, valueAt } from '../json/copy.ts';
import { type Defaults, each, fillAbsent, fillZero, within } from './fill.ts';

const CORE = 'io.k8s.api.core.v1';
const APPS = 'io.k8s.api.apps.v1';
const BATCH = 'io.k8s.api.batch.v1';
const NETWORKING = 'io.k8s.api.networking.v1';
const RBAC = 'io.k8s.api.rbac.v1';
const ADMISSION = 'io.k8s.api.admissionregistration.v1';
const AUTOSCALING = 'io.k8s.api.autoscaling.v2';

const RBAC_GROUP = 'rbac.authorization.k8s.io';

export const kindDefaults: Readonly<Record<string, Defaults>> = {
  [`${CORE}.ServiceSpec`]: serviceDefaults,
  [`${CORE}.Service`]: (service) => {
    if ((service['spec'] as JsonObject | undefined)?.['type'] !== 'LoadBalancer') return service;
    return within(service, 'status', (status) =>
      within(status, 'loadBalancer', (balancer) =>
        each(balancer, 'ingress', (one) => (one['ip'] ? fillAbsent(one, { ipMode: 'VIP' }) : one)),
      ),
    );
  },
  [`${CORE}.EndpointPort`]: (port) => fillZero(port, { protocol: 'TCP' }),
  // The first of the blocks has a field of its own.
  [`${CORE}.NodeSpec`]: (spec) => {
    const { podCIDR, podCIDRs } = spec;
    if (podCIDR && !(Array.isArray(podCIDRs) && podCIDRs[0] === podCIDR)) return { ...spec, podCIDRs: [podCIDR] };
    return !podCIDR && Array.isArray(podCIDRs) && podCIDRs.length > 0 ? { ...spec, podCIDR: podCIDRs[0] } : spec;
  },
  [`${CORE}.NodeStatus`]: (status) =>
    isObject(status['capacity']) ? fillAbsent(status, { allocatable: status['capacity'] }) : status,

  [`${CORE}.PersistentVolumeSpec`]: (spec) =>
    fillAbsent(fillZero(spec, { persistentVolumeReclaimPolicy: 'Retain' }), { volumeMode: 'Filesystem' }),
  [`${CORE}.LimitRangeItem`]: (item) => {
    if (item['type'] !== 'Container') return item;
    const part = (name: string) => (isObject(item[name]) ? item[name] : {});
    const limits = { ...part('max'), ...part('default') };
    return { ...item, default: limits, defaultRequest: { ...part('min'), ...limits, ...part('defaultRequest') } };
  },
  'io.k8s.api.storage.v1.StorageClass': (storage) =>
    fillAbsent(storage, { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' }),

  [`${APPS}.DeploymentSpec`]: (spec) =>
    fillAbsent(
      within(spec, 'strategy', (strategy) => rolling(strategy, { maxUnavailable: '25%', maxSurge: '25%' })),
      { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 },
    ),
  [`${APPS}.ReplicaSetSpec`]: (spec) => fillAbsent(spec, { replicas: 1 }),
  [`${APPS}.DaemonSetSpec`]: (spec) =>
    fillAbsent(
      within(spec, 'updateStrategy', (strategy) => rolling(strategy, { maxUnavailable: 1, maxSurge: 0 })),
      { revisionHistoryLimit: 10 },
    ),
  [`${APPS}.StatefulSetSpec`]: (spec) =>
    fillAbsent(
      fillZero(
        each(
          within(spec, 'updateStrategy', (strategy) =>
            strategy['type'] === 'RollingUpdate' && !isObject(strategy['rollingUpdate'])
              ? strategy
              : rolling(strategy, { partition: 0 }),
          ),
          'volumeClaimTemplates',
          claimDefaults,
        ),
        { podManagementPolicy: 'OrderedReady' },
      ),
      {
        replicas: 1,
        revisionHistoryLimit: 10,
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      },
    ),
  [`${APPS}.StatefulSetPersistentVolumeClaimRetentionPolicy`]: (policy) =>
    fillZero(policy, { whenDeleted: 'Retain', whenScaled: 'Retain' }),

  [`${CORE}.ReplicationController`]: (controller) => {
    const template = valueAt(controller, ['spec', 'template', 'metadata', 'labels']);
    if (!isObject(template) || Object.keys(template).length === 0) return controller;
    const spec = fillZero(controller['spec'] as JsonObject, { selector: template });
    const metadata = isObject(controller['metadata']) ? controller['metadata'] : {};
    return { ...controller, spec, metadata: fillZero(metadata, { labels: template }) };
  },
  [`${CORE}.ReplicationControllerSpec`]: (spec) => fillAbsent(spec, { replicas: 1 }),
  // Not of a JobSpec: the template of a CronJob gets its defaults with each Job.
  [`${BATCH}.Job`]: (job) => within(withTemplateLabels(job), 'spec', jobDefaults),
  [`${BATCH}.CronJobSpec`]: (spec) =>
    fillAbsent(fillZero(spec, { concurrencyPolicy: 'Allow' }), {
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    }),

  [`${NETWORKING}.NetworkPolicyPort`]: (port) => fillAbsent(port, { protocol: 'TCP' }),
  [`${NETWORKING}.NetworkPolicySpec`]: (spec) => {
    if (Array.isArray(spec['policyTypes']) && spec['policyTypes'].length > 0) return spec;
    const hasEgress = Array.isArray(spec['egress']) && spec['egress'].length > 0;
    return { ...spec, policyTypes: hasEgress ? ['Ingress', 'Egress'] : ['Ingress'] };
  },
  [`${NETWORKING}.IngressClassParametersReference`]: (reference) => fillAbsent(reference, { scope: 'Cluster' }),
  'io.k8s.api.discovery.v1.EndpointPort': (port) => fillAbsent(port, { name: '', protocol: 'TCP' }),

  [`${RBAC}.RoleRef`]: (reference) => fillZero(reference, { apiGroup: RBAC_GROUP }),
  [`${RBAC}.Subject`]: (subject) => {
    const isPerson = subject['kind'] === 'User' || subject['kind'] === 'Group';
    return isPerson ? fillZero(subject, { apiGroup: RBAC_GROUP }) : subject;
  },

  [`${ADMISSION}.ValidatingWebhook`]: webhookDefaults,
  [`${ADMISSION}.MutatingWebhook`]: (webhook) => fillAbsent(webhookDefaults(webhook), { reinvocationPolicy: 'Never' }),
  [`${ADMISSION}.RuleWithOperations`]: (rule) => fillAbsent(rule, { scope: '*' }),
  [`${ADMISSION}.NamedRuleWithOperations`]: (rule) => fillAbsent(rule, { scope: '*' }),
  [`${ADMISSION}.ValidatingAdmissionPolicySpec`]: (spec) => fillAbsent(spec, { failurePolicy: 'Fail' }),
  [`${ADMISSION}.MatchResources`]: (match) =>
    fillAbsent(match, { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} }),
  [`${ADMISSION}.ServiceReference`]: (reference) => fillAbsent(reference, { port: 443 }),

  'io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.ServiceReference': (reference) =>
    fillAbsent(reference, { port: 443 }),

  'io.k8s.api.scheduling.v1.PriorityClass': (object) =>
    fillAbsent(object, { preemptionPolicy: 'PreemptLowerPriority' }),

  [`${AUTOSCALING}.HorizontalPodAutoscalerSpec`]: autoscalerDefaults,
};

function rolling(strategy: JsonObject, limits: JsonObject): JsonObject {
  const typed = fillZero(strategy, { type: 'RollingUpdate' });
  if (typed['type'] !== 'RollingUpdate') return typed;
  return within(fillAbsent(typed, { rollingUpdate: {} }), 'rollingUpdate', (update) => fillAbsent(update, limits));
}

/** A claim template gets the apiVersion and kind of a claim. */
function claimDefaults(claim: JsonObject): JsonObject {
  const named = { ...claim, apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
  return within(fillAbsent(named, { status: {} }), 'status', (status) => fillZero(status, { phase: 'Pending' }));
}

const THREE_HOURS = 10_800;

function jobDefaults(spec: JsonObject): JsonObject {
  const isEndless = spec['completions'] === undefined && spec['parallelism'] !== undefined;
  return fillAbsent(spec, {
    parallelism: 1,
    ...(!isEndless && { completions: 1 }),
    ...(spec['backoffLimitPerIndex'] === undefined ? { backoffLimit: 6 } : { backoffLimit: 2 ** 31 - 1 }),
    completionMode: 'NonIndexed',
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: spec['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
  });
}

/** A Job without labels has those of its pods. */
export function withTemplateLabels<T extends JsonObject>(job: T): T {
  const { metadata } = job;
  const labels = valueAt(job, ['spec', 'template', 'metadata', 'labels']);
  const own = isObject(metadata) && isObject(metadata['labels']) ? metadata['labels'] : {};
  if (!isObject(labels) || Object.keys(labels).length === 0 || Object.keys(own).length > 0) return job;
  return { ...job, metadata: { ...(isObject(metadata) ? metadata : {}), labels } };
}

const hasTimeout = (config: unknown) =>
  isObject(config) && isObject(config['clientIP']) && typeof config['clientIP']['timeoutSeconds'] === 'number';

function serviceDefaults(spec: JsonObject): JsonObject {
  const { sessionAffinityConfig, ...others } = fillZero(spec, { type: 'ClusterIP', sessionAffinity: 'None' });
  let result: JsonObject = others;
  if (others['sessionAffinity'] === 'ClientIP') {
    result = {
      ...result,
      sessionAffinityConfig: hasTimeout(sessionAffinityConfig)
        ? sessionAffinityConfig
        : { clientIP: { timeoutSeconds: THREE_HOURS } },
    };
  }
  result = each(result, 'ports', (port) => {
    const typed = fillZero(port, { protocol: 'TCP' });
    return fillZero(typed, { targetPort: typed['port'] });
  });
  const { type } = result;
  if (type !== 'ExternalName') result = fillAbsent(result, { internalTrafficPolicy: 'Cluster' });
  if (type === 'LoadBalancer') result = fillAbsent(result, { allocateLoadBalancerNodePorts: true });
  const hasExternal = Array.isArray(result['externalIPs']) && result['externalIPs'].length > 0;
  const isOutside = type === 'NodePort' || type === 'LoadBalancer' || (type === 'ClusterIP' && hasExternal);
  return isOutside ? fillZero(result, { externalTrafficPolicy: 'Cluster' }) : result;
}

function webhookDefaults(webhook: JsonObject): JsonObject {
  return fillAbsent(webhook, {
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  });
}

const SCALE_UP = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
};
const SCALE_DOWN = { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] };

function autoscalerDefaults(spec: JsonObject): JsonObject {
  const filled = fillAbsent(spec, { minReplicas: 1 });
  const hasMetrics = Array.isArray(filled['metrics']) && filled['metrics'].length > 0;
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } };
  const measured = hasMetrics ? filled : { ...filled, metrics: [cpu] };
  return within(measured, 'behavior', (behavior) => ({
    ...behavior,
    scaleUp: fillAbsent(isObject(behavior['scaleUp']) ? behavior['scaleUp'] : {}, SCALE_UP),
    scaleDown: fillAbsent(isObject(behavior['scaleDown']) ? behavior['scaleDown'] : {}, SCALE_DOWN),
  }));
}
