// The packages of Debian in the images: the wanted ones and their dependencies, for each architecture, by exact version and checksum, in
// debian.lock.json. `npm run image -- --lock` writes it from Debian's present lists.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export type Architecture = 'amd64' | 'arm64';
export const ARCHITECTURES: readonly Architecture[] = ['amd64', 'arm64'];
/** The packages that Node.js needs, and the additional ones of the gateway's cables. */
const WANTED = {
  base: ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'ca-certificates'],
  gateway: [
    'wireguard-go',
    'wireguard-tools',
    'charon-systemd',
    'strongswan-swanctl',
    'libstrongswan-standard-plugins',
    'libcharon-extra-plugins',
    'iproute2',
    'iputils-ping',
  ],
} as const;
export type PackageSet = keyof typeof WANTED;

/** Needed to install packages or to run services, and not to run the programs. */
const LEFT_OUT =
  /^(?:debconf.*|dpkg|perl.*|libperl.*|adduser|passwd|init-system-helpers|systemd.*|libsystemd-shared|sysvinit.*|openssl|udev|lsb-base|cdebconf|tar|libdebconfclient0|libdb5\.3|libgdbm.*|mount|util-linux|coreutils|dbus.*|libdbus.*|kmod|resolvconf|openresolv)$/;

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** Below the root of a mirror. */
  readonly path: string;
  readonly sha256: string;
  readonly size: number;
}

export type DebianLock = Readonly<Record<PackageSet, Readonly<Record<Architecture, readonly LockedPackage[]>>>>;

const MIRROR = 'http://deb.debian.org';
const SUITES = [
  ['debian', 'bookworm'],
  ['debian', 'bookworm-updates'],
  ['debian-security', 'bookworm-security'],
] as const;
const LOCK = join(import.meta.dirname, 'debian.lock.json');

export function readLock(): DebianLock {
  return JSON.parse(readFileSync(LOCK, 'utf8')) as DebianLock;
}

export async function writeLock(): Promise<void> {
  const lists = Object.fromEntries(
    await Promise.all(ARCHITECTURES.map(async (architecture) => [architecture, await listOf(architecture)] as const)),
  ) as Record<Architecture, Map<string, Listed>>;
  const closures = (names: readonly string[], without: readonly string[]) => {
    const lockedFor = (architecture: Architecture): LockedPackage[] =>
      closure(names, lists[architecture])
        .filter(({ name }) => !without.includes(name))
        .map(({ depends: _depends, ...locked }) => locked);
    return { amd64: lockedFor('amd64'), arm64: lockedFor('arm64') };
  };
  const base = closures(WANTED.base, []);
  const gateway = closures(
    WANTED.gateway,
    base.amd64.map(({ name }) => name),
  );
  writeFileSync(LOCK, `${JSON.stringify({ base, gateway }, undefined, 2)}\n`);
}

interface Listed extends LockedPackage {
  readonly depends: readonly string[];
}

async function listOf(architecture: Architecture): Promise<Map<string, Listed>> {
  const list = new Map<string, Listed>();
  for (const [archive, suite] of SUITES) {
    const answer = await fetch(`${MIRROR}/${archive}/dists/${suite}/main/binary-${architecture}/Packages.xz`);
    if (!answer.ok) throw new Error(`the list of ${suite} for ${architecture} cannot be fetched: ${answer.status}`);
    const packed = Buffer.from(await answer.arrayBuffer());
    const text = execFileSync('xz', ['-dc'], { input: packed, maxBuffer: 1 << 30, encoding: 'utf8' });
    // A later suite has the newer versions.
    for (const stanza of text.split('\n\n')) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(stanza)?.[1] ?? '';
      const name = field('Package');
      if (name === '') continue;
      const depends = [field('Pre-Depends'), field('Depends')]
        .flatMap((line) => line.split(','))
        .map(
          (one) =>
            one
              .split('|')[0]
              ?.replace(/[\s(:].*$/, '')
              .trim() ||
            one.trim().split(/[\s(:|]/)[0] ||
            '',
        )
        .filter((one) => one !== '');
      list.set(name, {
        name,
        version: field('Version'),
        path: `${archive}/${field('Filename')}`,
        sha256: field('SHA256'),
        size: Number(field('Size')),
        depends: depends.map((one) => one.trim()),
      });
    }
  }
  return list;
}

function closure(names: readonly string[], list: ReadonlyMap<string, Listed>): readonly Listed[] {
  const found = new Map<string, Listed>();
  const pending = [...names];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (found.has(name) || LEFT_OUT.test(name)) continue;
    const listed = list.get(name);
    // A virtual package: its provider is wanted by name, or not needed.
    if (listed === undefined) continue;
    found.set(name, listed);
    pending.push(...listed.depends);
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The package's bytes, from the cache or a mirror, checked. Versions that mirrors dropped are on Debian's snapshot service. */
export async function packageBytes(
  { path, sha256, name }: LockedPackage,
  cache: { get(sha256: string): Buffer | undefined; put(sha256: string, bytes: Buffer): void },
): Promise<Buffer> {
  const cached = cache.get(sha256);
  if (cached !== undefined) return cached;
  const file = path.split('/').at(-1) ?? '';
  const sources = [
    `${MIRROR}/${path}`,
    `https://snapshot.debian.org/archive/debian/20260101T000000Z/${path.replace(/^[^/]+\//, '')}`,
  ];
  const problems: string[] = [];
  for (const url of sources) {
    const answer = await fetch(url).catch((error: unknown) => String(error));
    if (typeof answer === 'string' || !answer.ok) {
      problems.push(`${url}: ${typeof answer === 'string' ? answer : answer.status}`);
      continue;
    }
    const bytes = Buffer.from(await answer.arrayBuffer());
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found !== sha256) {
      problems.push(`${url}: its checksum is ${found}, and ${sha256} is locked`);
      continue;
    }
    cache.put(sha256, bytes);
    return bytes;
  }
  throw new Error(
    `the package ${name} (${file}) cannot be fetched: ${problems.join('; ')}; run npm run image -- --lock for the present versions`,
  );
}
