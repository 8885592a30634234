// From an object to the cause of its last change: its own cause annotation, or that of its owner (a Pod is changed through its ReplicaSet,
// that through its Deployment).
import { type Client, type Discovery, type Kind, type KubeObject, keyOfObject } from '@capstan/kube';
import {
  CAUSE_ANNOTATION,
  type CauseRecord,
  OWNER_ANNOTATION,
  parseCause,
  ROLLED_ANNOTATION,
  TEMPLATE_HISTORY_ANNOTATION,
} from '@capstan/reconcile';

export interface Answer {
  /** `Kind namespace/name` of the object that was asked for. */
  readonly object: string;
  /** From it upwards, as far as it took to find a cause. */
  readonly belongsTo: readonly string[];
  /** The cause of the last change; undefined when Capstan left no annotation on any of them. */
  readonly cause: CauseRecord | undefined;
  /** The cause of the last rollout of its pods, if that was an earlier change. */
  readonly rolled: CauseRecord | undefined;
  /** Digests of its pod template before and after it was last rolled. */
  readonly template: { readonly from: string; readonly to: string } | undefined;
  /** `operator.reconciler Kind.group namespace/name`, where Capstan made it. */
  readonly owner: string | undefined;
  /** Who else writes its fields, and when last. */
  readonly managers: readonly { readonly name: string; readonly at: string | undefined }[];
}

/** More owners than any chain has. */
const MAX_OWNERS = 5;

export async function findCause(client: Client, discovery: Discovery, asked: KubeObject): Promise<Answer> {
  const belongsTo: string[] = [];
  let object = asked;
  for (let steps = 0; steps < MAX_OWNERS && causeOf(object) === undefined; steps++) {
    const owner = await ownerOf(client, discovery, object);
    if (owner === undefined) break;
    belongsTo.push(nameOf(owner));
    object = owner;
  }
  const cause = causeOf(object);
  // Without a cause the object itself is the answer, not whatever stands at the top.
  const subject = cause === undefined ? asked : object;
  return {
    object: nameOf(asked),
    belongsTo,
    cause,
    rolled: parseCause(subject.metadata.annotations?.[ROLLED_ANNOTATION]),
    template: templateOf(subject),
    owner: subject.metadata.annotations?.[OWNER_ANNOTATION],
    managers: managersOf(subject),
  };
}

export function nameOf(object: KubeObject): string {
  return `${object.kind} ${keyOfObject(object)}`;
}

function causeOf(object: KubeObject): CauseRecord | undefined {
  return parseCause(object.metadata.annotations?.[CAUSE_ANNOTATION]);
}

/** From the digests of templates that are kept on the object, newest first. */
function templateOf({ metadata }: KubeObject): Answer['template'] {
  const [to, from] = (metadata.annotations?.[TEMPLATE_HISTORY_ANNOTATION] ?? '').split(' ');
  return to && from ? { from, to } : undefined;
}

async function ownerOf(client: Client, discovery: Discovery, object: KubeObject): Promise<KubeObject | undefined> {
  const { ownerReferences = [], namespace } = object.metadata;
  const reference = ownerReferences.find(({ controller }) => controller) ?? ownerReferences[0];
  if (reference === undefined) return undefined;
  const kind: Kind | undefined = discovery.kindOf(reference.apiVersion, reference.kind);
  if (kind === undefined) return undefined;
  const isNamespaced = kind.scope === 'Namespaced' && namespace !== undefined;
  return client.find(kind, { name: reference.name, ...(isNamespaced && { namespace }) });
}

function managersOf(object: KubeObject): Answer['managers'] {
  const latest = new Map<string, string | undefined>();
  for (const { manager, time } of object.metadata.managedFields ?? []) {
    if (manager === undefined) continue;
    const known = latest.get(manager);
    latest.set(manager, known === undefined || (time !== undefined && time > known) ? time : known);
  }
  return [...latest].map(([name, at]) => ({ name, at }));
}
