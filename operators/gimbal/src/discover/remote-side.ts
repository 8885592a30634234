// The remote side of a backend of any type: parts of an operator in a runtime, whose sink delivers the discovered services.
import type { Client } from '@capstan/kube/cluster';
import type { LabelledChildren } from '@capstan/reconcile/contract';
import type { Finding } from './mirror/mirror.ts';
import type { Problem } from './mirror/problem.ts';

/** `V` is the value that is delivered for one service. */
export interface RemoteSide<V> {
  /** The remote side currently confirms the picture. While it does not, nothing is written here, and the discovered objects stay. */
  readonly isLive: boolean;
  /** Why it is not live. */
  readonly failure: Problem | undefined;
  /** The identity, which must stay the same when credentials change; undefined where the remote side does not tell. */
  readonly identity: string | undefined;
  /** Problems that concern no single service (a project whose name is no namespace). */
  problems(): readonly Problem[];
  /** The key that a service has here: `namespace/name`. */
  unitOfKey(key: string): string;
  /** Returns a service as it should be here; several keys share a name where long names are cut. */
  find(unit: string, values: readonly (readonly [key: string, value: V])[]): Finding;
  /** Until the signal is aborted; settles when everything has stopped. */
  run(receiver: RemoteReceiver<V>, signal: AbortSignal): Promise<void>;
}

export interface RemoteReceiver<V> extends Pick<LabelledChildren<V>, 'open' | 'stateChanged' | 'confirmed'> {
  /** The client of this cluster. */
  readonly client: Client;
}
