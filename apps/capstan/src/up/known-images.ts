import { homedir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { localProxyImages } from '@capstan/kroxylicious/local';
import type { KnownImage } from '@capstan/node';
import { localBackendImages, localEnvoyImages } from '@capstan/sesame/local';

/**
 * The images that the local node runs as processes: Capstan itself, and the programs of `npm run setup:real` on this machine. Other
 * programs are added here.
 */
export function knownImages(
  env: Readonly<Record<string, string | undefined>>,
  cables: Readonly<Record<string, string>> = SIMULATED_CABLES,
): readonly KnownImage[] {
  const program = (file: URL, flags: readonly string[] = []) => [
    execPath,
    ...flags,
    '--disable-warning=ExperimentalWarning',
    fileURLToPath(file),
  ];
  const capstan = program(new URL('../main.ts', import.meta.url));
  const gimbal = program(new URL('../programs/gimbal.mjs', import.meta.url));
  const submariner = program(new URL('../programs/submariner.ts', import.meta.url), SMALL);
  const sesame = program(new URL('../programs/sesame.mjs', import.meta.url), SMALL_YOUNG);
  const kroxylicious = program(new URL('../programs/kroxylicious.ts', import.meta.url));
  const real = env['CAPSTAN_REAL'] ?? join(env['HOME'] ?? homedir(), '.cache', 'capstan', 'real');
  return [
    // The second has the programs of cables besides, which are this machine's here.
    ...['capstan', 'capstan-gateway'].map((match) => ({
      match,
      entrypoint: capstan,
      programs: { capstan, gimbal, kroxylicious, sesame, submariner },
      // The addresses that Sesame and its Envoys bind are in their configuration, and not in their arguments.
      env: {
        ...cables,
        CAPSTAN_REAL: real,
        CAPSTAN_BIND_ADDRESS: '$(POD_IP)',
        SESAME_BIND_ADDRESS: '$(POD_IP)',
        ...SMALL_MALLOC,
      },
      kubeconfig: true,
      // Every pod has an address of its own here, and no interface of its own.
      substitute: [{ from: '0.0.0.0', to: '$(POD_IP)' }],
    })),
    ...localProxyImages(join(real, 'kroxylicious')),
    ...localEnvoyImages(join(real, 'envoy')),
    ...localBackendImages(join(real, 'gateway-conformance')),
  ];
}

/** A gateway runs for every cluster and waits most of the time: memory is worth more than speed. */
const SMALL = ['--optimize-for-size', '--semi-space-growth-factor=1', '--no-wasm-tier-up', '--no-wasm-dynamic-tiering'];

/** The caches of a control plane are most of its heap and stay there, so much room for new objects would be unused. */
const SMALL_YOUNG = ['--max-semi-space-size=8'];

/**
 * Memory outside of the heap: glibc gives each thread of Node.js an area of its own, and free memory in one is of no use to others. After
 * one large buffer has been released, it also keeps all later ones.
 */
const SMALL_MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' };

/** Gateways leave the network of this machine alone: their cables are simulated, and marked as such. */
const SIMULATED_CABLES = { SUBMARINER_CABLES: 'simulated' };
