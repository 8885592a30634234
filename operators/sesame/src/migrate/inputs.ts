// The inputs of a migration: a configuration file, the ConfigMap that holds one, the Deployment that names flags, Contour's resource, or a
// resource that was migrated already. One stream of YAML may hold several of them.
import { isJsonObject } from '@capstan/kube/values';
import { isMap, isScalar, isSeq, LineCounter, parseAllDocuments, type YAMLMap } from 'yaml';
import { decodeFile, type FileProblem } from '../configuration/file/index.ts';
import { type ParsedServeFlags, parseServeFlags } from '../configuration/serve-flags.ts';

export interface InputFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface ConfigurationText {
  /** The file, and the key of a ConfigMap. */
  readonly name: string;
  readonly text: string;
  /** Where the text begins in the manifest: added to lines and columns. */
  readonly lineOffset: number;
  readonly columnOffset: number;
}

export interface Inputs {
  readonly configuration?: ConfigurationText;
  /** A SesameConfiguration, as it was written. */
  readonly resource?: { readonly name: string; readonly text: string; readonly object: unknown };
  /** A ContourConfiguration. */
  readonly contours?: { readonly name: string; readonly object: unknown };
  /** Flags of the Deployment's `serve`. */
  readonly flags?: ParsedServeFlags & { readonly from: string };
  /** The namespace that a manifest names. */
  readonly namespace?: string;
  readonly problems: readonly (FileProblem & { readonly file: string })[];
}

/** Keys of the ConfigMap that hold the file. */
const DATA_KEYS = ['sesame.yaml', 'contour.yaml'];

export function readInputs(
  files: readonly InputFile[],
  env: Readonly<Record<string, string | undefined>> = {},
): Inputs {
  const found: { -readonly [Name in keyof Inputs]: Inputs[Name] } = { problems: [] };
  const problems: (FileProblem & { file: string })[] = [];
  for (const { name, bytes } of files) {
    const decoded = decodeFile(bytes);
    if (!decoded.isOk) problems.push({ ...decoded.problem, file: name });
    else takeText(name, decoded.value, found, problems, env);
  }
  return { ...found, problems };
}

/** A manifest has one of these keys; a configuration file has none. */
const MANIFEST = /^[{\s"']*(apiVersion|kind)["']?\s*:/m;

type Found = { -readonly [Name in keyof Inputs]: Inputs[Name] };

function takeText(
  name: string,
  text: string,
  found: Found,
  problems: (FileProblem & { file: string })[],
  env: Readonly<Record<string, string | undefined>>,
): void {
  if (!MANIFEST.test(text)) {
    found.configuration = { name, text, lineOffset: 0, columnOffset: 0 };
    return;
  }
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false });
  const manifests = (Array.isArray(documents) ? documents : []).flatMap((document) =>
    objectsOf(document.contents).map((contents) => ({ document, contents })),
  );
  if (manifests.length === 0) {
    found.configuration = { name, text, lineOffset: 0, columnOffset: 0 };
    return;
  }
  for (const { document, contents } of manifests) {
    const namespace = contents.getIn(['metadata', 'namespace']);
    if (typeof namespace === 'string') found.namespace ??= namespace;
    switch (contents.get('kind')) {
      case 'ConfigMap': {
        const [key, second] = DATA_KEYS.filter((candidate) => contents.hasIn(['data', candidate]));
        if (key === undefined) break;
        const node = contents.getIn(['data', key], true);
        if (second !== undefined) {
          const other = contents.getIn(['data', second], true);
          const { line, col } = lines.linePos((isScalar(other) ? other.range?.[0] : undefined) ?? 0);
          problems.push({
            file: name,
            severity: 'error',
            line,
            column: col,
            key: `data.${second}`,
            message: `the ConfigMap has ${key} too (${DATA_KEYS.join(', ')}), and only one can be migrated; remove the one that is not in use`,
          });
          break;
        }
        if (!isScalar(node) || typeof node.value !== 'string') break;
        const isBlock = node.type === 'BLOCK_LITERAL';
        const { line } = lines.linePos(node.range?.[0] ?? 0);
        const source = text.split('\n')[line] ?? '';
        found.configuration = {
          name: isBlock ? name : `${name} (${key})`,
          text: node.value,
          // The content of a block begins on the line below its header.
          lineOffset: isBlock ? line : 0,
          columnOffset: isBlock ? source.length - source.trimStart().length : 0,
        };
        break;
      }
      case 'Deployment':
      case 'ContourConfiguration':
      case 'SesameConfiguration':
        try {
          takeObject(contents.toJS(document), { name, text }, found, env);
        } catch (error) {
          // Aliases may stand for more values than the memory holds.
          if (!(error instanceof ReferenceError)) throw error;
          const { line, col } = lines.linePos(contents.range?.[0] ?? 0);
          const message = 'the YAML cannot be read: its aliases stand for too many values; write the values';
          problems.push({ file: name, severity: 'error', line, column: col, key: '', message });
        }
    }
  }
}

function takeObject(
  object: unknown,
  { name, text }: { readonly name: string; readonly text: string },
  found: Found,
  env: Readonly<Record<string, string | undefined>>,
): void {
  switch ((object as { kind?: unknown }).kind) {
    case 'ContourConfiguration':
      found.contours = { name, object };
      break;
    case 'SesameConfiguration':
      found.resource = { name, text, object };
      break;
    default: {
      const argv = serveArguments(object);
      if (argv !== undefined) found.flags = { ...parseServeFlags(argv, env), from: name };
    }
  }
}

/** The manifest, or those of a List, as `kubectl get -o yaml` prints several. */
function objectsOf(contents: unknown): YAMLMap[] {
  if (!isMap(contents) || !contents.has('apiVersion') || !contents.has('kind')) return [];
  const items = contents.get('items');
  return contents.get('kind') === 'List' && isSeq(items) ? items.items.flatMap(objectsOf) : [contents];
}

/** The arguments that follow `serve` in a container of the Deployment. */
export function serveArguments(deployment: unknown): string[] | undefined {
  const template = ['spec', 'template', 'spec', 'containers'].reduce(fieldOf, deployment);
  for (const container of listOf(template)) {
    const argv = [...listOf(fieldOf(container, 'command')), ...listOf(fieldOf(container, 'args'))].map(String);
    const at = argv.indexOf('serve');
    if (at !== -1) return argv.slice(at + 1);
  }
  return undefined;
}

/** Manifests are written by hand: any value may stand in any place. */
function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
