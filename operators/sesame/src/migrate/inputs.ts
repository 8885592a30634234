// The inputs of a migration: a configuration file, the ConfigMap that holds one, the Deployment that names flags, Contour's resource, or a
// resource that was migrated already. One stream of YAML may hold several of them.
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
      case 'Deployment': {
        const argv = serveArguments(contents.toJS(document));
        if (argv !== undefined) found.flags = { ...parseServeFlags(argv, env), from: name };
        break;
      }
      case 'ContourConfiguration':
        found.contours = { name, object: contents.toJS(document) };
        break;
      case 'SesameConfiguration':
        found.resource = { name, text, object: contents.toJS(document) };
        break;
    }
  }
}

/** The manifest, or those of a List, as `kubectl get -o yaml` prints several. */
function objectsOf(contents: unknown): YAMLMap[] {
  if (!isMap(contents) || !contents.has('apiVersion') || !contents.has('kind')) return [];
  const items = contents.get('items');
  return contents.get('kind') === 'List' && isSeq(items) ? items.items.flatMap(objectsOf) : [contents];
}

interface Container {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
}

/** The arguments that follow `serve` in a container of the Deployment. */
export function serveArguments(deployment: unknown): string[] | undefined {
  const { spec } = deployment as { spec?: { template?: { spec?: { containers?: readonly Container[] } } } };
  for (const { command = [], args = [] } of spec?.template?.spec?.containers ?? []) {
    const argv = [...command, ...args].map(String);
    const at = argv.indexOf('serve');
    if (at !== -1) return argv.slice(at + 1);
  }
  return undefined;
}
