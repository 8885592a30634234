// The desired mirror of one remote service in this cluster: the vocabulary between the sources, which know the remote side, and the
// synchroniser, which knows this cluster.
import type { EndpointSlice, Endpoints, Service } from '@capstan/kube/cluster';
import type { Problem } from './problem.ts';

/** A service as it should be here. */
export interface Mirror {
  readonly service: Service;
  /** In the order of their names; each has at most 1000 endpoints. */
  readonly slices: readonly EndpointSlice[];
  /** Only where Endpoints are asked for. */
  readonly endpoints?: Endpoints;
}

/** The finding of a source about one key, `namespace/name` of the Service here. */
export type Finding =
  /** The remote side has nothing that would be called so: whatever of ours is here goes. */
  | { readonly state: 'absent' }
  /** It cannot be brought here. */
  | {
      readonly state: 'invalid';
      /** Keep the existing objects: an edit that cannot be understood destroys nothing. */
      readonly keep: boolean;
      readonly upstreamEndpoints: number;
      readonly problems: readonly Problem[];
    }
  | {
      readonly state: 'present';
      readonly mirror: Mirror;
      /** Addresses there, those that cannot be used included. */
      readonly upstreamEndpoints: number;
      readonly invalidEndpoints: number;
      /** About parts that were left out; the rest is brought here. */
      readonly problems: readonly Problem[];
    };

export const ABSENT: Finding = { state: 'absent' };
