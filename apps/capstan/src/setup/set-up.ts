// The commands that fetch peers: `capstan setup` those that `capstan up` runs, `npm run setup:real` those of tests besides.
import { bring, folderOf, isThere, isThereAndWhole, type Peer, type Report } from './peer.ts';

export type Peers = Readonly<Record<string, Peer>>;

export interface SetUpOutput {
  /** Results. */
  print: Report;
  /** Progress and problems. */
  report: Report;
}

export function listPeers(peers: Peers, { print }: SetUpOutput): number {
  const width = Math.max(...Object.keys(peers).map((name) => name.length));
  for (const [name, peer] of Object.entries(peers)) {
    const state = isThere(name, peer) ? 'there' : 'not there';
    print(`${name.padEnd(width)}  ${String(peer.size).padStart(5)} MB  ${state.padEnd(10)} ${peer.what}`);
  }
  return 0;
}

/** Prints the folder of a peer; 1 where it is not there. */
export function wherePeer(peers: Peers, name: string | undefined, output: SetUpOutput): number {
  const peer = name === undefined ? undefined : peers[name];
  if (name === undefined || peer === undefined) return unknown(peers, name, output);
  if (!isThere(name, peer)) return 1;
  output.print(folderOf(name, peer));
  return 0;
}

export async function setUpPeers(peers: Peers, names: readonly string[], output: SetUpOutput): Promise<number> {
  const { print, report } = output;
  if (names.length === 0) return unknown(peers, undefined, output);
  for (const name of names) if (peers[name] === undefined) return unknown(peers, name, output);
  for (const name of names) {
    const peer = peers[name];
    if (peer === undefined) continue;
    const folder = folderOf(name, peer);
    if (await isThereAndWhole(name, peer, report)) {
      print(`${name}: there already, in ${folder}`);
      continue;
    }
    const lack = peer.lacks?.();
    if (lack !== undefined) {
      report(`${name}: ${lack}`);
      return 1;
    }
    report(`${name}: fetching about ${peer.size} MB into ${folder} ...`);
    if (!(await bring(name, peer, report))) {
      report(`${name} could not be fetched; the reason is above. Check the network, then run this again.`);
      return 1;
    }
    print(`${name}: there, in ${folder}`);
  }
  return 0;
}

function unknown(peers: Peers, name: string | undefined, { report }: SetUpOutput): number {
  const problem = name === undefined ? 'a name is missing' : `there is no "${name}"`;
  report(`${problem}; use one of ${Object.keys(peers).join(', ')} (--list shows more)`);
  return 2;
}
