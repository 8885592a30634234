// How far a Deployment is with what was last asked of it.
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

/** Condition of a VirtualKafkaCluster, there only while a change of what runs for it waits. */
export const ROLLOUT_HELD = 'RolloutHeld';

export interface Rollout {
  /** Of the Deployment. */
  readonly name: string;
  /** The hash that the pod template carries. */
  readonly hash: string | undefined;
  /** The id of the pod template, as we wrote it. */
  readonly template: string | undefined;
  readonly wanted: number;
  readonly updated: number;
  readonly available: number;
  readonly ready: number;
  /** All pods are of the present template and available. */
  readonly isComplete: boolean;
  /** A user rolled it back, and it is left so until the inputs change. */
  readonly isHeld: boolean;
  /** Which configurations of which virtual clusters it runs; see running-clusters.ts. */
  readonly clusters: string;
  /** By `kubectl rollout pause`. */
  readonly isPaused: boolean;
  /** Why pods do not come: it is paused, or what the Deployment's own conditions tell. */
  readonly failure: string | undefined;
  /** How the Deployment came by its pod template, and why. */
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

/** What was last rolled to, from what, and why; remembered, because later writes have other causes. */
export interface Rolled {
  configHash: string;
  /** Of the pods; absent where an earlier release wrote it. */
  template?: string;
  from?: string;
  reason?: string;
}

/**
 * A rollout is reported when the pods have another hash, or are other pods with the same one. A template that another client
 * wrote is no rollout until it is decided that it stays.
 */
export function rolledTo({ hash, template, origin }: Rollout, known: Rolled | undefined): Rolled | undefined {
  if (hash === undefined) return known;
  const now = { configHash: hash, ...(template === undefined ? {} : { template }) };
  // The first template starts pods and rolls none. A later one was applied by a process that ended before it remembered any.
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

/** `status.rollout`, which moves while pods come and go. */
export function rolloutProgress(rollout: Rollout | undefined, rolled: Rolled | undefined): { rollout?: object } {
  if (rollout === undefined || rolled === undefined) return {};
  const { updated, available, wanted } = rollout;
  const { template: _template, ...reported } = rolled;
  return { rollout: { ...reported, updated, available, wanted } };
}

/** Once a rollout: what happens afterwards with the same configuration (scaling, a lost node) is no new one. */
export function rolloutEvents(
  { name, origin }: Rollout,
  rolled: Rolled | undefined,
  known: Rolled | undefined,
): EventInput[] {
  if (rolled?.reason === undefined || rolled === known) return [];
  const { from, configHash, template = '', reason } = rolled;
  const isSame = known?.configHash === configHash;
  // Only that it is known which pods these are.
  if (isSame && known.template === undefined) return [];
  const note = isSame
    ? `deployment/${name} gets other pods with the same configuration ${reportedHash(configHash)}: ${reason}`
    : `deployment/${name} goes ${from === undefined ? '' : `from ${reportedHash(from)} `}to ${reportedHash(configHash)}: ${reason}`;
  // A process that ended before it remembered the rollout has reported it perhaps.
  const write = origin.is === 'restored' ? `${known?.template} ${origin.revision}` : parseCause(origin.cause)?.at;
  return [{ reason: 'RolloutStarted', note, id: `${origin.is} ${configHash} ${template} ${write}` }];
}

/** The cause of a write in one line: `Secret edge/upstream-ca (data.ca.crt) → KafkaService edge/upstream → …`. */
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

/** The nodes of the tree, as paths of causes name them. */
const STEP = /^(VirtualKafkaCluster|KafkaService|KafkaProtocolFilter|KafkaProxyIngress)\((.*)\)$/;
