// Fetches real peers for tests and benchmarks into a cache folder outside the checkout, so that every clone shares them. Those that
// `capstan up` runs are fetched by `capstan setup` too.
// Usage: npm run setup:real -- NAME…   npm run -s setup:real -- --list   npm run -s setup:real -- --where NAME
import { listPeers, type Peers, RUN_TIME_PEERS, setUpPeers, wherePeer } from '@capstan/cli/setup';
import { realBrowser } from './setup-real/browser.ts';
import { certManager } from './setup-real/cert-manager.ts';
import { clients } from './setup-real/clients.ts';
import { contour } from './setup-real/contour.ts';
import { controllerRuntime } from './setup-real/controller-runtime.ts';
import { crossplane } from './setup-real/crossplane.ts';
import { e2e } from './setup-real/e2e.ts';
import { gatewayConformance } from './setup-real/gateway-conformance.ts';
import { realHelm } from './setup-real/helm.ts';
import { realKubernetes } from './setup-real/kubernetes.ts';
import { realOpenstack } from './setup-real/openstack.ts';
import { realRegistry } from './setup-real/registry.ts';
import { realShells } from './setup-real/shells.ts';

/** One line a peer: another is added here, with a file of its own in setup-real/. */
const PEERS: Peers = {
  ...RUN_TIME_PEERS,
  browser: realBrowser,
  'cert-manager': certManager,
  contour,
  'controller-runtime': controllerRuntime,
  crossplane,
  e2e,
  'gateway-conformance': gatewayConformance,
  helm: realHelm,
  kubernetes: realKubernetes,
  openstack: realOpenstack,
  peers: clients,
  registry: realRegistry,
  shells: realShells,
};

const args = process.argv.slice(2);
const output = { print: (line: string) => console.log(line), report: (line: string) => console.error(line) };
if (args.includes('--list')) process.exit(listPeers(PEERS, output));
process.exit(args[0] === '--where' ? wherePeer(PEERS, args[1], output) : await setUpPeers(PEERS, args, output));
