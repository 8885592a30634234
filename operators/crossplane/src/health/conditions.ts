// Conditions of packages and revisions, with upstream's reasons.
import { type ConditionInput, conditionType } from '@capstan/reconcile';

export const installed = conditionType<'UnpackingPackage' | 'InactivePackageRevision' | 'ActivePackageRevision'>(
  'Installed',
);

type HealthReason = 'HealthyPackageRevision' | 'UnhealthyPackageRevision' | 'UnknownPackageRevisionHealth';
export const healthy = conditionType<HealthReason>('Healthy');
export const revisionHealthy = conditionType<HealthReason>('RevisionHealthy');
export const runtimeHealthy = conditionType<HealthReason>('RuntimeHealthy');
/** Whether the package could be had and keeps the rules; on revisions that are active, or shall be. */
export const unpacked = conditionType<'Unpacked' | 'Refused'>('Unpacked');
export const verified = conditionType<
  'SignatureVerificationSkipped' | 'SignatureVerificationSucceeded' | 'SignatureVerificationFailed'
>('Verified');
/** Present only while a package holds objects that are not installed. */
export const packageWarning = conditionType<'ForeignKinds'>('PackageWarning');
/** Only there while a part of a configuration has no effect, or not the one that its author expects. */
export const configWarning = conditionType<'Misplaced' | 'NoEffect' | 'Ignored'>('ConfigWarning');
export const resolved = conditionType<'DependencyResolutionSucceeded' | 'DependencyResolutionFailed'>('Resolved');

/** Only there while the package asks for more than it may have. */
export const permissionsRefused = conditionType<'NotAllowed'>('PermissionsRefused');

export interface Health {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly message: string;
}

const REASONS = {
  True: 'HealthyPackageRevision',
  False: 'UnhealthyPackageRevision',
  Unknown: 'UnknownPackageRevisionHealth',
} as const;

export function healthCondition(type: typeof healthy, { status, message }: Health): ConditionInput {
  return { type: type.type, status, reason: REASONS[status], message };
}

/** Both halves, where there are two. */
export function rollUp(payload: Health, runtime: Health | undefined): Health {
  if (payload.status !== 'True') return payload;
  if (runtime === undefined || runtime.status === 'True') return { status: 'True', message: '' };
  return runtime;
}
