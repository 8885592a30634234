// The keys of the file beside a reading of Contour's structs that is independent of ours, and beside the decoder of the real Contour.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { createRandom, runs, type SeededRandom } from '@capstan/testing';
import { parse, stringify } from 'yaml';
import { withValueAt } from '../../src/configuration/fields.ts';
import { FILE_KEYS, type FileType } from '../../src/configuration/file/file-keys.ts';
import { isList, type ShapeType } from '../../src/configuration/file/struct-shapes.ts';
import { readConfigurationFile } from '../../src/configuration/index.ts';
import { contourBinary, missingContour } from '../contour/contour.ts';

type KeyType = 'text' | 'truth' | 'whole number' | 'number' | 'list of texts' | 'map of texts' | 'empty';

const CONTOURS = new Map(
  Object.entries(
    parse(readFileSync(join(import.meta.dirname, 'contour-keys.yaml'), 'utf8')) as Readonly<Record<string, KeyType>>,
  ),
);

/** Keys that Contour v1.33 does not have: those of the first Sesame, and of later versions of Contour. */
const MORE = [
  /^server\.xds-server-type$/,
  /^gateway\.(controllerName|name|namespace)$/,
  /ecdh-curves$/,
  /^tls\.fingerprint\./,
  /^request-timeout$/,
  /^runtime-settings$/,
  /^listener\.max-connections-to-accept-per-socket-event$/,
  /^globalExtAuth\.(serviceType|httpSettings)/,
  /^tracing\.(clientSampling|randomSampling)$/,
  /^metrics\.sesame\./,
  /^leaderelection\./,
];
const isMore = (key: string) => MORE.some((each) => each.test(key));

const TYPES: Readonly<Record<Exclude<FileType, 'struct'>, KeyType>> = {
  string: 'text',
  boolean: 'truth',
  integer: 'whole number',
  number: 'number',
  strings: 'list of texts',
  texts: 'map of texts',
};

/** Every key with its type, those of structs included. */
function ours(): Map<string, KeyType> {
  const found = new Map<string, KeyType>();
  const add = (path: string, type: ShapeType): void => {
    if (type === 'string' || type === 'boolean') found.set(path, TYPES[type]);
    else if (isList(type)) add(`${path}[]`, type[0]);
    else if (Object.keys(type).length === 0) found.set(path, 'empty');
    else for (const [key, part] of Object.entries(type)) add(`${path}.${key}`, part.type);
  };
  for (const [path, { type, shape }] of Object.entries(FILE_KEYS))
    if (type === 'struct') add(path, shape ?? {});
    else found.set(path, TYPES[type]);
  return found;
}

suite('the keys of the configuration file', () => {
  test('are those of the structs of Contour, with their types', () => {
    const own = ours();
    const wrong = [...CONTOURS].filter(([key, type]) => key !== 'server' && own.get(key) !== type);
    assert.deepEqual(
      wrong.map(([key, type]) => `${key} is ${own.get(key) ?? 'not read'}, and ${type} in Contour`),
      [],
    );
    assert.deepEqual(
      [...own.keys()].filter((key) => !CONTOURS.has(key) && !isMore(key)),
      [],
      'keys that no struct of Contour has',
    );
  });
});

suite('beside the decoder of Contour', { skip: missingContour() }, () => {
  test('every key of its structs is read by both', () => {
    const text = fileOf([...CONTOURS]);
    assert.deepEqual(refusedByContour(text), new Map());
    assert.deepEqual(refusedByUs(text), new Map());
  });

  test('every key that Contour does not have is refused by it, and is on the list of further keys', () => {
    const more = [...ours()].filter(([key]) => isMore(key) && !key.includes('[]'));
    for (const [key, type] of more) assert.notDeepEqual(refusedByContour(fileOf([[key, type]])), new Map(), key);
  });

  test('keys with a mistake and values of another type are refused in the same lines', (t) => {
    let refused = 0;
    for (let seed = 1; seed <= runs(20, 200); seed++) {
      const text = wrongFile(createRandom(seed));
      const [theirs, own] = [refusedByContour(text), refusedByUs(text)];
      refused += theirs.size;
      assert.deepEqual(new Set(own.keys()), new Set(theirs.keys()), `seed ${seed}:\n${text}`);
    }
    t.diagnostic(`${refused} lines were refused by both`);
  });
});

/** A value of the type that every rule of the reader accepts. */
const VALUES: Readonly<Record<KeyType, unknown>> = {
  text: 'a',
  truth: true,
  'whole number': 1,
  number: 1.5,
  'list of texts': ['a'],
  'map of texts': { a: 'b' },
  empty: {},
};

function fileOf(keys: readonly (readonly [key: string, type: KeyType])[]): string {
  const file = keys.reduce<object>((sum, [key, type]) => put(sum, key.split('.'), VALUES[type]), {});
  return stringify(file);
}

/** Sets the value below keys, of which one with `[]` is a list of one entry. */
function put(into: object, [key = '', ...more]: readonly string[], value: unknown): object {
  const name = key.replace('[]', '');
  const known = (into as Readonly<Record<string, unknown>>)[name];
  if (more.length === 0) return { ...into, [name]: value };
  const [first = {}] = (Array.isArray(known) ? known : [known]) as readonly (object | undefined)[];
  const below = put(first, more, value);
  return { ...into, [name]: name === key ? below : [below] };
}

/** A few keys, of which some have another spelling, stand elsewhere, or have a value of another type. */
function wrongFile(random: SeededRandom): string {
  const plain = [...CONTOURS].filter(([key]) => !key.includes('[]') && key !== 'server');
  let file: object = {};
  for (let count = 0; count < 12; count++) {
    const [key, type] = random.pick(plain);
    const parts = key.split('.');
    const last = parts.pop() ?? '';
    const spelled = random.pick([
      last,
      last,
      last.toUpperCase(),
      `${last}s`,
      camelCase(last),
      last.replaceAll('-', ''),
    ]);
    const other = random.pick<unknown>([VALUES[type], VALUES[type], ['a'], 'b', { c: 'd' }]);
    file = withValueAt(file as never, [...parts, spelled].join('.'), other);
  }
  return stringify(file);
}

function camelCase(name: string): string {
  return name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The lines that the decoder of Contour refuses; it reads the file before it looks for a cluster. */
function refusedByContour(text: string): Map<number, string> {
  const folder = mkdtempSync(join(tmpdir(), 'contour-keys-'));
  try {
    const file = join(folder, 'contour.yaml');
    writeFileSync(file, text);
    const args = ['serve', `--config-path=${file}`, `--kubeconfig=${join(folder, 'none')}`];
    const { stderr } = spawnSync(contourBinary(), args, { encoding: 'utf8', timeout: 60_000 });
    const lines = [...stderr.matchAll(/^ +line (\d+): (.*)$/gm)];
    return new Map(lines.map(([, line, problem = '']) => [Number(line), problem]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function refusedByUs(text: string): Map<number, string> {
  const { problems } = readConfigurationFile(text);
  const errors = problems.filter(({ severity }) => severity === 'error');
  return new Map(errors.map(({ line, key, message }) => [line, `${key}: ${message}`]));
}
