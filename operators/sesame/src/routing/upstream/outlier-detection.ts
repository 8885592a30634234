// Outlier detection of a service: its own, or that of the configuration.
import { OUTLIER_DEFAULTS, type OutlierDetectionSpec } from '../../configuration/index.ts';
import type { OutlierDetection } from '../../model/cluster.ts';
import type { Origin } from '../../model/origin.ts';
import { durationMs, seconds } from '../timeouts.ts';

/** Undefined where it is switched off. The settings are valid. */
export function outlierDetection(spec: OutlierDetectionSpec, origin: Origin): OutlierDetection | undefined {
  if (spec.disabled === true) return undefined;
  const value = { ...OUTLIER_DEFAULTS, ...definedOnly(spec) };
  const time = (text: string) => seconds(durationMs(text) ?? 0);
  return {
    serverErrors: value.consecutiveServerErrors,
    localFailures: spec.splitExternalLocalOriginErrors === true ? value.consecutiveLocalOriginFailures : undefined,
    interval: time(value.interval),
    baseEjection: time(value.baseEjectionTime),
    maxEjection: time(value.maxEjectionTime),
    maxPercent: value.maxEjectionPercent,
    origin,
  };
}

/** Returns the detection of services that decide nothing themselves. */
export function sharedOutlierDetection(spec: OutlierDetectionSpec): OutlierDetection | undefined {
  return outlierDetection(spec, CONFIGURED);
}

const CONFIGURED: Origin = {
  kind: 'SesameConfiguration',
  namespace: '',
  name: '',
  path: 'envoy.cluster.outlierDetection',
};

type Defined<Value> = { [Name in keyof Value]-?: NonNullable<Value[Name]> };

function definedOnly(spec: OutlierDetectionSpec): Partial<Defined<OutlierDetectionSpec>> {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined));
}
