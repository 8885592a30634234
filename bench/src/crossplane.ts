import type { Bench } from './bench.ts';
import { fleet } from './crossplane/fleet.ts';
import { largeImage } from './crossplane/large-image.ts';

/** Packages: two hundred of them from a warm cache, an edit that concerns all, and a large image. */
export const crossplane: Bench = {
  name: 'crossplane',
  summary: 'two hundred Providers with their runtimes, an edit of the default runtime config, a 200 MB image',
  parts: [fleet, largeImage],
};
