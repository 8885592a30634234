import type { Bench } from './bench.ts';
import { changesUnderLoad } from './xds/changes-under-load.ts';
import { clients } from './xds/clients.ts';
import { gateway } from './xds/gateway.ts';
import { growth } from './xds/growth.ts';
import { served } from './xds/served.ts';
import { statuses } from './xds/statuses.ts';

const SIZES = [100, 1_000, 10_000];

/** Ingress: from an edit to Envoy's new configuration. */
export const xds: Bench = {
  name: 'xds',
  summary:
    'sesame serve with 100, 1,000 and 10,000 HTTPProxies: start, edits, memory and statuses; changes under load; --peer beside Contour',
  parts: [
    ...SIZES.flatMap((size) => [
      served(`ads-${size}`, 'delta ADS', { size }),
      served(`streams-${size}`, 'a stream a name', { size }),
    ]),
    clients('clients-1000', 1_000),
    clients('clients-10000', 10_000),
    gateway('gateway-100', 100),
    gateway('gateway-1000', 1_000),
    served('real-1000', 'delta ADS', { size: 1_000, isReal: true }),
    statuses('statuses-1000', 1_000, 5, { size: 100 }),
    statuses('statuses-10000', 10_000, 20, { size: 100 }),
    growth('growth', false),
    changesUnderLoad,
  ],
  peerParts: [
    growth('growth', true),
    ...SIZES.flatMap((size) => [
      served(`ads-${size}`, 'delta ADS', { size, isBesideContour: true }),
      served(`streams-${size}`, 'a stream a name', { size, isBesideContour: true }),
    ]),
    statuses('statuses-1000', 1_000, 5, { size: 100, isBesideContour: true }),
  ],
};
