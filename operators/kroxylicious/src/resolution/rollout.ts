// The progress of a Deployment towards its latest template.
import { type Deployment, rolloutProgress as progressOf } from '@capstan/kube';
import {
  aside,
  type CauseChange,
  type EventInput,
  parseCause,
  type TemplateOrigin,
  templateOrigin,
} from '@capstan/reconcile';
import { reportedHash } from '../hash/combine-hashes.ts';
import { CHECKSUM_ANNOTATION, CLUSTERS_ANNOTATION, TEMPLATE_ANNOTATION } from '../kinds/labels.ts';

/** A condition of a VirtualKafkaCluster that exists only while a change of its pods waits. */
export const ROLLOUT_HELD = 'RolloutHeld';

export interface Rollout {
  /** The name of the Deployment. */
  readonly name: string;
  /** The hash on the pod template. */
  readonly hash: string | undefined;
  /** The id of the pod template that we wrote. */
  readonly template: string | undefined;
  readonly wanted: number;
  readonly updated: number;
  readonly available: number;
  readonly ready: number;
  /** All pods have the present template and are available. */
  readonly isComplete: boolean;
  /** A user rolled it back. It stays so until the inputs change. */
  readonly isHeld: boolean;
  /** The configurations of virtual clusters that it runs, in the format of running-clusters.ts. */
  readonly clusters: string;
  /** Paused by `kubectl rollout pause`. */
  readonly isPaused: boolean;
  /** The reason why pods do not start: the Deployment is paused, or its conditions report a failure. */
  readonly failure: string | undefined;
  /** The origin of the pod template: the writer and the cause. */
  readonly origin: TemplateOrigin;
}

export const rolloutOf = aside((deployment: Deployment): Rollout => {
  const { metadata, spec } = deployment;
  const origin = templateOrigin(deployment);
  const { wanted, updated, available, ready, isComplete, isPaused, problem } = progressOf(deployment);
  return {
    name: metadata.name ?? '',
    hash: spec?.template.metadata?.annotations?.[CHECKSUM_ANNOTATION],
    template: metadata.annotations?.[TEMPLATE_ANNOTATION],
    wanted,
    updated,
    available,
    ready,
    isComplete,
    isHeld: origin.is === 'restored',
    clusters: metadata.annotations?.[CLUSTERS_ANNOTATION] ?? '',
    isPaused,
    failure: isPaused
      ? `a user paused it; "kubectl rollout resume deployment/${metadata.name}" lets it go on`
      : problem?.message,
    origin,
  };
});

/** The last rollout: its hashes and its cause. It is remembered, because later writes have other causes. */
export interface Rolled {
  configHash: string;
  /** The id of the pod template. Absent if an earlier release wrote this. */
  template?: string;
  from?: string;
  reason?: string;
}

/**
 * Returns the rollout to remember. A rollout is reported when the pods have another hash, or other pods have the same hash. A template that
 * another client wrote is not a rollout until it is decided that it stays.
 */
export function rolledTo({ hash, template, origin }: Rollout, known: Rolled | undefined): Rolled | undefined {
  if (hash === undefined) return known;
  const now = { configHash: hash, ...(template === undefined ? {} : { template }) };
  // The first template starts pods and is not a rollout. A later one was applied by a process that ended before it could remember a
  // rollout.
  if (known === undefined) return origin.applied > 1 ? { ...now, reason: reasonOf(origin) } : now;
  const isSameTemplate = template === undefined || known.template === undefined || known.template === template;
  if (known.configHash === hash && isSameTemplate)
    return known.template === undefined && template !== undefined ? { ...known, template } : known;
  if (origin.is === 'unclear') return known;
  return { ...now, from: known.configHash, reason: reasonOf(origin) };
}

function reasonOf({ is, cause }: TemplateOrigin): string {
  if (is === 'restored') return 'a user rolled the Deployment back';
  return (
    causeText(cause) ??
    'the inputs that changed are not known: there are too many to keep, or an earlier release wrote them'
  );
}

/** Returns `status.rollout`, which changes while pods start and stop. */
export function rolloutProgress(rollout: Rollout | undefined, rolled: Rolled | undefined): { rollout?: object } {
  if (rollout === undefined || rolled === undefined) return {};
  const { updated, available, wanted } = rollout;
  const { template: _template, ...reported } = rolled;
  return { rollout: { ...reported, updated, available, wanted } };
}

/** Returns one event for each rollout. Later changes with the same configuration (scaling, a lost node) are not rollouts. */
export function rolloutEvents(
  { name, origin }: Rollout,
  rolled: Rolled | undefined,
  known: Rolled | undefined,
): EventInput[] {
  if (rolled?.reason === undefined || rolled === known) return [];
  const { from, configHash, template = '', reason } = rolled;
  const isSame = known?.configHash === configHash;
  // The hash is the same, and an earlier release did not remember the template: only the memory is completed.
  if (isSame && known.template === undefined) return [];
  const note = isSame
    ? `deployment/${name} gets other pods with the same configuration ${reportedHash(configHash)}: ${reason}`
    : `deployment/${name} goes ${from === undefined ? '' : `from ${reportedHash(from)} `}to ${reportedHash(configHash)}: ${reason}`;
  // A process that ended before it remembered the rollout may have reported it. The same id prevents a second event.
  const write = origin.is === 'restored' ? `${known?.template} ${origin.revision}` : parseCause(origin.cause)?.at;
  return [{ reason: 'RolloutStarted', note, id: `${origin.is} ${configHash} ${template} ${write}` }];
}

/** Returns the cause of a write in one line: `Secret edge/upstream-ca (data.ca.crt) → KafkaService edge/upstream → …`. */
export function causeText(annotation: string | undefined): string | undefined {
  const { changes = [], more = 0 } = parseCause(annotation) ?? {};
  if (changes.length === 0) return undefined;
  const reported = changes.slice(0, MAX_REPORTED).map(changeText);
  const others = changes.length - reported.length + more;
  return reported.join('; ') + (others > 0 ? `; and ${others} more` : '');
}

const MAX_REPORTED = 3;

function changeText({ object, paths, from, to, via }: CauseChange): string {
  const how =
    from === 'absent'
      ? ' was created'
      : from === 'unknown'
        ? ' became known'
        : to === 'absent'
          ? ' was removed'
          : paths.length === 0
            ? ' changed'
            : ` (${paths.join(', ')}) changed`;
  const changed = object.replace(/\.[a-z.]+ /, ' ');
  const way = via.flatMap((step) => {
    const [, kind, key] = STEP.exec(step) ?? [];
    return kind === undefined || `${kind} ${key}` === changed ? [] : [`${kind} ${key}`];
  });
  return [`${changed}${how}`, ...way].join(' → ');
}

/** Matches a node of the tree in the path of a cause. */
const STEP = /^(VirtualKafkaCluster|KafkaService|KafkaProtocolFilter|KafkaProxyIngress)\((.*)\)$/;
