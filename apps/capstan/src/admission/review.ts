// The answer to an AdmissionReview of one of our kinds. Pure. It never blocks existing objects: an object that is being deleted passes, so
// does an edit that leaves the spec unchanged, and so does an edit of an invalid object, unless it adds an error. A check that throws
// refuses nothing; the user sees the error as a warning.
import { isDeepStrictEqual } from 'node:util';
import { isRecord, type KubeObject, keyOfObject, kindId, reasonOf } from '@capstan/kube';
import type { AdmissionCheck, AdmissionFindings, AdmissionView } from '@capstan/reconcile';
import { type AdmissionResponse, checkAdmission } from '@capstan/reconcile/webhook';

export interface ReviewOptions {
  readonly checks: readonly AdmissionCheck[];
  readonly view: AdmissionView;
  /** Takes the error of a check and the object that it was about, for the log. */
  failed?(kind: string, reason: string, key: string): void;
}

export function reviewObject(request: Readonly<Record<string, unknown>>, options: ReviewOptions): AdmissionResponse {
  const uid = typeof request['uid'] === 'string' ? request['uid'] : '';
  const object = objectOf(request['object']);
  const before = objectOf(request['oldObject']);
  const check =
    object && options.checks.find(({ kind }) => kind.apiVersion === object.apiVersion && kind.kind === object.kind);
  if (object === undefined || check === undefined || object.metadata.deletionTimestamp !== undefined)
    return { uid, allowed: true };
  if (before !== undefined && isDeepStrictEqual(contentOf(object), contentOf(before))) return { uid, allowed: true };
  const { errors, warnings = [] } = findingsOf(check, object, options);
  const known = new Set(before === undefined ? [] : findingsOf(check, before, options).errors);
  const added = errors.filter((error) => !known.has(error));
  const shown = [...errors.filter((error) => known.has(error)), ...warnings].map(shortened);
  if (added.length === 0) return { uid, allowed: true, ...(shown.length > 0 && { warnings: shown }) };
  const { namespace, name = '' } = object.metadata;
  const subject = `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
  const message = `${subject} is not valid: ${added.join('; ')}`;
  return { uid, allowed: false, status: { code: 422, reason: 'Invalid', message } };
}

function findingsOf(check: AdmissionCheck, object: KubeObject, { view, failed }: ReviewOptions): AdmissionFindings {
  try {
    return checkAdmission(check, object, view);
  } catch (error) {
    failed?.(kindId(check.kind), reasonOf(error), keyOfObject(object));
    return { errors: [], warnings: [`nothing was checked: ${reasonOf(error)}`] };
  }
}

/** All that a user writes: some kinds have fields beside the spec. */
function contentOf({ metadata: _metadata, ...content }: KubeObject): object {
  const { status: _status, ...written } = content as { status?: unknown };
  return written;
}

/** The server cuts long warnings, and leaves all out when they are too many. */
const LONGEST_WARNING = 250;

function shortened(warning: string): string {
  return warning.length <= LONGEST_WARNING ? warning : `${warning.slice(0, LONGEST_WARNING - 1)}…`;
}

function objectOf(value: unknown): KubeObject | undefined {
  return isRecord(value) && isRecord(value['metadata']) && typeof value['kind'] === 'string'
    ? (value as unknown as KubeObject)
    : undefined;
}
