// Every bench by its name; a new one is a file beside this one and a line here.
import { apiserver } from './apiserver.ts';
import type { Bench } from './bench.ts';
import { cables } from './cables.ts';
import { consoleBench } from './console.ts';
import { crossplane } from './crossplane.ts';
import { fleet } from './fleet.ts';
import { gimbal } from './gimbal.ts';
import { install } from './install.ts';
import { kroxylicious } from './kroxylicious.ts';
import { replay } from './replay.ts';
import { runtime } from './runtime.ts';
import { sesameConfig } from './sesame-config.ts';
import { submariner } from './submariner.ts';
import { xds } from './xds.ts';

export const benches: readonly Bench[] = [
  runtime,
  replay,
  apiserver,
  kroxylicious,
  gimbal,
  crossplane,
  submariner,
  cables,
  sesameConfig,
  xds,
  install,
  fleet,
  consoleBench,
];
