// Fetches real peers for tests and benchmarks into a cache folder outside the checkout, so that every clone shares them.
// Usage: npm run setup:real -- NAME…   npm run -s setup:real -- --list   npm run -s setup:real -- --where NAME
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

interface Peer {
  readonly what: string;
  /** About, in MB. */
  readonly size: number;
  /** A file or folder in the peer's own that is there when it is complete. */
  readonly proof: string;
  /** Brings it into the folder; false when that did not succeed. */
  fetch(folder: string): boolean;
}

const CLIENT_NODE = '2.0.1';

/** One line a peer: another is added here. */
const PEERS: Record<string, Peer> = {
  peers: {
    what: 'the official JavaScript client, which must work with the embedded API server',
    size: 85,
    proof: join('node_modules', '@kubernetes', 'client-node', 'package.json'),
    fetch: (folder) => npmInstall(folder, `@kubernetes/client-node@${CLIENT_NODE}`),
  },
};

const root = process.env['CAPSTAN_REAL'] ?? join(homedir(), '.cache', 'capstan', 'real');
const args = process.argv.slice(2);
process.exit(args.includes('--list') ? list() : args[0] === '--where' ? where(args[1]) : setUp(args));

function list(): number {
  for (const [name, peer] of Object.entries(PEERS)) {
    const state = isThere(name, peer) ? 'there' : 'not there';
    console.log(`${name.padEnd(14)} ${String(peer.size).padStart(5)} MB  ${state.padEnd(10)} ${peer.what}`);
  }
  return 0;
}

function where(name: string | undefined): number {
  const peer = name === undefined ? undefined : PEERS[name];
  if (name === undefined || peer === undefined) return unknown(name);
  if (!isThere(name, peer)) return 1;
  console.log(join(root, name));
  return 0;
}

function setUp(names: readonly string[]): number {
  if (names.length === 0) return unknown(undefined);
  for (const name of names) {
    const peer = PEERS[name];
    if (peer === undefined) return unknown(name);
    if (isThere(name, peer)) {
      console.log(`${name}: there already, in ${join(root, name)}`);
      continue;
    }
    console.log(`${name}: fetching about ${peer.size} MB into ${join(root, name)} ...`);
    mkdirSync(join(root, name), { recursive: true });
    if (!peer.fetch(join(root, name)) || !isThere(name, peer)) {
      console.error(`${name} could not be fetched; what was said is above. Check the network, then run this again.`);
      return 1;
    }
  }
  return 0;
}

function unknown(name: string | undefined): number {
  console.error(
    `${name === undefined ? 'which one' : `there is no "${name}"`}? Use one of ${Object.keys(PEERS).join(', ')}; --list tells more.`,
  );
  return 2;
}

function isThere(name: string, { proof }: Peer): boolean {
  return existsSync(join(root, name, proof));
}

function npmInstall(folder: string, what: string): boolean {
  const options = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--loglevel=error'];
  return spawnSync('npm', ['install', '--prefix', folder, ...options, what], { stdio: 'inherit' }).status === 0;
}
