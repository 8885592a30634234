// The licences of the npm modules that are bundled: their texts must come with every copy.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export interface BundledModule {
  readonly name: string;
  readonly version: string;
  /** As its package.json names it. */
  readonly licence: string;
  /** The files LICENSE, NOTICE and the like, one after the other. */
  readonly text: string;
}

/** The modules of files that were bundled, by name; one in several versions is there several times. */
export function modulesOf(root: string, files: Iterable<string>): readonly BundledModule[] {
  const folders = new Set<string>();
  for (const file of files) {
    const path = relative(root, join(root, file));
    const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
    if (folder !== undefined) folders.add(folder);
  }
  return [...folders].map((folder) => moduleIn(join(root, folder))).toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
}

const idOf = ({ name, version }: BundledModule) => `${name}@${version}`;
const TEXTS = /^(?:licen[cs]e|copying|notice|unlicense)(?:[.-].*)?$/i;

function moduleIn(folder: string): BundledModule {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string;
    version: string;
    license?: string;
    author?: string | { name?: string };
  };
  const { name, version, license: licence, author } = manifest;
  if (licence === undefined) throw new Error(`${name} ${version} names no licence; do not bundle it`);
  const texts = existsSync(folder) ? readdirSync(folder).filter((file) => TEXTS.test(file)) : [];
  const text = texts
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    .join('\n\n');
  const by = typeof author === 'string' ? author : author?.name;
  return { name, version, licence, text: text || commonText(name, licence, by) };
}

/** Capstan's own licence is the text of Apache-2.0. A module under another licence must bring its text. */
function commonText(name: string, licence: string, by: string | undefined): string {
  if (licence !== 'Apache-2.0') throw new Error(`${name} brings no text of its licence (${licence}); do not bundle it`);
  const text = readFileSync(new URL('../../LICENSE', import.meta.url), 'utf8').trim();
  return by === undefined ? text : `${by}\n\n${text}`;
}

export function licenceFile(modules: readonly BundledModule[]): string {
  const rule = '='.repeat(80);
  const parts = modules.map(({ name, version, licence, text }) => `${name} ${version} (${licence})\n\n${text}\n`);
  return [`The programs hold these modules, under the licences below.\n`, ...parts].join(`\n${rule}\n`);
}
