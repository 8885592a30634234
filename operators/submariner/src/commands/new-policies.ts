// Policies that are about to be created: where they come from, their problems, and the pairs that they change.
import { ConfigMap, type JsonObject, type ObjectMeta, reasonOf, validateDns1123Subdomain } from '@capstan/kube';
import { objectName } from '@capstan/reconcile/command-line';
import { BROKER_ORIGIN, CablePolicies, CREATED_AT_ANNOTATION, ORIGIN_LABEL } from '../kinds/index.ts';
import { isEncrypted } from '../policy/driver-names.ts';
import { DEFAULT_POLICY, type Policy, readPolicy } from '../policy/read-policy.ts';
import { readYaml } from '../policy/read-yaml.ts';
import { parseSelectorText } from '../policy/selector.ts';
import { createPairMatrix } from '../resolution/pair-matrix.ts';
import { rankRules } from '../resolution/ranking.ts';
import { decideFor } from '../resolution/resolver.ts';
import { type ClusterView } from './cluster-view.ts';
import { CommandErrors } from './errors.ts';
import { type CommandContext, progress } from './io.ts';

/** Checks all names before anything is written, so that either all policies are created or none. */
export function nameProblems(objects: readonly NewPolicy[]): string[] {
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

export function policyName(name: string): string {
  return objectName(`${CablePolicies.kind}.${CablePolicies.group}`, name);
}

export type NewPolicy = CablePolicies;

export function policyOfFlags({ flags }: CommandContext): NewPolicy {
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

export async function readPolicyFile({ flags, io }: CommandContext): Promise<PolicyFile> {
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
export function completed(object: NewPolicy, { namespace, isBroker }: ClusterView, now: string): NewPolicy {
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

export interface PairChange {
  readonly left: string;
  readonly right: string;
  readonly before: string | null;
  readonly after: string | null;
  /** The reason why the pair would not be connected. */
  readonly reason?: string;
}

/** Returns the pairs whose driver would change. */
export function effectsOf(view: ClusterView, added: readonly NewPolicy[]): PairChange[] {
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

export function shownChanges(changes: readonly PairChange[]): string[] {
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

export function warningsOf(view: ClusterView, added: readonly NewPolicy[]): string[] {
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
