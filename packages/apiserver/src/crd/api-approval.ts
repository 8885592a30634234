// Groups of Kubernetes itself: a definition of a kind in one must name its approval.
import type { CustomResourceDefinition } from '@capstan/kube';
import { type FieldError, fieldInvalid, fieldRequired } from '../errors.ts';

const ANNOTATION = 'api-approved.kubernetes.io';
const SEE = 'see https://github.com/kubernetes/enhancements/pull/1111';

export interface Approval {
  state: 'missing' | 'bypassed' | 'approved' | 'invalid';
  reason: string;
}

/** Undefined for a group that needs none. */
export function approvalOf({ spec, metadata }: CustomResourceDefinition): Approval | undefined {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(spec.group ?? '')) return undefined;
  const value = metadata.annotations?.[ANNOTATION] ?? '';
  const wanted = `protected groups must have approval annotation ${JSON.stringify(ANNOTATION)}`;
  if (value === '') return { state: 'missing', reason: `${wanted}, ${SEE}` };
  if (value.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: ${JSON.stringify(value)}` };
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/]+/i.test(value)) return { state: 'approved', reason: `approved in ${value}` };
  return { state: 'invalid', reason: `${wanted} with either a URL or a reason starting with "unapproved", ${SEE}` };
}

export function approvalProblems(
  crd: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): FieldError[] {
  const approval = approvalOf(crd);
  if (!approval || (old && approvalOf(old)?.state === approval.state)) return [];
  const field = `metadata.annotations[${ANNOTATION}]`;
  if (approval.state === 'missing') return [fieldRequired(field, approval.reason)];
  if (approval.state !== 'invalid') return [];
  return [fieldInvalid(field, crd.metadata.annotations?.[ANNOTATION], approval.reason)];
}

/** The condition that reports it: status, reason, message. */
export function approvalCondition(approval: Approval): [status: 'True' | 'False', reason: string, message: string] {
  const reasons = {
    missing: 'MissingAnnotation',
    bypassed: 'UnapprovedAnnotation',
    approved: 'ApprovedAnnotation',
    invalid: 'InvalidAnnotation',
  } as const;
  return [approval.state === 'approved' ? 'True' : 'False', reasons[approval.state], approval.reason];
}
