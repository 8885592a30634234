// Whether a revision's objects are installed and served.
import { type CustomResourceDefinition, findCondition, type KubeObject } from '@capstan/kube';
import { ADOPTED_ANNOTATION, type Reader } from '@capstan/reconcile';
import type { Payload } from '../establish/payload.ts';
import type { Health } from './conditions.ts';

export interface InstalledObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid?: string;
}

export interface PayloadHealth extends Health {
  /** Sorted as upstream does, the last name first. */
  readonly objectRefs: readonly InstalledObject[];
  /** There is no problem: the package is being installed, or waits for objects that are being created. */
  readonly isUnderWay?: boolean;
}

/** Reads every object: it is installed when this revision controls it. */
export function payloadHealth(read: Reader, payload: Payload, revisionUid: string): PayloadHealth {
  const refs: InstalledObject[] = [];
  const unready: string[] = [];
  let isUnderWay = true;
  for (const { kind, object } of payload.objects) {
    const name = object.metadata.name ?? '';
    const found = read.get(kind, { name }, stateOf);
    // A type that was there before the package has no controller.
    const isOurs = found?.controller === revisionUid || found?.isAdopted === true;
    refs.push({
      apiVersion: object.apiVersion,
      kind: object.kind,
      name,
      ...(isOurs && found.uid !== undefined ? { uid: found.uid } : {}),
    });
    if (!isOurs) unready.push(`${kind.kind} ${name} is not installed yet`);
    else if (found.problem !== undefined) {
      unready.push(`${kind.kind} ${name}: ${found.problem}`);
      if (found.problem !== NOT_SERVED) isUnderWay = false;
    }
  }
  const objectRefs = refs.toSorted((left, right) => (idOf(left) < idOf(right) ? 1 : -1));
  const [first] = unready;
  if (first !== undefined) {
    const more = unready.length > 1 ? ` (and ${unready.length - 1} more)` : '';
    return { status: 'False', message: `${first}${more}`, objectRefs, isUnderWay };
  }
  if (payload.waiting !== undefined) return { status: 'False', message: payload.waiting, objectRefs, isUnderWay: true };
  return { status: 'True', message: '', objectRefs };
}

function idOf({ apiVersion, kind, name }: InstalledObject): string {
  return `${apiVersion}, Kind=${kind}/${name}`;
}

const NOT_SERVED = 'it is not served yet';

const stateOf = (object: KubeObject) => ({
  uid: object.metadata.uid,
  isAdopted: object.metadata.annotations?.[ADOPTED_ANNOTATION] !== undefined,
  controller: object.metadata.ownerReferences?.find(({ controller }) => controller)?.uid,
  problem: object.kind === 'CustomResourceDefinition' ? crdProblem(object as CustomResourceDefinition) : undefined,
});

function crdProblem({ status }: CustomResourceDefinition): string | undefined {
  const conditions = status?.conditions;
  const refused = conditions?.find(({ type, status: is }) => type === 'NamesAccepted' && is === 'False');
  if (refused !== undefined) return `its names are not accepted: ${refused.message ?? ''}`;
  const established = findCondition(conditions as never, 'Established');
  return established?.status === 'True' ? undefined : NOT_SERVED;
}
