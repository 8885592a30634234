import {
  array,
  boolean,
  defineKind,
  enumOf,
  type KindOf,
  map,
  object,
  optional,
  string,
  type TypeOf,
} from '@capstan/kube';
import { endpointSpec } from './endpoint.ts';
import { COMMON } from './group.ts';

export const CONNECTION_STATES = ['connected', 'connecting', 'error', 'none', 'conflict'] as const;
export type ConnectionState = (typeof CONNECTION_STATES)[number];

/** The fields of a connection, as a gateway reports it. */
export const CONNECTION_FIELDS = {
  status: enumOf(CONNECTION_STATES),
  statusMessage: string({ optional: true }),
  endpoint: endpointSpec(),
  usingIP: string({ optional: true }),
  usingNAT: boolean({ optional: true }),
  usingPolicy: string({
    optional: true,
    description: 'The policy that chose the driver, with the index of its rule.',
  }),
  usingCableDriver: string({ optional: true }),
  protected: boolean({
    optional: true,
    description: 'Packets to its subnets are rejected on the gateway while no encrypted cable carries them.',
  }),
  latencyRTT: object(
    {
      last: string({ optional: true }),
      min: string({ optional: true }),
      average: string({ optional: true }),
      max: string({ optional: true }),
      stdDev: string({ optional: true }),
    },
    {
      optional: true,
      description: 'Go durations; they move by buckets, so that a quiet cable is not a write a second.',
    },
  ),
};

/** The status of a gateway, which a Submariner's status repeats. */
export const gatewayStatus = () =>
  object({
    version: string({ optional: true }),
    haStatus: enumOf(['active', 'passive'], { optional: true }),
    localEndpoint: optional(endpointSpec()),
    statusFailure: string({ optional: true }),
    brokerFailure: string({ optional: true, description: 'Why the broker cannot be used; part of statusFailure too.' }),
    backends: array(
      object({
        name: string(),
        available: boolean(),
        message: string({ optional: true }),
        config: map(string(), { optional: true }),
      }),
      { optional: true, description: 'The drivers of this gateway, and why one is not available.' },
    ),
    connections: array(object(CONNECTION_FIELDS), { optional: true }),
    simulated: boolean({ optional: true, description: 'No packet passes: the cables of this gateway are simulated.' }),
  });

export const Gateway = defineKind({
  ...COMMON,
  version: 'v1',
  kind: 'Gateway',
  description: 'A gateway node: whether it is active, and the state of its connections.',
  schema: object({ status: optional(gatewayStatus()) }),
  // Written as a whole by the gateway itself, as upstream does.
  subresources: { status: false },
  printerColumns: [
    { name: 'HA Status', jsonPath: '.status.haStatus' },
    { name: 'Failure', jsonPath: '.status.statusFailure', priority: 1 },
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type Gateway = KindOf<typeof Gateway>;
export type GatewayStatus = TypeOf<ReturnType<typeof gatewayStatus>>;
export type Connection = NonNullable<GatewayStatus['connections']>[number];
