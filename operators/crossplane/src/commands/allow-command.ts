// `crossplane core allow`: an administrator adds the types and requests of a provider to the bound of packages. The rights are those of
// the administrator: Crossplane itself can grant no right that this role does not hold.
import { type Client, ClusterRole, type KubeObject, type PolicyRule } from '@capstan/kube';
import { CLUSTER_OPTIONS, command, UsageErrors, withCluster } from '@capstan/reconcile/command-line';
import { BoundErrors } from '../errors.ts';
import { PACKAGE_LABEL, ProviderRevision } from '../kinds/index.ts';
import { ALLOWED_LABEL, DEFAULT_MAX_ROLE } from '../rbac/bound.ts';
import { definedType } from '../rbac/provider-roles.ts';
import { labelValue } from '../runtime/index.ts';

const EXAMPLE = 'crossplane core allow provider-aws';

export default command({
  usage: 'core allow PROVIDER [--dry-run]',
  description:
    `Adds the API groups that a provider defines, and the rights that its package asks for, to the ClusterRole\n${DEFAULT_MAX_ROLE}, which bounds what providers get. Prints each rule.\n` +
    'With --dry-run nothing is changed.',
  examples: [EXAMPLE, `${EXAMPLE} --dry-run`],
  positionals: 1,
  options: {
    ...CLUSTER_OPTIONS,
    'dry-run': { type: 'boolean', help: 'Print the rules, and change nothing.' },
  },
  async run({ flags, positionals }, io) {
    const [provider] = positionals;
    if (provider === undefined) throw UsageErrors.Missing('crossplane core allow', 'a provider', EXAMPLE);
    return withCluster(flags, io, async ({ client }) => {
      const role = await allowedRole(client, provider, io.signal);
      for (const rule of role.rules) io.stdout(`${shown(rule)}\n`);
      if (flags['dry-run'] === true) return 0;
      await client.apply(ClusterRole, role, { fieldManager: 'crossplane-allow', force: true, signal: io.signal });
      io.stdout(`clusterrole/${role.metadata.name ?? ''} allows it\n`);
      return 0;
    });
  },
});

/** Returns the role that allows the newest content of a provider. */
export async function allowedRole(
  client: Client,
  provider: string,
  signal: AbortSignal,
): Promise<KubeObject & { rules: PolicyRule[] }> {
  const { items } = await client.list(ProviderRevision, {
    labelSelector: `${PACKAGE_LABEL}=${labelValue(provider)}`,
    signal,
  });
  const active = items.filter(({ spec }) => spec.desiredState === 'Active');
  const groups = active
    .flatMap(({ status }) => status?.objectRefs ?? [])
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .map(({ name }) => definedType(name).group);
  if (groups.length === 0) throw BoundErrors.NothingToAllow(provider);
  const requests = active.flatMap(({ status }) => (status?.permissionRequests ?? []) as PolicyRule[]);
  return {
    apiVersion: ClusterRole.apiVersion,
    kind: ClusterRole.kind,
    metadata: { name: `crossplane:allowed:${provider}`, labels: { [ALLOWED_LABEL]: 'true' } },
    rules: [{ apiGroups: [...new Set(groups)].toSorted(), resources: ['*'], verbs: ['*'] }, ...requests],
  };
}

function shown({
  apiGroups = [],
  resources = [],
  resourceNames = [],
  nonResourceURLs = [],
  verbs,
}: PolicyRule): string {
  const named = resourceNames.length > 0 ? ` ${resourceNames.join(',')}` : '';
  if (nonResourceURLs.length > 0) return `${verbs.join(',')} ${nonResourceURLs.join(',')}`;
  const groups = apiGroups.map((group) => (group === '' ? 'core' : group)).join(', ');
  return `${verbs.join(',')} ${resources.join(',')}${named} of ${groups}`;
}
