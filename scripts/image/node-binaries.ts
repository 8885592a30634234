// The checksums of the Node.js programs that npm's packages bring, and the comparison with the releases of the Node.js project.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { treeOf } from './file-tree.ts';

interface NodeBinaries {
  readonly version: string;
  /** By the name of the npm package: of its file bin/node. */
  readonly sha256: Readonly<Record<string, string>>;
}

export const NODE_BINARIES = JSON.parse(
  readFileSync(join(import.meta.dirname, 'node-binaries.json'), 'utf8'),
) as NodeBinaries;

const RELEASES = 'https://nodejs.org/dist';
const TIMEOUT_MS = 60_000;

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Throws where a program is not the recorded one. */
export function checkNodeBinary(name: string, version: string, bytes: Uint8Array): void {
  const { version: known, sha256 } = NODE_BINARIES;
  const found = sha256Of(bytes);
  if (version !== known || sha256[name] !== found)
    throw new Error(
      `${name} ${version}: the checksum of bin/node is ${found}, and ${sha256[name]} is recorded for ${known}; compare it with the release (npm run verify:node), then correct scripts/image/node-binaries.json`,
    );
}

/** Returns the problems of the recorded checksums, one sentence each. Throws where the releases cannot be reached. */
export async function compareWithReleases(
  releases: string = RELEASES,
  { version, sha256 }: NodeBinaries = NODE_BINARIES,
): Promise<string[]> {
  const sums = new Map(
    (await bytesAt(`${releases}/v${version}/SHASUMS256.txt`))
      .toString('utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .map(([sum = '', file = '']) => [file, sum] as const),
  );
  const problems: string[] = [];
  for (const [name, recorded] of Object.entries(sha256)) {
    const platform = name.replace(/^node-(?:bin-)?/, '');
    const file = `node-v${version}-${platform}.tar.gz`;
    const archive = await bytesAt(`${releases}/v${version}/${file}`);
    if (sha256Of(archive) !== sums.get(file)) problems.push(`${file} is not what the list of checksums names`);
    const program = treeOf(gunzipSync(archive)).get(`node-v${version}-${platform}/bin/node`);
    const found = program?.type === 'file' ? sha256Of(program.bytes) : 'none';
    if (found !== recorded)
      problems.push(`${name}: bin/node of the release has the checksum ${found}, not ${recorded}`);
  }
  return problems;
}

async function bytesAt(url: string): Promise<Buffer> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${url}: the server answered ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}
