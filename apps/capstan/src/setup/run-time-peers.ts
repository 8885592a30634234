import { realCables } from './cables.ts';
import { realEnvoy } from './envoy.ts';
import { realKroxylicious } from './kroxylicious.ts';
import type { Peers } from './set-up.ts';

/** The peers that `capstan up` runs where they are there. */
export const RUN_TIME_PEERS: Peers = { envoy: realEnvoy, kroxylicious: realKroxylicious, cables: realCables };
