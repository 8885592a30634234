// The files of the images, layer by layer: Debian's, Node.js, Capstan.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type Architecture, type LockedPackage, packageBytes } from './debian-lock.ts';
import { withoutSections } from './elf.ts';
import { type FileTree, treeOf } from './file-tree.ts';
import { checkNodeBinary } from './node-binaries.ts';

export const USER = 65532;
const CACHE = join(process.env['CAPSTAN_CACHE'] ?? join(homedir(), '.cache', 'capstan'), 'image');

/** Packages of Debian, unpacked without their scripts; `/lib` and the like are links into `/usr`, as Debian has them. */
export async function debianTree(packages: readonly LockedPackage[]): Promise<FileTree> {
  const tree: FileTree = new Map();
  for (const locked of packages) {
    const bytes = await packageBytes(locked, debCache);
    const work = join(CACHE, 'work');
    mkdirSync(work, { recursive: true });
    const deb = join(work, `${process.pid}.deb`);
    writeFileSync(deb, bytes);
    const archive = execFileSync('dpkg-deb', ['--fsys-tarfile', deb], { maxBuffer: 1 << 30 });
    rmSync(deb);
    for (const [path, entry] of treeOf(archive)) {
      if (entry.type === 'folder' || NOT_NEEDED.test(path)) continue;
      tree.set(path.replace(/^(bin|sbin|lib|lib64)(?=\/)/, 'usr/$1'), entry);
    }
  }
  return tree;
}

/** Manuals, translations, scripts of services: nothing that a program reads. Licences stay. */
const NOT_NEEDED =
  /^(?:usr\/share\/(?:man|info|locale|lintian|bug|doc-base|bash-completion|polkit-1)\/|usr\/share\/doc\/(?!.*\/copyright$)|(?:usr\/)?lib\/systemd\/|(?:usr\/)?lib\/[^/]+\/gconv\/|etc\/(?:init\.d|default|apparmor\.d|logcheck|ca-certificates)\/)/;

/** Adds the files that turn them into a root file system: users, certificates, a place for temporary files. */
export function baseTree(debian: FileTree): FileTree {
  const tree: FileTree = new Map(debian);
  const file = (path: string, text: string) => tree.set(path, { type: 'file', mode: 0o644, bytes: Buffer.from(text) });
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
    tree.set(name, { type: 'link', target: `usr/${name}` });
    if (![...tree.keys()].some((path) => path.startsWith(`usr/${name}/`)))
      tree.set(`usr/${name}`, { type: 'folder', mode: 0o755 });
  }
  tree.set('tmp', { type: 'folder', mode: 0o1777 });
  for (const name of ['proc', 'sys', 'dev', 'run', 'var/run']) tree.set(name, { type: 'folder', mode: 0o755 });
  file('etc/passwd', `root:x:0:0:root:/root:/sbin/nologin\ncapstan:x:${USER}:${USER}:Capstan:/tmp:/sbin/nologin\n`);
  file('etc/group', `root:x:0:\ncapstan:x:${USER}:\n`);
  file('etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files dns\n');
  const certificates = [...tree.entries()]
    .filter(([path]) => path.startsWith('usr/share/ca-certificates/mozilla/'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, entry]) => (entry.type === 'file' ? [entry.bytes.toString('utf8').trimEnd()] : []));
  file('etc/ssl/certs/ca-certificates.crt', `${certificates.join('\n')}\n`);
  return tree;
}

/** Node.js of the platform's npm package, checked against the lock file of the workspace. */
export function nodeTree(root: string, architecture: Architecture): { tree: FileTree; version: string } {
  const name = `node-linux-${architecture === 'amd64' ? 'x64' : 'arm64'}`;
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}`);
  const { version, integrity } = locked;
  const packed = join(CACHE, `${name}-${version}.tgz`);
  if (!existsSync(packed)) {
    mkdirSync(CACHE, { recursive: true });
    execFileSync('npm', ['pack', `${name}@${version}`, '--pack-destination', CACHE, '--silent'], { stdio: 'pipe' });
  }
  const bytes = readFileSync(packed);
  const found = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
  if (found !== integrity)
    throw new Error(`${packed}: its checksum is ${found}, and ${integrity} is locked; delete it`);
  const content = treeOf(gunzipSync(bytes));
  const [node, licence] = [content.get('package/bin/node'), content.get('package/LICENSE')];
  if (node?.type !== 'file') throw new Error(`${name} ${version} has no bin/node`);
  checkNodeBinary(name, version, node.bytes);
  const tree: FileTree = new Map([['usr/bin/node', { ...node, bytes: withoutSections(node.bytes), mode: 0o755 }]]);
  if (licence?.type === 'file') tree.set('usr/share/doc/nodejs/copyright', { ...licence, mode: 0o644 });
  return { tree, version };
}

/** The built package in /opt/capstan, and its programs on the path. */
export function capstanTree(bundle: string): FileTree {
  const tree: FileTree = new Map();
  addFolder(tree, bundle, 'opt/capstan');
  for (const [path, entry] of tree) {
    const [, program] = /^opt\/capstan\/bin\/([\w-]+)\.js$/.exec(path) ?? [];
    if (program === undefined || entry.type !== 'file') continue;
    // There is no `env` in the image.
    const text = entry.bytes.toString('utf8').replace(/^#!.*/, '#!/usr/bin/node --disable-warning=ExperimentalWarning');
    tree.set(path, { type: 'file', mode: 0o755, bytes: Buffer.from(text) });
    tree.set(`usr/bin/${program}`, { type: 'link', target: `/opt/capstan/bin/${program}.js` });
  }
  return tree;
}

function addFolder(tree: FileTree, from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, path] = [join(from, entry.name), `${to}/${entry.name}`];
    if (entry.isDirectory()) addFolder(tree, source, path);
    else if (entry.isSymbolicLink()) tree.set(path, { type: 'link', target: readlinkSync(source) });
    else {
      const mode = statSync(source).mode & 0o111 ? 0o755 : 0o644;
      tree.set(path, { type: 'file', mode, bytes: readFileSync(source) });
    }
  }
}

const debCache = {
  get(sha256: string): Buffer | undefined {
    const file = join(CACHE, 'debs', sha256);
    return existsSync(file) ? readFileSync(file) : undefined;
  },
  put(sha256: string, bytes: Buffer): void {
    mkdirSync(join(CACHE, 'debs'), { recursive: true });
    writeFileSync(join(CACHE, 'debs', sha256), bytes);
  },
};
