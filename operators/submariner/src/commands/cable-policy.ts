// subctl cable-policy add | list | delete | explain.
import {
  ConfigMap,
  isAlreadyExists,
  isNotFound,
  type JsonObject,
  type ObjectMeta,
  reasonOf,
  validateDns1123Subdomain,
} from '@capstan/kube';
import { objectName } from '@capstan/reconcile/command-line';
import { BROKER_ORIGIN, CablePolicies, CREATED_AT_ANNOTATION, ORIGIN_LABEL } from '../kinds/index.ts';
import { isEncrypted } from '../policy/driver-names.ts';
import { DEFAULT_POLICY, type Policy, readPolicy } from '../policy/read-policy.ts';
import { readYaml } from '../policy/read-yaml.ts';
import { formatSelector, parseSelectorText } from '../policy/selector.ts';
import { createPairMatrix } from '../resolution/pair-matrix.ts';
import { rankRules } from '../resolution/ranking.ts';
import { decideFor, explainPair } from '../resolution/resolver.ts';
import { isSuperseded } from '../sync/in-force.ts';
import { type ClusterView, findPlace, optionsOf, readView, withOptions } from './cluster-view.ts';
import { configProblems, optionsEntry, placedConfig, writeConfig } from './config-file.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, type Flags, progress } from './io.ts';
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

/** Checks all names before anything is written, so that either all policies are created or none. */
function nameProblems(objects: readonly NewPolicy[]): string[] {
  const seen = new Set<string>();
  return objects.flatMap(({ metadata: { name } }) => {
    if (name === undefined || name === '') return ['metadata.name: Required value'];
    const [wrong] = validateDns1123Subdomain(name);
    if (wrong !== undefined) return [`policy "${name}": metadata.name: Invalid value: "${name}": ${wrong}`];
    if (seen.has(name)) return [`policy "${name}": is given twice`];
    seen.add(name);
    return [];
  });
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

function policyName(name: string): string {
  return objectName(`${CablePolicies.kind}.${CablePolicies.group}`, name);
}

/** Removes the index of the rule. */
function policyOf(label: string): string {
  return label.replace(/\[\d+\]$/, '');
}

type NewPolicy = CablePolicies;

function policyOfFlags({ flags }: CommandContext): NewPolicy {
  const name = flags.text('name');
  const driver = flags.text('cable-driver');
  if (name === undefined || driver === undefined)
    throw CommandErrors.Usage(`--${name === undefined ? 'name' : 'cable-driver'} is missing`, 'cable-policy add');
  const side = (flag: string) => {
    const text = flags.text(flag);
    if (text === undefined || text.trim() === '') return {};
    try {
      return parseSelectorText(text);
    } catch (error) {
      throw CommandErrors.Usage(`--${flag}: ${reasonOf(error)}`, 'cable-policy add');
    }
  };
  const config = flags.text('cable-config');
  const priority = flags.text('priority');
  const rule = {
    leftClusterSelector: side('left-cluster-selector'),
    rightClusterSelector: side('right-cluster-selector'),
    cableDriver: { name: driver, ...(config !== undefined && { options: { configMapRef: { name: config } } }) },
    ...(priority !== undefined && { priority: Number(priority) }),
  };
  return { apiVersion: CablePolicies.apiVersion, kind: CablePolicies.kind, metadata: { name }, spec: [rule] };
}

interface PolicyFile {
  readonly policies: readonly NewPolicy[];
  readonly configs: readonly ConfigMap[];
}

async function readPolicyFile({ flags, io }: CommandContext): Promise<PolicyFile> {
  const file = flags.text('filename') ?? '';
  const text = file === '-' ? await io.files.stdin() : await io.files.read(file);
  const { objects, warnings, problems } = readYaml(text, file);
  for (const warning of warnings) progress(io).warning(warning);
  if (problems.length > 0) throw CommandErrors.Invalid(file, problems);
  if (objects.length === 0) throw CommandErrors.Invalid(file, ['holds no CablePolicies']);
  const other = objects.find(({ kind }) => kind !== CablePolicies.kind && kind !== ConfigMap.kind);
  if (other !== undefined)
    throw CommandErrors.Invalid(file, [
      `holds a ${String(other['kind'])}, not only CablePolicies and ConfigMaps with their options`,
    ]);
  const metadataOf = (object: JsonObject) => (object['metadata'] ?? {}) as ObjectMeta;
  return {
    policies: objects
      .filter(({ kind }) => kind === CablePolicies.kind)
      .map((object) => ({
        apiVersion: CablePolicies.apiVersion,
        kind: CablePolicies.kind,
        metadata: metadataOf(object),
        spec: object['spec'],
      })),
    configs: objects
      .filter(({ kind }) => kind === ConfigMap.kind)
      .map((object) => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: metadataOf(object),
        data: (object['data'] ?? {}) as Record<string, string>,
      })),
  };
}

/** Adds the metadata that the sync and the order of policies need. */
function completed(object: NewPolicy, { namespace, isBroker }: ClusterView, now: string): NewPolicy {
  const { annotations = {}, labels = {} } = object.metadata;
  return {
    ...object,
    metadata: {
      ...object.metadata,
      namespace,
      annotations: { [CREATED_AT_ANNOTATION]: now, ...annotations },
      ...(isBroker ? { labels: { ...labels, [ORIGIN_LABEL]: BROKER_ORIGIN } } : {}),
    },
  };
}

interface PairChange {
  readonly left: string;
  readonly right: string;
  readonly before: string | null;
  readonly after: string | null;
  /** The reason why the pair would not be connected. */
  readonly reason?: string;
}

/** Returns the pairs whose driver would change. */
function effectsOf(view: ClusterView, added: readonly NewPolicy[]): PairChange[] {
  const policies = added.map((object) => readPolicy(object));
  const after = rankRules(withAdded(view, policies), view.requiresEncryption);
  const before = rankRules(view.policies, view.requiresEncryption);
  const changes: PairChange[] = [];
  for (const [index, local] of view.clusters.entries()) {
    const others = view.clusters.slice(index + 1);
    const [old, next] = [before, after].map((ranking) => decideFor(local, others, { ...view, ranking }));
    for (const [remote, { driver, message }] of next ?? []) {
      const was = old?.get(remote)?.driver;
      if (was !== driver)
        changes.push({
          left: local.id,
          right: remote,
          before: was ?? null,
          after: driver ?? null,
          ...(driver === undefined && { reason: message }),
        });
    }
  }
  return changes;
}

function shownChanges(changes: readonly PairChange[]): string[] {
  const lines = changes.map(
    ({ left, right, before, after, reason }) =>
      `${left} - ${right}: ${before ?? 'not connected'} -> ${after ?? `not connected (${reason ?? ''})`}`,
  );
  if (lines.length === 0) return ['No pair changes its cable driver'];
  const shown = lines.slice(0, 20);
  return [
    lines.length === 1 ? '1 pair changes its cable driver:' : `${lines.length} pairs change their cable driver:`,
    ...shown.map((line) => `  ${line}`),
    ...(lines.length > 20 ? ['  …'] : []),
  ];
}

/** Returns the future policies: a new one replaces the present one of its name. */
function withAdded({ policies }: ClusterView, added: readonly Policy[]): Policy[] {
  const names = new Set(added.map(({ name }) => name));
  return [...policies.filter(({ name }) => !names.has(name)), ...added];
}

function warningsOf(view: ClusterView, added: readonly NewPolicy[]): string[] {
  const policies = added.map((object) => readPolicy(object));
  const ranking = rankRules(withAdded(view, policies), view.requiresEncryption);
  const matrix = createPairMatrix(ranking, view.clusters);
  const counts = matrix.counts();
  const warnings: string[] = [];
  for (const { name } of policies) {
    if (name === DEFAULT_POLICY || view.clusters.length < 2) continue;
    const pairs = ranking.rules.reduce(
      (sum, { rule }, index) => sum + (rule.policy === name ? (counts[index] ?? 0) : 0),
      0,
    );
    if (pairs === 0) warnings.push(`policy "${name}": decides no pair of the clusters that are known`);
  }
  for (const { name, rules } of policies)
    if (view.requiresEncryption && rules.some(({ driver }) => !isEncrypted(driver)))
      warnings.push(`policy "${name}": will not be accepted, as the broker asks for encryption (minimumSecurity)`);
  const [ambiguous] = matrix.ambiguousPairs();
  if (ambiguous !== undefined)
    warnings.push(
      `policies of the same rank contradict each other for ${ambiguous.join(' and ')}; give one a priority`,
    );
  return warnings;
}
