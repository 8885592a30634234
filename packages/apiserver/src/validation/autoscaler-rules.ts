import {
  type CrossVersionObjectReference,
  type HorizontalPodAutoscaler,
  type HorizontalPodAutoscalerSpec,
  type HPAScalingPolicy,
  type HPAScalingRules,
  type MetricIdentifier,
  type MetricSpec,
  type MetricTarget,
  validateDns1123Label,
  validatePathSegment,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { type Errors, named, notNegative } from './rules.ts';

export function autoscaler(
  errors: Errors,
  object: HorizontalPodAutoscaler,
  old: HorizontalPodAutoscaler | undefined,
): void {
  // Required by the type, and all the same absent where a user forgot it.
  const spec = ((object as Partial<HorizontalPodAutoscaler>).spec ?? {}) as Partial<HorizontalPodAutoscalerSpec>;
  const { minReplicas, maxReplicas = 0, scaleTargetRef, metrics = [], behavior } = spec;
  if (minReplicas !== undefined && minReplicas < 1) {
    errors.push(fieldInvalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1'));
  }
  if (maxReplicas === 0) errors.push(fieldRequired('spec.maxReplicas', 'must be set and greater than 0'));
  else if (maxReplicas < 0) {
    errors.push(fieldInvalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1'));
  }
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.push(fieldInvalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'));
  }
  // An accepted reference is not checked again.
  const before = old?.spec.scaleTargetRef;
  const isSame = before?.apiVersion === scaleTargetRef?.apiVersion && before?.kind === scaleTargetRef?.kind;
  const isCore = scaleTargetRef?.kind === 'ReplicationController';
  reference(errors, 'spec.scaleTargetRef', scaleTargetRef, old && isSame ? 'any' : isCore ? 'core' : 'group');
  for (const [index, metric] of metrics.entries()) metricSpec(errors, `spec.metrics[${index}]`, metric);
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const detail = 'must specify at least one Object or External metric to support scaling to zero replicas';
    errors.push(fieldForbidden('spec.metrics', detail));
  }
  if (behavior?.scaleUp) scalingRules(errors, 'spec.behavior.scaleUp', behavior.scaleUp);
  if (behavior?.scaleDown) scalingRules(errors, 'spec.behavior.scaleDown', behavior.scaleDown);
}

export function autoscalerStatus(errors: Errors, { status }: HorizontalPodAutoscaler): void {
  notNegative(errors, 'status.currentReplicas', status?.currentReplicas);
  notNegative(errors, 'status.desiredReplicas', status?.desiredReplicas);
}

function segment(errors: Errors, at: string, value: string | undefined, missing = ''): void {
  if (!value) errors.push(fieldRequired(at, missing));
  else named(errors, at, value, validatePathSegment(value));
}

/** `version`: whether the version has to name a group, may be one of the core, or may be anything. */
function reference(
  errors: Errors,
  at: string,
  to: Partial<CrossVersionObjectReference> = {},
  version: 'group' | 'core' | 'any' = 'core',
): void {
  segment(errors, `${at}.kind`, to.kind);
  segment(errors, `${at}.name`, to.name);
  const { apiVersion = '' } = to;
  if (version === 'any') return;
  if (apiVersion.split('/').length > 2) {
    errors.push(fieldInvalid(`${at}.apiVersion`, apiVersion, `unexpected GroupVersion string: ${apiVersion}`));
  } else if (version === 'group' && !apiVersion.includes('/')) {
    errors.push(fieldInvalid(`${at}.apiVersion`, apiVersion, 'apiVersion must specify API group'));
  }
}

const MAX_WINDOW = 3600;
const MAX_PERIOD = 1800;

function scalingRules(errors: Errors, at: string, rules: HPAScalingRules): void {
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  if (window !== undefined && window < 0) {
    errors.push(fieldInvalid(`${at}.stabilizationWindowSeconds`, window, 'must be greater than or equal to zero'));
  }
  if (window !== undefined && window > MAX_WINDOW) {
    const detail = `must be less than or equal to ${MAX_WINDOW}`;
    errors.push(fieldInvalid(`${at}.stabilizationWindowSeconds`, window, detail));
  }
  const choices = ['Disabled', 'Max', 'Min'];
  if (selectPolicy !== undefined && !choices.includes(selectPolicy)) {
    errors.push(fieldNotSupported(`${at}.selectPolicy`, selectPolicy, choices));
  }
  if (policies.length === 0) errors.push(fieldRequired(`${at}.policies`, 'must specify at least one Policy'));
  for (const [index, policy] of policies.entries()) scalingPolicy(errors, `${at}.policies[${index}]`, policy);
  if (tolerance !== undefined && isNegative(tolerance)) {
    errors.push(fieldInvalid(`${at}.tolerance`, tolerance, 'must be greater than or equal to 0'));
  }
}

function scalingPolicy(errors: Errors, at: string, policy: Partial<HPAScalingPolicy>): void {
  const { type = '', value = 0, periodSeconds = 0 } = policy;
  if (type !== 'Pods' && type !== 'Percent') {
    errors.push(fieldNotSupported(`${at}.type`, type, ['Percent', 'Pods']));
  }
  if (value <= 0) errors.push(fieldInvalid(`${at}.value`, value, 'must be greater than zero'));
  if (periodSeconds <= 0) errors.push(fieldInvalid(`${at}.periodSeconds`, periodSeconds, 'must be greater than zero'));
  if (periodSeconds > MAX_PERIOD) {
    errors.push(fieldInvalid(`${at}.periodSeconds`, periodSeconds, `must be less than or equal to ${MAX_PERIOD}`));
  }
}

const SOURCES: Readonly<Record<string, keyof MetricSpec>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
};

function metricSpec(errors: Errors, at: string, metric: Partial<MetricSpec>): void {
  const { type = '' } = metric;
  const types = Object.keys(SOURCES);
  if (type === '') errors.push(fieldRequired(`${at}.type`, 'must specify a metric source type'));
  const unknown = fieldNotSupported(`${at}.type`, type, types);
  if (!types.includes(type)) errors.push(unknown);
  // Only the first of several sources is looked at.
  const present = (['object', 'external', 'pods', 'resource', 'containerResource'] as const).filter(
    (one) => metric[one] !== undefined,
  );
  if (present[0] !== undefined) CHECKS[present[0]]?.(errors, `${at}.${present[0]}`, metric);
  const expected = SOURCES[type];
  if (expected === undefined) errors.push(unknown);
  else if (metric[expected] === undefined) {
    errors.push(fieldRequired(`${at}.${expected}`, 'must populate information for the given metric source'));
  }
  if (present.length === 1) return;
  for (const one of present) {
    if (one !== expected) errors.push(fieldForbidden(`${at}.${one}`, 'must populate the given metric source only'));
  }
}

const CHECKS: Readonly<Record<string, (errors: Errors, at: string, metric: Partial<MetricSpec>) => void>> = {
  object(errors, at, { object }) {
    reference(errors, `${at}.describedObject`, object?.describedObject);
    identifier(errors, at, object?.metric);
    const target = metricTarget(errors, at, object?.target);
    if (target.value === undefined && target.averageValue === undefined) {
      errors.push(fieldRequired(`${at}.target.averageValue`, 'must set either a target value or averageValue'));
    }
  },
  external(errors, at, { external }) {
    identifier(errors, at, external?.metric);
    const { value, averageValue } = metricTarget(errors, at, external?.target);
    if (value === undefined && averageValue === undefined) {
      const detail = 'must set either a target value for metric or a per-pod target';
      errors.push(fieldRequired(`${at}.target.averageValue`, detail));
    }
    if (value !== undefined && averageValue !== undefined) {
      const detail = 'may not set both a target value for metric and a per-pod target';
      errors.push(fieldForbidden(`${at}.target.value`, detail));
    }
  },
  pods(errors, at, { pods }) {
    identifier(errors, at, pods?.metric);
    if (metricTarget(errors, at, pods?.target).averageValue === undefined) {
      errors.push(fieldRequired(`${at}.target.averageValue`, 'must specify a positive target averageValue'));
    }
  },
  resource(errors, at, { resource }) {
    if (!resource?.name) errors.push(fieldRequired(`${at}.name`, 'must specify a resource name'));
    resourceTarget(errors, at, resource?.target);
  },
  containerResource(errors, at, { containerResource: source }) {
    if (!source?.name) errors.push(fieldRequired(`${at}.name`, 'must specify a resource name'));
    if (!source?.container) errors.push(fieldRequired(`${at}.container`, 'must specify a container'));
    else named(errors, `${at}.container`, source.container, validateDns1123Label(source.container));
    resourceTarget(errors, at, source?.target);
  },
};

function resourceTarget(errors: Errors, at: string, target: MetricTarget | undefined): void {
  const { averageUtilization, averageValue } = metricTarget(errors, at, target);
  if (averageUtilization === undefined && averageValue === undefined) {
    const detail = 'must set either a target raw value or a target utilization';
    errors.push(fieldRequired(`${at}.target.averageUtilization`, detail));
  }
  if (averageUtilization !== undefined && averageValue !== undefined) {
    const detail = 'may not set both a target raw value and a target utilization';
    errors.push(fieldForbidden(`${at}.target.averageValue`, detail));
  }
}

function identifier(errors: Errors, at: string, metric: Partial<MetricIdentifier> | undefined): void {
  segment(errors, `${at}.metric.name`, metric?.name, 'must specify a metric name');
}

function metricTarget(errors: Errors, at: string, given: Partial<MetricTarget> = {}): Partial<MetricTarget> {
  const { type = '', averageUtilization } = given;
  if (type === '') errors.push(fieldRequired(`${at}.target.type`, 'must specify a metric target type'));
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    errors.push(fieldInvalid(`${at}.target.type`, type, 'must be either Utilization, Value, or AverageValue'));
  }
  for (const field of ['value', 'averageValue'] as const) {
    const value = given[field];
    if (value !== undefined && !isPositive(value)) {
      errors.push(fieldInvalid(`${at}.target.${field}`, value, 'must be positive'));
    }
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(fieldInvalid(`${at}.target.averageUtilization`, averageUtilization, 'must be greater than 0'));
  }
  return given;
}

const isNegative = (quantity: string) => Number.parseFloat(quantity) < 0;
const isPositive = (quantity: string) => Number.parseFloat(quantity) > 0;
