// Images on the local node: the real Envoy, and the backend of the Gateway API's conformance suite, as processes where
// `npm run setup:real` has brought them.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { KnownImage } from '@capstan/node';

/** How the local node runs images of Envoy; none where Envoy is not installed: its pods are simulated then. */
export function localEnvoyImages(folder: string): readonly KnownImage[] {
  const envoy = join(folder, 'envoy');
  if (!existsSync(envoy)) return [];
  return [
    {
      match: 'envoyproxy/envoy',
      entrypoint: [...PIPED, envoy],
      programs: { envoy: [...PIPED, envoy] },
      // Envoys of one machine would share their memory by the base id, and each would start a thread per core. The bootstrap of `sesame
      // bootstrap` makes the listeners bind the pod's address.
      extraArgs: ['--disable-hot-restart', '--concurrency', '2'],
    },
  ];
}

/** The backend that the Gateway API's conformance suite sends requests to. */
export function localBackendImages(folder: string): readonly KnownImage[] {
  const backend = join(folder, 'echo-basic');
  return existsSync(backend) ? [{ match: 'registry.k8s.io/gateway-api/echo-basic', entrypoint: [backend] }] : [];
}

/**
 * Access logs go to /dev/stdout, which Envoy opens by its path. The output of a child of Node is a socket, and a socket cannot be
 * opened: a named pipe can. The reader ends with Envoy, not with the signals that end it.
 */
const PIPED = [
  '/bin/sh',
  '-c',
  'd=$(mktemp -d) && mkfifo "$d/out" || exit 1; (trap "" TERM INT; exec cat "$d/out") & exec 3>"$d/out"; rm -r "$d"; exec "$@" >&3 3>&-',
  'envoy',
];
