import type { Origin } from './origin.ts';

/** The endpoints of one port of a Service, or of all Services of an ExtensionService. */
export interface EndpointSet {
  /** Clusters name it. */
  readonly name: string;
  readonly groups: readonly EndpointGroup[];
  readonly origin: Origin;
}

export interface EndpointGroup {
  /** Tells the groups of one set apart; undefined: there is one. */
  readonly zone?: string;
  /** Requests are shared by the weights of the groups. */
  readonly weight: number;
  readonly endpoints: readonly Endpoint[];
}

export interface Endpoint {
  readonly address: string;
  readonly port: number;
}
