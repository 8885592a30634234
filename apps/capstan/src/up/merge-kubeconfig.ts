// The contexts of a cluster in the user's own kubeconfig. Entries of ours are marked with the data folder of their cluster: only
// those are ever replaced or removed.
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isRecord } from '@capstan/kube';
import { type Document, isMap, isSeq, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml';
import { CliErrors } from '../cli/errors.ts';

const EXTENSION = 'capstan.dev/data';
const LISTS = ['clusters', 'users', 'contexts'] as const;

export interface MergeKubeconfigOptions {
  /** The user's own file. */
  file: string;
  /** The text of the cluster's kubeconfig. */
  own: string;
  /** The data folder of the cluster; absolute. */
  data: string;
}

/** Puts the contexts of the cluster into the user's file, the first of them current. Resolves to their names. */
export async function mergeKubeconfig({ file, own, data }: MergeKubeconfigOptions): Promise<readonly string[]> {
  const document = await readConfig(file);
  const ours = parseDocument(own).toJS() as Record<(typeof LISTS)[number], { name: string }[]>;
  const named = (name: string) => (name.startsWith('capstan') ? name : `capstan-${name}`);
  removeOurs(document, data);
  for (const list of LISTS) {
    for (const entry of ours[list]) {
      const name = named(entry.name);
      if (entriesOf(document, list).items.some((item) => nameOf(item) === name))
        throw CliErrors.ContextTaken(file, `${list.slice(0, -1)} "${name}"`);
      entriesOf(document, list).add(document.createNode(marked(list, entry, name, data, named)));
    }
  }
  const contexts = ours.contexts.map(({ name }) => named(name));
  document.set('current-context', contexts[0] ?? '');
  await writeConfig(file, document);
  return contexts;
}

/** Takes the contexts of a cluster out again; resolves to whether there were any. */
export async function unmergeKubeconfig(file: string, data: string): Promise<boolean> {
  if ((await readFile(file, 'utf8').catch(() => '')) === '') return false;
  const document = await readConfig(file);
  const removed = removeOurs(document, data);
  if (removed.length === 0) return false;
  if (removed.includes(String(document.get('current-context')))) document.set('current-context', '');
  await writeConfig(file, document);
  return true;
}

function marked(
  list: (typeof LISTS)[number],
  entry: { name: string },
  name: string,
  data: string,
  named: (name: string) => string,
): object {
  const key = list.slice(0, -1);
  const content = { ...(entry as unknown as Record<string, Record<string, unknown>>)[key] };
  if (list === 'contexts') for (const field of ['cluster', 'user']) content[field] = named(String(content[field]));
  return { name, [key]: { ...content, extensions: [{ name: EXTENSION, extension: { data } }] } };
}

/** The names of the contexts that were removed. */
function removeOurs(document: Document, data: string): string[] {
  const names: string[] = [];
  for (const list of LISTS) {
    const entries = entriesOf(document, list);
    const isOurs = (item: unknown) => isMap(item) && isMarked(item.toJS(document), list.slice(0, -1), data);
    if (list === 'contexts') names.push(...entries.items.filter(isOurs).map(nameOf));
    entries.items = entries.items.filter((item) => !isOurs(item));
  }
  return names;
}

function isMarked(entry: unknown, key: string, data: string): boolean {
  const content = isRecord(entry) ? entry[key] : undefined;
  const extensions = isRecord(content) ? content['extensions'] : undefined;
  return (
    Array.isArray(extensions) &&
    extensions.some(
      (one) =>
        isRecord(one) && one['name'] === EXTENSION && isRecord(one['extension']) && one['extension']['data'] === data,
    )
  );
}

function entriesOf(document: Document, list: string): YAMLSeq<YAMLMap> {
  const found = document.get(list);
  if (isSeq(found)) return found as YAMLSeq<YAMLMap>;
  document.set(list, document.createNode([]));
  return document.get(list) as YAMLSeq<YAMLMap>;
}

function nameOf(item: unknown): string {
  return isMap(item) ? String(item.get('name')) : '';
}

async function readConfig(file: string): Promise<Document> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const document: Document = parseDocument(text.trim() === '' ? 'apiVersion: v1\nkind: Config\n' : text);
  const [error] = document.errors;
  if (error !== undefined || !isMap(document.contents))
    throw CliErrors.BadKubeconfig(file, error?.message.split('\n')[0] ?? 'it is not a mapping');
  return document;
}

/** Writes the file in one step, readable by its owner only, because it holds keys. Other attributes of the file stay. */
async function writeConfig(file: string, document: Document): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const mode = await stat(file).then(
    (found) => found.mode & 0o700,
    () => 0o600,
  );
  const partial = `${file}.capstan-${process.pid}`;
  await writeFile(partial, document.toString({ lineWidth: 0 }), { mode });
  await rename(partial, file);
}
