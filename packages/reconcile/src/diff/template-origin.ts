// Evidence about the pod template of a child. An undo is recognised by it, and not by a template that differs from the plan:
// that may be our own last one, which a process wrote that ended right afterwards.
import type { KubeObject } from '@capstan/kube/cluster';
import { FIELD_MANAGER_PREFIX } from '../inventory.ts';
import { PREVIEWED_VERSION } from '../marks.ts';
import { heldFrom, lastRoll, templateHistory, templateMark, templateProbe } from './child-body.ts';
import { takenFields } from './ownership.ts';

export interface TemplateOrigin {
  /**
   * `applied`: we applied the template that is there. `restored`: another client brought back one of our earlier templates, and
   * the runtime has recorded that it holds it. `unclear`: another client wrote it, and it is not decided yet whether it is held.
   */
  readonly is: 'applied' | 'restored' | 'unclear';
  /** The cause of the write that brought the template, as JSON; of one that another client restored it is an earlier one. */
  readonly cause: string | undefined;
  /** The number of templates that we applied, as far as they are remembered. */
  readonly applied: number;
  /** The number that Kubernetes gave the template when it was rolled out; undefined before that. */
  readonly revision: string | undefined;
}

const REVISION_ANNOTATION = 'deployment.kubernetes.io/revision';

/** Returns how a child came by its pod template. */
export function templateOrigin(object: KubeObject): TemplateOrigin {
  return {
    is: heldFrom(object) !== undefined ? 'restored' : isApplied(object) ? 'applied' : 'unclear',
    cause: lastRoll(object),
    applied: templateHistory(object).length,
    revision: object.metadata.annotations?.[REVISION_ANNOTATION],
  };
}

/** Whether the server records that a field manager of ours set the mark of the template that is there. */
function isApplied(object: KubeObject): boolean {
  const { managedFields = [], resourceVersion } = object.metadata;
  const mark = templateMark(object);
  if (mark === undefined) return false;
  // A preview knows no fields of managers.
  if (resourceVersion === PREVIEWED_VERSION) return true;
  return managedFields.some(
    (entry) =>
      entry.manager?.startsWith(FIELD_MANAGER_PREFIX) === true &&
      entry.operation === 'Apply' &&
      takenFields(templateProbe(mark), entry).length === 0,
  );
}
