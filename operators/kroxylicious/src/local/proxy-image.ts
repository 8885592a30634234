// Runs the proxy's image on the local node: the real proxy as a process, if `npm run setup:real -- kroxylicious` has installed it.
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { KnownImage } from '@capstan/node';

/** The proxy that setup:real installed. */
export interface RealProxy {
  readonly version: string;
  /** The main class, which is started with `--config FILE`. */
  readonly main: string;
}

/** Returns the proxy in the folder of setup:real, or undefined if setup:real was not run or its Java is gone. */
export function realProxyIn(folder: string): RealProxy | undefined {
  const description = join(folder, 'proxy.json');
  if (!existsSync(description) || !existsSync(javaIn(folder))) return undefined;
  // setup:real writes this file last, so the other files exist.
  return JSON.parse(readFileSync(description, 'utf8')) as RealProxy;
}

/** Returns the images of the proxy that the local node can run. Without an installed proxy there are none, and its pods are simulated. */
export function localProxyImages(folder: string): readonly KnownImage[] {
  const proxy = realProxyIn(folder);
  if (proxy === undefined) return [];
  const entrypoint = [
    javaIn(folder),
    ...FRUGAL,
    // The proxy listens on all addresses. On the local node it must listen on the pod's address only
    // (apps/capstan/src/setup/java/PodAddress.java).
    '-Dio.netty.bootstrap.extensions=serviceload',
    '-Dcapstan.pod.address=$(POD_IP)',
    '-cp',
    [join(folder, 'classes'), join(folder, 'proxy', '*')].join(delimiter),
    proxy.main,
  ];
  return IMAGES.map((match) => ({
    match,
    entrypoint,
    // The configuration contains paths of mounted files.
    substituteInFiles: true,
    // Resolve only the addresses of Kafka. Host names of gateways are matched against the TLS server name and must stay names.
    resolveServices: /^\s*bootstrapServers:/,
  }));
}

const IMAGES = ['quay.io/kroxylicious/proxy', 'quay.io/kroxylicious/kroxylicious'];

/** Saves memory and processor time, since a developer's machine runs everything else too. */
const FRUGAL = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx256m', '-XX:-UsePerfData'];

function javaIn(folder: string): string {
  return join(folder, 'java', 'bin', 'java');
}
