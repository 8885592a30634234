// How much there is on either side, kept up to date key by key: metrics and status read it without listing anything.
import { refOfKey } from '@capstan/kube/cluster';
import { SERVICE_LABEL } from '../../kinds/group.ts';
import type { Finding } from '../mirror/mirror.ts';
import type { Mirrored } from '../mirror/mirrors.ts';

export interface Tally {
  readonly namespace: string;
  /** As it is called on the remote side; as it is here once that no longer has it. */
  readonly name: string;
  /** Whether the remote side has it. */
  readonly isUpstream: boolean;
  readonly isInvalid: boolean;
  /** Whether its Service is here. */
  readonly isReplicated: boolean;
  readonly upstreamEndpoints: number;
  readonly replicatedEndpoints: number;
  readonly invalidEndpoints: number;
}

export interface Counts {
  readonly upstreamServices: number;
  readonly replicatedServices: number;
  readonly invalidServices: number;
  readonly upstreamEndpoints: number;
  readonly replicatedEndpoints: number;
  readonly invalidEndpoints: number;
}

export interface Census {
  take(key: string, finding: Finding, children: readonly Mirrored[]): void;
  readonly counts: Counts;
  tallies(): Iterable<Tally>;
}

export function createCensus(): Census {
  const tallies = new Map<string, Tally>();
  const counts = {
    upstreamServices: 0,
    replicatedServices: 0,
    invalidServices: 0,
    upstreamEndpoints: 0,
    replicatedEndpoints: 0,
    invalidEndpoints: 0,
  };

  function add(tally: Tally | undefined, sign: 1 | -1): void {
    if (tally === undefined) return;
    if (tally.isUpstream) counts.upstreamServices += sign;
    if (tally.isReplicated) counts.replicatedServices += sign;
    if (tally.isInvalid) counts.invalidServices += sign;
    counts.upstreamEndpoints += sign * tally.upstreamEndpoints;
    counts.replicatedEndpoints += sign * tally.replicatedEndpoints;
    counts.invalidEndpoints += sign * tally.invalidEndpoints;
  }

  return {
    take(key, finding, children) {
      add(tallies.get(key), -1);
      let replicatedEndpoints = 0;
      let isReplicated = false;
      for (const { kind, detail } of children) {
        if (kind === 'Service') isReplicated = true;
        else if (kind === 'EndpointSlice') replicatedEndpoints += detail.addresses;
      }
      const isUpstream = finding.state !== 'absent';
      if (!isUpstream && !isReplicated && replicatedEndpoints === 0) {
        tallies.delete(key);
        return;
      }
      const { namespace = '', name } = refOfKey(key);
      const tally: Tally = {
        namespace,
        name: remoteName(finding) ?? name,
        isUpstream,
        isReplicated,
        isInvalid: finding.state === 'invalid',
        upstreamEndpoints: finding.state === 'absent' ? 0 : finding.upstreamEndpoints,
        replicatedEndpoints,
        invalidEndpoints: finding.state === 'present' ? finding.invalidEndpoints : 0,
      };
      tallies.set(key, tally);
      add(tally, 1);
    },
    get counts() {
      return { ...counts };
    },
    tallies: () => tallies.values(),
  };
}

function remoteName(finding: Finding): string | undefined {
  return finding.state === 'present' ? finding.mirror.service.metadata.labels?.[SERVICE_LABEL] : undefined;
}
