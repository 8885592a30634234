// ServiceAccounts that configurations name. Several packages may run as one account, so none of them owns it: each lays its fields and a
// plain owner reference over it, and it exists while the plan of any package wants it. An account that no plan wants is removed in one
// place (reconcilers/service-accounts.ts), in whatever order packages left it.
import { type LocalObjectReference, ServiceAccount } from '@capstan/kube';
import { type DerivationDefinition, derivation, fieldManager, isMarked, type Reader } from '@capstan/reconcile';
import { PACKAGE_KINDS, type PackageKind, type PackageObject, runtimeFor } from '../packages/package-kind.ts';
import { isPaused } from '../packages/paused.ts';
import { contentKey } from '../packages/revision-content.ts';
import { activeRevision, revisionsOf } from '../packages/revisions.ts';
import type { Workload } from '../runtime/index.ts';
import type { Settings } from '../settings.ts';
import { accountsByOwner, ownerKey, refOf } from './owned-objects.ts';
import type { RevisionRuntimes } from './runtime-of-revision.ts';
import { isSettled } from './settled.ts';

/** On accounts that were created for packages; accounts of users do not have it, and are never removed. */
export const RUNTIME_ACCOUNT_LABEL = 'pkg.crossplane.io/runtime-account';

/** The runtime reconcilers create such accounts. One that a user labelled by hand is the user's. */
export const RUNTIME_ACCOUNT = {
  label: RUNTIME_ACCOUNT_LABEL,
  managers: PACKAGE_KINDS.map(({ name }) => fieldManager('crossplane', `${name}-runtime`)),
};

export interface AccountUse {
  /** Packages whose plan wants it, by uid, in their order. */
  readonly users: readonly string[];
  /** All that they want to pull with. */
  readonly pullSecrets: readonly LocalObjectReference[];
}

/** By the name of the account. */
export type AccountsInUse = DerivationDefinition<Readonly<Record<string, AccountUse>>>;

export function createAccountsInUse(settings: Settings, runtimes: RevisionRuntimes): AccountsInUse {
  const ofPackage = derivation<readonly WantedAccount[]>({
    name: 'accounts of a package',
    compute({ key, read }) {
      const [kindName = '', name = ''] = key.split(' ');
      const kind = PACKAGE_KINDS.find((one) => one.kind === kindName);
      const workload = kind === undefined ? undefined : runtimeFor(kind, settings)?.workload;
      const object = kind === undefined ? undefined : read.get(kind.package, { name }, packageOf);
      if (kind === undefined || workload === undefined || object === undefined) return [];
      return wantedBy(read, kind, workload, object, runtimes);
    },
  });
  return derivation({
    name: 'accounts in use',
    compute({ read }) {
      const uses = new Map<string, { users: string[]; pullSecrets: Map<string, LocalObjectReference> }>();
      for (const kind of PACKAGE_KINDS) {
        if (runtimeFor(kind, settings) === undefined) continue;
        for (const { name, uid } of read.list(kind.package, {}, identityOf))
          for (const { account, pullSecrets } of read.derived(ofPackage, `${kind.kind} ${name}`)) {
            const use = uses.get(account) ?? { users: [], pullSecrets: new Map<string, LocalObjectReference>() };
            uses.set(account, use);
            use.users.push(uid);
            for (const secret of pullSecrets) use.pullSecrets.set(secret.name ?? '', secret);
          }
      }
      return Object.fromEntries(
        [...uses].map(([account, { users, pullSecrets }]) => [
          account,
          { users: users.toSorted(), pullSecrets: [...pullSecrets.values()].toSorted(byName) },
        ]),
      );
    },
  });
}

interface WantedAccount {
  readonly account: string;
  readonly pullSecrets: readonly LocalObjectReference[];
}

/** Returns the accounts that its plan wants; without a new plan, those that it has. */
function wantedBy(
  read: Reader,
  kind: PackageKind,
  workload: Workload,
  object: PackageObject,
  runtimes: RevisionRuntimes,
): WantedAccount[] {
  const uid = object.metadata.uid ?? '';
  const held = () => named(read.by(accountsByOwner, ownerKey(kind, uid), refOf).map(({ name }) => name));
  if (isPaused(object)) return held();
  const active = activeRevision(revisionsOf(read, kind, object));
  if (active === undefined) return held();
  const runtime = read.derived(runtimes.ofRevision, contentKey(kind, active.name));
  if (runtime.state === 'failed') return held();
  const { rendered } = runtime;
  const { serviceAccount } = rendered;
  const wanted =
    serviceAccount === undefined
      ? []
      : [{ account: serviceAccount.metadata.name ?? '', pullSecrets: serviceAccount.imagePullSecrets ?? [] }];
  if (isSettled(read, workload, rendered, active.name)) return wanted;
  // Earlier pods keep the account that they started with.
  return [...wanted, ...held().filter(({ account }) => account !== serviceAccount?.metadata.name)];
}

const named = (names: readonly string[]) => names.map((account): WantedAccount => ({ account, pullSecrets: [] }));

const byName = (left: LocalObjectReference, right: LocalObjectReference) =>
  (left.name ?? '') < (right.name ?? '') ? -1 : 1;

const identityOf = ({ metadata }: PackageObject) => ({ name: metadata.name ?? '', uid: metadata.uid ?? '' });

/** The parts of a package that count here; undefined for one that is being deleted. */
const packageOf = ({ apiVersion, kind, metadata, spec }: PackageObject): PackageObject | undefined => {
  const { name, uid, annotations, deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return undefined;
  return {
    apiVersion,
    kind,
    metadata: { ...(name && { name }), ...(uid && { uid }), ...(annotations && { annotations }) },
    spec,
  };
};

/** Accounts that were created for packages, with the facts needed to remove them. */
export function runtimeAccounts(read: Reader, namespace: string) {
  return read
    .list(ServiceAccount, { namespace, labels: `${RUNTIME_ACCOUNT_LABEL}=true` }, accountIdentity)
    .filter((account) => account !== undefined);
}

const accountIdentity = (account: ServiceAccount) => {
  if (!isMarked(account, RUNTIME_ACCOUNT)) return undefined;
  const { apiVersion, kind, metadata } = account;
  const { namespace = '', name = '', uid = '' } = metadata;
  return { apiVersion, kind, metadata: { namespace, name, uid } };
};
