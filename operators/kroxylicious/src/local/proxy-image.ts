// The proxy's image on the local node: the real proxy as a process, where `npm run setup:real -- kroxylicious` has brought it.
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { KnownImage } from '@capstan/node';

/** What setup:real fetched. */
export interface RealProxy {
  readonly version: string;
  /** The class that is started with `--config FILE`. */
  readonly main: string;
}

/** What lies in the folder of setup:real, or undefined where it has not been run, or its Java is gone. */
export function realProxyIn(folder: string): RealProxy | undefined {
  const description = join(folder, 'proxy.json');
  if (!existsSync(description) || !existsSync(javaIn(folder))) return undefined;
  // Written by setup:real as the last thing.
  return JSON.parse(readFileSync(description, 'utf8')) as RealProxy;
}

/** How the local node runs images of the proxy; none where there is no proxy: its pods are simulated then. */
export function localProxyImages(folder: string): readonly KnownImage[] {
  const proxy = realProxyIn(folder);
  if (proxy === undefined) return [];
  const entrypoint = [
    javaIn(folder),
    ...FRUGAL,
    // The proxy listens on every address; on the local node that is the pod's (apps/capstan/src/setup/java/PodAddress.java).
    '-Dio.netty.bootstrap.extensions=serviceload',
    '-Dcapstan.pod.address=$(POD_IP)',
    '-cp',
    [join(folder, 'classes'), join(folder, 'proxy', '*')].join(delimiter),
    proxy.main,
  ];
  return IMAGES.map((match) => ({
    match,
    entrypoint,
    // The configuration is full of paths of mounted files.
    substituteInFiles: true,
    // Names of gateways are what clients ask for in TLS; only the way to Kafka itself needs an address.
    resolveServices: /^\s*bootstrapServers:/,
  }));
}

const IMAGES = ['quay.io/kroxylicious/proxy', 'quay.io/kroxylicious/kroxylicious'];

/** A proxy for one developer shares the machine with everything else. */
const FRUGAL = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx256m', '-XX:-UsePerfData'];

function javaIn(folder: string): string {
  return join(folder, 'java', 'bin', 'java');
}
