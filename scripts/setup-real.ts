// Fetches real peers for tests and benchmarks into a cache folder outside the checkout, so that every clone shares them.
// Usage: npm run setup:real -- NAME…   npm run -s setup:real -- --list   npm run -s setup:real -- --where NAME
import { realCables } from './setup-real/cables.ts';
import { certManager } from './setup-real/cert-manager.ts';
import { clients } from './setup-real/clients.ts';
import { contour } from './setup-real/contour.ts';
import { controllerRuntime } from './setup-real/controller-runtime.ts';
import { crossplane } from './setup-real/crossplane.ts';
import { e2e } from './setup-real/e2e.ts';
import { realEnvoy } from './setup-real/envoy.ts';
import { gatewayConformance } from './setup-real/gateway-conformance.ts';
import { realHelm } from './setup-real/helm.ts';
import { realKroxylicious } from './setup-real/kroxylicious.ts';
import { realKubernetes } from './setup-real/kubernetes.ts';
import { realOpenstack } from './setup-real/openstack.ts';
import { bring, folderOf, isThere, isThereAndWhole, type Peer } from './setup-real/peer.ts';
import { realRegistry } from './setup-real/registry.ts';
import { realShells } from './setup-real/shells.ts';

/** One line a peer: another is added here, with a file of its own in setup-real/. */
const PEERS: Record<string, Peer> = {
  e2e,
  cables: realCables,
  'cert-manager': certManager,
  contour,
  'controller-runtime': controllerRuntime,
  crossplane,
  envoy: realEnvoy,
  'gateway-conformance': gatewayConformance,
  helm: realHelm,
  kroxylicious: realKroxylicious,
  kubernetes: realKubernetes,
  openstack: realOpenstack,
  peers: clients,
  registry: realRegistry,
  shells: realShells,
};

const args = process.argv.slice(2);
process.exit(args.includes('--list') ? list() : args[0] === '--where' ? where(args[1]) : await setUp(args));

function list(): number {
  for (const [name, peer] of Object.entries(PEERS)) {
    const state = isThere(name, peer) ? 'there' : 'not there';
    console.log(`${name.padEnd(20)} ${String(peer.size).padStart(5)} MB  ${state.padEnd(10)} ${peer.what}`);
  }
  return 0;
}

function where(name: string | undefined): number {
  const peer = name === undefined ? undefined : PEERS[name];
  if (name === undefined || peer === undefined) return unknown(name);
  if (!isThere(name, peer)) return 1;
  console.log(folderOf(name, peer));
  return 0;
}

async function setUp(names: readonly string[]): Promise<number> {
  if (names.length === 0) return unknown(undefined);
  for (const name of names) {
    const peer = PEERS[name];
    if (peer === undefined) return unknown(name);
    const folder = folderOf(name, peer);
    if (await isThereAndWhole(name, peer)) {
      console.log(`${name}: there already, in ${folder}`);
      continue;
    }
    const lack = peer.lacks?.();
    if (lack !== undefined) {
      console.error(`${name}: ${lack}`);
      return 1;
    }
    console.log(`${name}: fetching about ${peer.size} MB into ${folder} ...`);
    if (!(await bring(name, peer))) {
      console.error(`${name} could not be fetched; its output is above. Check the network, then run this again.`);
      return 1;
    }
    console.log(`${name}: there, in ${folder}`);
  }
  return 0;
}

function unknown(name: string | undefined): number {
  const names = Object.keys(PEERS).join(', ');
  const problem = name === undefined ? 'a name is missing' : `there is no "${name}"`;
  console.error(`${problem}; use one of ${names} (--list shows more)`);
  return 2;
}
