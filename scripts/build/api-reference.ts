// The reference of a library's public names, from the declarations that the build emits: the purpose and the type of each.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The documents by file name, of libraries that buildLibraryPackages has written to `packages`. */
export function apiReferences(root: string, packages: string): ReadonlyMap<string, string> {
  return new Map(
    DOCUMENTED.map((name) => [`${name}.md`, referenceOf(root, join(packages, name, 'lib', 'public.d.ts'), name)]),
  );
}

export const DOCUMENTED = ['kube', 'reconcile', 'testing'] as const;

/** The names that a public.ts exports one by one. */
export function publicNames(publicSource: string): readonly string[] {
  return [...publicSource.matchAll(/^export \{([^}]*)\} from/gm)].flatMap(([, names = '']) => namesIn(names));
}

function referenceOf(root: string, publicFile: string, library: string): string {
  const source = readFileSync(join(root, 'packages', library, 'src/public.ts'), 'utf8');
  const folder = dirname(publicFile);
  const sections = new Map(Object.values(SECTIONS[library] ?? {}).map((title) => [title, new Map<string, string>()]));
  for (const name of publicNames(source)) {
    const found = find(publicFile, name);
    if (found === undefined) throw new Error(`@capstan/${library}: the declaration of ${name} was not found`);
    const [part = ''] = found.file.slice(folder.length + 1).split('/');
    const title = SECTIONS[library]?.[part.replace('.d.ts', '')] ?? OTHERS;
    if (!sections.has(title)) sections.set(title, new Map());
    sections.get(title)?.set(name, entryOf(name, found.declarations));
  }
  const parts = [...sections]
    .filter(([, entries]) => entries.size > 0)
    .map(([title, entries]) => {
      const names = [...entries.keys()].toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
      return `## ${title}\n\n${names.map((name) => entries.get(name)).join('\n\n')}`;
    });
  const lists = [...source.matchAll(/^export \* from '([^']+)'/gm)].map(
    ([, module = '']) => `## Built-in kinds of Kubernetes\n\n${listOf(join(folder, declared(module)))}`,
  );
  return `# @capstan/${library}

<!-- Generated from the declarations by \`npm run generate:api\`; do not edit. -->

What the package exports; a name that is not here may change in any release. How it is used: [write-an-operator.md](../write-an-operator.md),
[contracts.md](../contracts.md), [testing.md](../testing.md).

${[...parts, ...lists].join('\n\n')}
`;
}

const OTHERS = 'Other';

/** The titles by the folder, or the file beside the folders, that a name is declared in; in the order of the document. */
const SECTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  kube: {
    crd: 'Kinds of your own',
    schema: 'Schemas',
    kind: 'Objects',
    object: 'Objects',
    'child-name': 'Objects',
    condition: 'Conditions',
    conditions: 'Conditions',
    client: 'Client',
    informer: 'Informers',
    errors: 'Errors',
    workload: 'Workloads',
    x509: 'Keys and certificates',
    json: 'Values',
    selectors: 'Values',
    quantity: 'Values',
    duration: 'Values',
    timestamps: 'Values',
    names: 'Values',
    clock: 'Time, randomness, log',
    logger: 'Time, randomness, log',
  },
  reconcile: {
    operator: 'Operators and reconcilers',
    reconciler: 'Operators and reconcilers',
    plan: 'Plans',
    read: 'Reads, facts, sources, derivations, folds',
    engine: 'Reads, facts, sources, derivations, folds',
    sources: 'Reads, facts, sources, derivations, folds',
    sinks: 'Sinks',
    manager: 'Programs',
    runtime: 'The runtime alone',
    leadership: 'Leases',
    preview: 'Preview and why',
    why: 'Preview and why',
    rbac: 'Permissions',
    logging: 'Logs, metrics, traces, health',
    metrics: 'Logs, metrics, traces, health',
    tracing: 'Logs, metrics, traces, health',
    health: 'Logs, metrics, traces, health',
    marks: 'Names of annotations, labels and namespaces',
  },
  testing: {
    stage: 'A cluster and a program in the test',
    cluster: 'A cluster and a program in the test',
    incarnation: 'A cluster and a program in the test',
    'test-lease': 'A cluster and a program in the test',
    'plan-of': 'Plans without a cluster',
    'virtual-clock': 'Time and randomness',
    random: 'Time and randomness',
    faults: 'Faults',
    'real-cluster': 'A real control plane',
  },
};

interface Declaration {
  /** Without its marks; empty where there is none. */
  readonly comment: string;
  readonly text: string;
}

function entryOf(name: string, found: readonly Declaration[]): string {
  const comment = found
    .map((one) => one.comment)
    .filter((text) => text !== '')
    .join('\n\n');
  const code = found.map(({ text }) => text.replace(/^export (?:declare )?/, '')).join('\n');
  return [`### ${name}`, ...(comment === '' ? [] : [comment]), `\`\`\`ts\n${code}\n\`\`\``].join('\n\n');
}

/** All names of a module, kinds before types. */
function listOf(file: string): string {
  const [values, types] = [new Set<string>(), new Set<string>()];
  for (const one of modulesOf(file))
    for (const [name, found] of declarationsIn(one))
      (found.some(({ text }) => /^export declare (?:const|function|class) /.test(text)) ? values : types).add(name);
  const line = (names: Iterable<string>) =>
    [...names]
      .toSorted()
      .map((name) => `\`${name}\``)
      .join(', ');
  const onlyTypes = [...types].filter((name) => !values.has(name));
  return `Kinds and their functions: ${line(values)}.\n\nTypes: ${line(onlyTypes)}.`;
}

interface Found {
  readonly file: string;
  readonly declarations: readonly Declaration[];
}

/** A name as a module exports it: declared there, or in a module that it re-exports. */
function find(file: string, name: string): Found | undefined {
  const own = declarationsIn(file).get(name);
  if (own !== undefined) return { file, declarations: own };
  const text = read(file);
  for (const [, names = '', module = ''] of text.matchAll(/^export (?:type )?\{([^}]*)\} from ['"]([^'"]+)['"]/gm))
    for (const [as, original] of aliasesIn(names)) if (as === name) return find(resolve(file, module), original);
  for (const module of starsIn(text)) {
    const found = find(resolve(file, module), name);
    if (found !== undefined) return found;
  }
  return undefined;
}

function modulesOf(file: string): string[] {
  return [file, ...starsIn(read(file)).flatMap((module) => modulesOf(resolve(file, module)))];
}

function starsIn(text: string): string[] {
  return [...text.matchAll(/^export \* from ['"](\.[^'"]+)['"]/gm)].map(([, module = '']) => module);
}

const known = new Map<string, ReadonlyMap<string, readonly Declaration[]>>();

/** The compiler writes every statement from the first column on, and everything inside it further right. */
function declarationsIn(file: string): ReadonlyMap<string, readonly Declaration[]> {
  const before = known.get(file);
  if (before !== undefined) return before;
  const found = new Map<string, Declaration[]>();
  const statements = read(file).split(/^(?=export |declare |import |\/\*\*|\/\/)/m);
  for (const [at, statement] of statements.entries()) {
    const [, name] = NAMED.exec(statement) ?? [];
    if (name === undefined) continue;
    const previous = statements[at - 1] ?? '';
    const comment = previous.startsWith('/**') ? plain(previous) : '';
    found.set(name, [...(found.get(name) ?? []), { comment, text: statement.trimEnd() }]);
  }
  known.set(file, found);
  return found;
}

const NAMED = /^export (?:declare )?(?:abstract )?(?:const|function|class|interface|type|enum) (\w+)/;

function plain(comment: string): string {
  return comment
    .replace(/^\/\*\*/, '')
    .replace(/\*\/\s*$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join('\n')
    .trim();
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

function resolve(from: string, module: string): string {
  return join(dirname(from), declared(module));
}

function declared(module: string): string {
  return module.replace(/\.(?:js|ts)$/, '.d.ts');
}

function namesIn(list: string): string[] {
  return aliasesIn(list).map(([as]) => as);
}

function aliasesIn(list: string): [as: string, original: string][] {
  return list.split(',').flatMap((item) => {
    const [original = '', as = original] = item
      .trim()
      .replace(/^type /, '')
      .split(' as ');
    return original === '' ? [] : [[as, original]];
  });
}
