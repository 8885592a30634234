// The files of a layer, and the tar archive of them: sorted, owned by root, without times, so that the same files are the same
// bytes wherever and whenever they are archived.

export type TreeEntry =
  | { readonly type: 'file'; readonly mode: number; readonly bytes: Buffer }
  | { readonly type: 'folder'; readonly mode: number }
  | { readonly type: 'link'; readonly target: string };

/** By path, without a slash at its beginning or end. */
export type FileTree = Map<string, TreeEntry>;

/** Adds the folders above every entry. */
export function withParents(tree: FileTree): FileTree {
  const whole: FileTree = new Map(tree);
  for (const path of tree.keys()) {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join('/');
      if (!whole.has(folder)) whole.set(folder, { type: 'folder', mode: 0o755 });
    }
  }
  return whole;
}

export function tarOf(tree: FileTree): Buffer {
  const paths = [...withParents(tree).entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const blocks = paths.flatMap(([path, entry]) => entryBlocks(path, entry));
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

const TYPES = { file: '0', link: '2', folder: '5' } as const;

function entryBlocks(path: string, entry: TreeEntry): Buffer[] {
  const name = entry.type === 'folder' ? `${path}/` : path;
  const bytes = entry.type === 'file' ? entry.bytes : Buffer.alloc(0);
  const target = entry.type === 'link' ? entry.target : '';
  const mode = entry.type === 'link' ? 0o777 : entry.mode;
  // A name of more than 100 bytes comes before its entry, in the way of GNU, which every reader of images knows.
  const long = [
    ...(Buffer.byteLength(name) > 100 ? named('L', name) : []),
    ...(Buffer.byteLength(target) > 100 ? named('K', target) : []),
  ];
  return [...long, header(name, TYPES[entry.type], bytes.length, mode, target), bytes, padding(bytes.length)];
}

function named(type: 'L' | 'K', name: string): Buffer[] {
  const bytes = Buffer.from(`${name}\0`);
  return [header('././@LongLink', type, bytes.length, 0o644, ''), bytes, padding(bytes.length)];
}

function header(name: string, type: string, size: number, mode: number, target: string): Buffer {
  const block = Buffer.alloc(512);
  const number = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\0`;
  block.write(name.slice(0, 100), 0, 100, 'utf8');
  block.write(number(mode, 8), 100);
  block.write(number(0, 8), 108);
  block.write(number(0, 8), 116);
  block.write(number(size, 12), 124);
  block.write(number(0, 12), 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(target.slice(0, 100), 157, 100, 'utf8');
  block.write('ustar\x0000', 257, 'latin1');
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

function padding(size: number): Buffer {
  return Buffer.alloc((512 - (size % 512)) % 512);
}

/** The entries of a tar archive, for packages of Debian and of npm: files, folders and links; hard links become copies. */
export function treeOf(archive: Buffer): FileTree {
  const tree: FileTree = new Map();
  let [longName, longTarget] = ['', ''];
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0; ) {
    const text = (from: number, length: number) =>
      archive
        .toString('utf8', at + from, at + from + length)
        .split('\0')[0]
        ?.trim() ?? '';
    const size = Number.parseInt(text(124, 12) || '0', 8);
    const type = text(156, 1) || '0';
    const mode = Number.parseInt(text(100, 8) || '0', 8) & 0o7777;
    const bytes = archive.subarray(at + 512, at + 512 + size);
    const prefix = text(257, 5) === 'ustar' && archive[at + 262] === 0 ? text(345, 155) : '';
    const name = longName || (prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`);
    const target = longTarget || text(157, 100);
    at += 512 + Math.ceil(size / 512) * 512;
    if (type === 'L') longName = bytes.toString('utf8').replace(/\0.*$/s, '');
    else if (type === 'K') longTarget = bytes.toString('utf8').replace(/\0.*$/s, '');
    else [longName, longTarget] = ['', ''];
    if (type === 'L' || type === 'K') continue;
    const path = name.replace(/^\.\//, '').replace(/\/$/, '');
    if (path === '' || path === '.') continue;
    if (type === '0') tree.set(path, { type: 'file', mode, bytes: Buffer.from(bytes) });
    else if (type === '5') tree.set(path, { type: 'folder', mode });
    else if (type === '2') tree.set(path, { type: 'link', target });
    else if (type === '1') {
      const same = tree.get(target.replace(/^\.\//, ''));
      if (same !== undefined) tree.set(path, same);
    }
  }
  return tree;
}
