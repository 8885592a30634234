import { type Kind, type KubeObject, kindId } from '@capstan/kube/cluster';
import { AuthorErrors, guarded } from './guard.ts';

/**
 * An operator's check of an object before it is stored, beyond the rules of its definition: the same validation that its reconcilers use,
 * run by the admission webhook (`capstan install --admission`). Pure. An object is refused for its errors. A problem that another object
 * may correct later (a reference, for example) is a warning, or nothing: the status reports it.
 */
export interface AdmissionCheck<T extends KubeObject = KubeObject> {
  readonly kind: Kind<T>;
  /** Kinds whose objects it reads beside the one in question; the webhook caches them. None by default. */
  readonly reads?: readonly Kind[];
  check(object: T, others: AdmissionView): AdmissionFindings;
}

export interface AdmissionFindings {
  /** As in `spec.routes[0]: …; REMEDY`. */
  readonly errors: readonly string[];
  readonly warnings?: readonly string[];
}

export interface AdmissionView {
  /** Every object of a kind that the check reads, as far as it is known; the one in question as it was before. */
  list<T extends KubeObject>(kind: Kind<T>): readonly T[];
}

export function admissionCheck<T extends KubeObject>(check: AdmissionCheck<T>): AdmissionCheck {
  return check;
}

/** Returns the findings of a check. Throws an error that names the check if it throws, or returns something else than findings. */
export function checkAdmission(
  check: AdmissionCheck,
  object: KubeObject,
  view: AdmissionView,
): Required<AdmissionFindings> {
  const what = `the admission check of ${kindId(check.kind)}`;
  const { errors, warnings = [] } = guarded(what, () => check.check(object, view) ?? {});
  if (!isTexts(errors) || !isTexts(warnings))
    throw AuthorErrors.NotOfType(what, '{ errors, warnings }, two lists of texts', 'something else');
  return { errors, warnings };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}
