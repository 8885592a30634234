// How far a Deployment is with what was last asked of it.
import type { Deployment } from '@capstan/kube';
import { CAUSE_ANNOTATION, type CauseChange, parseCause } from '@capstan/reconcile';
import { CHECKSUM_ANNOTATION, CLUSTERS_ANNOTATION } from '../templates/labels.ts';

export interface Rollout {
  /** The hash that the pod template carries. */
  readonly hash: string | undefined;
  readonly wanted: number;
  readonly updated: number;
  readonly available: number;
  readonly ready: number;
  /** All pods are of the present template and available. */
  readonly isComplete: boolean;
  /** Which configurations of which virtual clusters it runs; see running-clusters.ts. */
  readonly clusters: string;
  /** What the last write was made for. */
  readonly cause: string | undefined;
}

export const rolloutOf = ({ metadata, spec, status }: Deployment): Rollout => {
  const wanted = spec?.replicas ?? 1;
  const {
    updatedReplicas: updated = 0,
    availableReplicas: available = 0,
    readyReplicas: ready = 0,
    replicas = 0,
  } = status ?? {};
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return {
    hash: spec?.template.metadata?.annotations?.[CHECKSUM_ANNOTATION],
    wanted,
    updated,
    available,
    ready,
    isComplete: isSeen && updated === wanted && available === wanted && replicas === wanted,
    clusters: metadata.annotations?.[CLUSTERS_ANNOTATION] ?? '',
    cause: metadata.annotations?.[CAUSE_ANNOTATION],
  };
};

/** The cause of a write in one line: `Secret edge/upstream-ca (data.ca.crt) → KafkaService edge/upstream → …`. */
export function causeText(annotation: string | undefined): string | undefined {
  const { changes = [], more = 0 } = parseCause(annotation) ?? {};
  if (changes.length === 0) return undefined;
  const told = changes.slice(0, MAX_TOLD).map(changeText);
  const others = changes.length - told.length + more;
  return told.join('; ') + (others > 0 ? `; and ${others} more` : '');
}

const MAX_TOLD = 3;

function changeText({ object, paths, from, to, via }: CauseChange): string {
  const how =
    from === 'absent'
      ? ' was made'
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
