// subctl cable-policy add | list | delete | explain.
import { isAlreadyExists, isNotFound } from '@capstan/kube';
import { CablePolicies } from '../kinds/index.ts';
import { DEFAULT_POLICY, type Policy, readPolicy } from '../policy/read-policy.ts';
import { formatSelector } from '../policy/selector.ts';
import { createPairMatrix } from '../resolution/pair-matrix.ts';
import { rankRules } from '../resolution/ranking.ts';
import { explainPair } from '../resolution/resolver.ts';
import { isSuperseded } from '../sync/in-force.ts';
import { findPlace, optionsOf, readView, withOptions } from './cluster-view.ts';
import { configProblems, optionsEntry, placedConfig, writeConfig } from './config-file.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, type Flags, progress } from './io.ts';
import {
  completed,
  effectsOf,
  type NewPolicy,
  nameProblems,
  type PairChange,
  policyName,
  policyOfFlags,
  readPolicyFile,
  shownChanges,
  warningsOf,
} from './new-policies.ts';
import { formatOf, formatTable, print } from './output.ts';

export async function addPolicies(context: CommandContext): Promise<number> {
  const { io, client, flags } = context;
  const say = progress(io);
  const given =
    flags.text('filename') === undefined
      ? { policies: [policyOfFlags(context)], configs: [] }
      : await readPolicyFile(context);
  const view = await readView(context);
  const now = new Date(io.clock.now()).toISOString();
  const objects = given.policies.map((object) => completed(object, view, now));
  const configs = given.configs.map((config) => placedConfig(config, view, say));
  // Options in a ConfigMap belong to the policy, so report their errors where the policy is written.
  const options = new Map([...(await optionsOf(context, objects)), ...configs.map(optionsEntry)]);
  const complete = objects.map((object) => ({ ...object, spec: withOptions(object, options) }));
  const problems = [
    ...nameProblems(objects),
    ...configs.flatMap(configProblems),
    ...complete.flatMap((object) =>
      readPolicy(object).problems.map(({ message }) => `policy "${object.metadata.name}": ${message}`),
    ),
  ];
  if (problems.length > 0) throw CommandErrors.Invalid('cable policy', problems);
  const overwrites = flags.isSet('overwrite');
  const existing = new Set(view.all.map(({ name }) => name));
  const taken = objects.find(({ metadata }) => existing.has(metadata.name ?? ''));
  if (taken !== undefined && !overwrites) throw CommandErrors.PolicyExists(taken.metadata.name ?? '');
  const changes = effectsOf(view, complete);
  if (objects.length > 0) for (const line of shownChanges(changes)) say.note(line);
  const warnings = warningsOf(view, complete);
  for (const line of warnings) say.warning(line);
  const isDryRun = flags.isSet('dry-run');
  const report = (done: ReadonlyMap<string, string>) =>
    printAdded(context, { isDryRun, policies: complete, done, changes, warnings });
  if (isDryRun) {
    for (const { metadata } of configs) say.done(`Would create ConfigMap "${metadata.name}" (dry run)`);
    for (const { metadata } of objects) say.done(`Would create cable policy "${metadata.name}" (dry run)`);
    await report(new Map(objects.map(({ metadata }) => [metadata.name ?? '', 'none'])));
    return 0;
  }
  if (!flags.isSet('yes') && io.confirm !== undefined && !(await io.confirm('Create?'))) return 1;
  for (const config of configs) say.done(await writeConfig(context, config, overwrites));
  const done = new Map<string, string>();
  for (const object of objects) {
    const name = object.metadata.name ?? '';
    try {
      await client.create(CablePolicies, object, { signal: io.signal });
      say.done(`Created cable policy "${name}"`);
      done.set(name, 'created');
    } catch (error) {
      if (!isAlreadyExists(error) || !overwrites) throw error;
      const ref = { namespace: view.namespace, name };
      await client.patch(CablePolicies, ref, 'json', [{ op: 'replace', path: '/spec', value: object.spec }], {
        signal: io.signal,
      });
      say.done(`Replaced cable policy "${name}"`);
      done.set(name, 'replaced');
    }
  }
  await report(done);
  return 0;
}

/** Prints the created policies and the changed pairs with -o. Progress goes to stderr in every format. */
async function printAdded(
  context: CommandContext,
  result: {
    readonly isDryRun: boolean;
    readonly policies: readonly NewPolicy[];
    readonly done: ReadonlyMap<string, string>;
    readonly changes: readonly PairChange[];
    readonly warnings: readonly string[];
  },
): Promise<void> {
  if (formatOf(context.flags, 'cable-policy add') === 'table') return;
  const names = result.policies.map(({ metadata }) => metadata.name ?? '');
  const value = {
    dryRun: result.isDryRun,
    policies: names.map((name) => ({ name, action: result.done.get(name) ?? 'none' })),
    changes: result.changes,
    warnings: result.warnings,
  };
  const report = { value, text: () => '', names: () => names.map(policyName) };
  await print(context, report, 'cable-policy add');
}

export async function deletePolicy(context: CommandContext): Promise<number> {
  const { io, client, flags } = context;
  const name = flags.text('name') ?? flags.positionals[0];
  if (name === undefined) throw CommandErrors.Usage('--name: the name of the policy is missing', 'cable-policy delete');
  if (name === DEFAULT_POLICY) {
    for (const line of await defaultConsequences(context)) progress(io).warning(line);
    if (!flags.isSet('force')) throw CommandErrors.DefaultPolicy();
  }
  const { namespace } = await findPlace(context);
  try {
    await client.delete(CablePolicies, { namespace, name }, { signal: io.signal });
  } catch (error) {
    throw isNotFound(error) ? CommandErrors.PolicyNotFound(name) : error;
  }
  progress(io).done(`Deleted cable policy "${name}"`);
  return 0;
}

/** Describes the consequences of deleting the default policy. */
async function defaultConsequences(context: CommandContext): Promise<string[]> {
  const view = await readView(context);
  const ranking = rankRules(view.policies, view.requiresEncryption);
  const pairs = createPairMatrix(ranking, view.clusters).counts().at(-1) ?? 0;
  const driver = ranking.fallback?.driver;
  if (driver === undefined) return [];
  return [
    `policy "default" decides ${pairs === 1 ? '1 pair' : `${pairs} pairs`} of clusters, which no other policy selects (${driver})`,
    `the broker creates it again as it last was valid (${driver}), and these pairs keep ${driver} meanwhile; to change them, use "cable-policy add --name default --cable-driver NAME --overwrite"`,
  ];
}

export async function listPolicies(context: CommandContext): Promise<number> {
  const view = await readView(context);
  const ranking = rankRules(view.policies, view.requiresEncryption);
  const counts = createPairMatrix(ranking, view.clusters).counts();
  const ordered = view.all
    .map((policy, index) => ({ policy, object: view.objects[index] }))
    .toSorted(({ policy: a }, { policy: b }) =>
      a.name === b.name
        ? 0
        : Number(a.name === DEFAULT_POLICY) - Number(b.name === DEFAULT_POLICY) || (a.name < b.name ? -1 : 1),
    );
  const pairsOf = (policy: Policy, object: CablePolicies | undefined) =>
    isSuperseded(object)
      ? 0
      : policy.name === DEFAULT_POLICY
        ? (counts.at(-1) ?? 0)
        : ranking.rules.reduce(
            (sum, { rule }, index) => sum + (rule.policy === policy.name ? (counts[index] ?? 0) : 0),
            0,
          );
  const data = ordered.map(({ policy, object }) => ({
    name: policy.name,
    origin: policy.origin,
    ...acceptanceOf(policy, object),
    pairs: pairsOf(policy, object),
    rules: policy.rules.map(({ left, right, driver, options, priority, index }) => ({
      left: formatSelector(left),
      right: formatSelector(right),
      driver,
      options: options.data,
      ...configOf(object, index),
      priority,
    })),
  }));
  const text = (isWide: boolean) => {
    if (data.length === 0) return 'no cable policies found\n';
    return formatTable(
      [
        'NAME',
        'LEFT SELECTOR',
        'RIGHT SELECTOR',
        'CABLE DRIVER',
        'CONFIG',
        'PRIORITY',
        'ORIGIN',
        'PAIRS',
        'STATUS',
        ...(isWide ? ['PROBLEMS'] : []),
      ],
      data.flatMap(({ name, origin, pairs, status, rules, problems }) => {
        const none = { left: '', right: '', driver: '', priority: 0, config: undefined };
        return (rules.length === 0 ? [none] : rules).map(({ left, right, driver, priority, config = '' }, index) => [
          rules.length > 1 ? `${name}[${index}]` : name,
          left,
          right,
          driver,
          config,
          String(priority),
          origin,
          index === 0 ? String(pairs) : '',
          status,
          ...(isWide ? [index === 0 ? problems.join('; ') : ''] : []),
        ]);
      }),
      { limits: [30, 40, 40, 20, 30, 8, 24], isWide },
    );
  };
  const names = () => data.map(({ name }) => policyName(name));
  await print(context, { value: data, text, names }, 'cable-policy list');
  return 0;
}

/** Returns the ConfigMap that a rule names. The rule already contains its options. */
function configOf(object: CablePolicies | undefined, index: number): { config?: string } {
  const name = object === undefined ? undefined : readPolicy(object).rules[index]?.options.configMapRef?.name;
  return name === undefined ? {} : { config: name };
}

/** Returns the problems of a policy: its own ones, or those that the operator reports. */
export function acceptanceOf(
  { problems }: Policy,
  object: CablePolicies | undefined,
): { status: string; problems: string[] } {
  if (problems.length > 0) return { status: 'Invalid', problems: problems.map(({ message }) => message) };
  const conditions = object?.status?.conditions ?? [];
  const wrong = ['Accepted', 'OptionsResolved'].map((name) =>
    conditions.find(({ type, status }) => type === name && status === 'False'),
  );
  const [first] = wrong.filter((each) => each !== undefined);
  return first === undefined
    ? { status: 'Accepted', problems: [] }
    : { status: first.reason, problems: [first.message] };
}

/** Returns the two clusters to explain. */
export function checkExplained(flags: Flags): readonly [string, string] {
  const [one, other, ...more] = [...flags.list('cluster'), ...flags.positionals];
  if (one === undefined || other === undefined || more.length > 0)
    throw CommandErrors.Usage('two clusters must be named', 'cable-policy explain');
  if (one === other) throw CommandErrors.Usage('a cluster has no cable to itself; name two', 'cable-policy explain');
  return [one, other];
}

export async function explainPolicy(context: CommandContext): Promise<number> {
  const [one, other] = checkExplained(context.flags);
  const view = await readView(context);
  const known = view.clusters.map(({ id }) => id);
  const find = (name: string) => {
    const found = view.clusters.find(({ id }) => id === name);
    if (found === undefined) throw CommandErrors.UnknownCluster(name, known);
    return found;
  };
  const explained = explainPair(find(one), find(other), view.policies, view);
  const { driver, candidates, message, policy, ambiguous, reason } = explained;
  const text = () => {
    const lines = [
      `${explained.left} - ${explained.right}: ${driver ?? 'not connected'}`,
      `  policy   ${policy} (${reason})${ambiguous ? ', ambiguous' : ''}`,
      `  because  ${message}`,
    ];
    const rows = candidates.map((each, index) => [
      index === 0 ? '*' : '',
      each.policy,
      each.driver,
      String(each.priority),
      String(each.specificity),
      each.createdAt ?? '',
      each.left,
      each.right,
    ]);
    const heading = ['', 'POLICY', 'CABLE DRIVER', 'PRIORITY', 'SPECIFICITY', 'CREATED', 'LEFT', 'RIGHT'];
    return `${lines.join('\n')}\n${rows.length === 0 ? '' : `\n${formatTable(heading, rows)}`}`;
  };
  const report = { value: { ...explained, driver: driver ?? null }, text, names: () => [policyName(policyOf(policy))] };
  await print(context, report, 'cable-policy explain');
  return 0;
}

/** Removes the index of the rule. */
function policyOf(label: string): string {
  return label.replace(/\[\d+\]$/, '');
}
