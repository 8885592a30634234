// The cases in which a package with a DeploymentRuntimeConfig does not run exactly as with its ControllerConfig, because the two are laid
// over the rest in another order. Each difference names the field that it affects. All other fields are equal, which a test proves for
// generated inputs.
import { isJsonObject, type JsonObject } from '@capstan/kube';
import type { RuntimeKind } from '../runtime/render/labels.ts';
import { GRPC_PORT, METRICS_PORT, type RolePort, WEBHOOK_PORT } from '../runtime/render/ports.ts';
import { missingPullSecrets } from './convert-package.ts';
import type { ConversionFinding, RenderedChange } from './finding.ts';
import { isReferring, managedEnvOf, referencesIn, referredEnv } from './managed-names.ts';
import { type Manifest, nameOf, namesIn, objectIn } from './manifest.ts';
import { SCRAPE } from './to-runtime-config.ts';
import { DEFAULT_PULL_POLICY, ownPullPolicy, type User } from './user.ts';

const POD = 'spec.template.spec';
const CONTAINER = `${POD}.containers[0]`;
const ANNOTATIONS = 'spec.template.metadata.annotations';

/** Returns the differences for the packages that use a ControllerConfig. */
export function differencesOf(manifest: Manifest, users: readonly User[]): ConversionFinding[] {
  const found: ConversionFinding[] = [];
  const spec = objectIn(manifest.value, 'spec');
  const subject = `ControllerConfig ${nameOf(manifest.value)}`;
  const about = (level: 'note' | 'warning', message: string, changes: readonly RenderedChange[] = []) =>
    found.push({ level, place: manifest.place, subject, message, changes });
  const ids = (some: readonly User[]) => some.map(({ id }) => id).join(', ');
  const changed = (some: readonly User[], object: RenderedChange['object'], ...paths: string[]) =>
    some.flatMap(({ id }) => paths.map((path): RenderedChange => ({ package: id, object, path })));

  if (users.length === 0)
    about(
      'warning',
      'no package in the input refers to it; packages elsewhere must be changed to spec.runtimeConfigRef',
    );
  if (spec['image'])
    about(
      'note',
      'its image is kept by the annotation capstan.dev/keep-template-image; without it the package’s own image would be used',
    );
  pullPolicy();
  pullSecrets();
  ports();
  env();
  volumes();
  scraping();
  const account = spec['serviceAccountName'];
  if (typeof account === 'string' && account !== '' && users.length > 1)
    about('note', `${ids(users)} share the ServiceAccount ${account}, as before`);
  return found;

  function pullPolicy(): void {
    const policy = spec['imagePullPolicy'];
    if (typeof policy !== 'string' || policy === '') return;
    if (users.length === 0) {
      about(
        'warning',
        `spec.imagePullPolicy (${policy}) has no effect in a runtime config; set spec.packagePullPolicy of the packages that use it`,
      );
    }
    const others = users.filter((user) => (ownPullPolicy(user) ?? policy) !== policy);
    if (others.length > 0)
      about(
        'warning',
        `spec.imagePullPolicy (${policy}) is not carried over to ${ids(others)}, which have a spec.packagePullPolicy of their own that now holds for the runtime too`,
        changed(others, 'Deployment', `${CONTAINER}.imagePullPolicy`),
      );
    const takers = users.filter((user) => ownPullPolicy(user) === undefined);
    if (takers.length > 0 && policy !== DEFAULT_PULL_POLICY)
      about(
        'warning',
        `spec.imagePullPolicy (${policy}) is spec.packagePullPolicy of ${ids(takers)} now, where it also controls how the package itself is fetched${HINTS[policy] ?? ''}`,
      );
  }

  function pullSecrets(): void {
    const wanted = new Set(namesIn(spec['imagePullSecrets']));
    if (wanted.size === 0 || users.length === 0) return;
    const own = ({ manifest: { value } }: User) => namesIn(objectIn(value, 'spec')['packagePullSecrets']);
    const takers = users.filter(({ manifest: { value } }) => missingPullSecrets(value, manifest.value).length > 0);
    if (takers.length > 0)
      about(
        'note',
        `spec.imagePullSecrets are spec.packagePullSecrets of ${ids(takers)} now; the ServiceAccount has them too, and the package is fetched with them`,
        changed(takers, 'ServiceAccount', 'imagePullSecrets'),
      );
    // They replaced the package's, and are now beside them, in the package's order.
    const mixed = users.filter((user) => own(user).length > 0 && own(user).join() !== [...wanted].join());
    if (mixed.length > 0)
      about(
        'warning',
        `spec.imagePullSecrets replaced the pull secrets of ${ids(mixed)} in its pods; now the pods have both`,
        changed(mixed, 'Deployment', `${POD}.imagePullSecrets`),
      );
  }

  function ports(): void {
    const given = Array.isArray(spec['ports']) ? (spec['ports'] as unknown[]).filter(isJsonObject) : [];
    if (given.length === 0) return;
    const added = users.filter(({ kind }) =>
      rolePorts(kind).some((role) => !given.some(({ name }) => name === role.name)),
    );
    if (added.length > 0)
      about(
        'note',
        `spec.ports replaced all ports; ${ids(added)} now have the ports that they are served and scraped by as well`,
        changed(added, 'Deployment', `${CONTAINER}.ports`),
      );
    const renamed = users.filter(({ kind }) => {
      const role = kind === 'Provider' ? WEBHOOK_PORT : GRPC_PORT;
      return !given.some(({ name }) => name === role.name) && given.some((port) => isNumbered(port, role));
    });
    if (renamed.length > 0)
      about(
        'note',
        `the Service of ${ids(renamed)} leads to the port of that number now`,
        changed(renamed, 'Service', 'spec.ports'),
      );
    const scraped = users.filter(({ kind }) => kind === 'Provider');
    const metrics = given.find(({ name }) => name === METRICS_PORT.name);
    if (
      metrics !== undefined &&
      metrics['containerPort'] !== METRICS_PORT.containerPort &&
      scraped.length > 0 &&
      !isJsonObject(spec['metadata'])
    )
      about(
        'note',
        `${ids(scraped)} are scraped at the port that spec.ports calls metrics now, no longer at 8080`,
        changed(scraped, 'Deployment', ANNOTATIONS),
      );
  }

  function env(): void {
    const own = new Set(namesIn(spec['env']));
    const referred = referencesIn(spec['env']);
    const copied = referredEnv(
      manifest.value,
      users.map(({ kind }) => kind),
    );
    for (const user of users) {
      const managed = managedEnvOf(user.kind);
      const foreign = namesIn(copied).filter((name) => !managed.some((entry) => entry.name === name));
      if (foreign.length > 0)
        about(
          'warning',
          `${user.id} gets ${foreign.join(', ')} as well, which spec.env refers to and only packages of the other kind had`,
          changed([user], 'Deployment', `${CONTAINER}.env`),
        );
      const clashing = managed.filter(({ name }) => own.has(name)).map(({ name }) => name);
      if (clashing.length > 0)
        about(
          'warning',
          `spec.env sets ${clashing.join(', ')}, which the package manager now sets itself for ${user.id}`,
          changed([user], 'Deployment', `${CONTAINER}.env`),
        );
      const late = managed.filter((entry) => isReferring(entry) && referred.has(entry.name) && !own.has(entry.name));
      if (late.length > 0)
        about(
          'warning',
          `spec.env refers to ${late.map(({ name }) => name).join(', ')}, which comes after it now and is not filled in for ${user.id}; write the folder itself`,
          changed([user], 'Deployment', `${CONTAINER}.env`),
        );
    }
  }

  function volumes(): void {
    for (const user of users) {
      const roles = user.kind === 'Provider' ? ['client', 'server'] : ['server'];
      const names = namesIn(spec['volumes']).filter((name) => roles.some((role) => name === `tls-${role}-certs`));
      if (names.length > 0)
        about(
          'warning',
          `spec.volumes has ${names.join(', ')}, which the package manager now sets itself for ${user.id}`,
          changed([user], 'Deployment', `${POD}.volumes`),
        );
      const paths = pathsIn(spec['volumeMounts']).filter((path) => roles.some((role) => path === `/tls/${role}`));
      if (paths.length > 0)
        about(
          'warning',
          `spec.volumeMounts has ${paths.join(', ')}, where the package manager now mounts its own for ${user.id}`,
          changed([user], 'Deployment', `${CONTAINER}.volumeMounts`),
        );
    }
  }

  function scraping(): void {
    if (!isJsonObject(spec['metadata']) || objectIn(spec, 'metadata', 'annotations')[SCRAPE] !== undefined) return;
    if (users.length > 0 && !users.some(({ kind }) => kind === 'Provider')) return;
    about(
      'note',
      `spec.metadata replaced the annotations for scraping; ${SCRAPE}: "false" takes their place`,
      changed(users, 'Deployment', ANNOTATIONS),
    );
  }
}

const HINTS: Readonly<Record<string, string>> = {
  Always: ': its tag is checked periodically, and a tag that moved is installed',
  Never: ': a package that is not in the cache yet cannot be installed',
};

function rolePorts(kind: RuntimeKind): RolePort[] {
  return [METRICS_PORT, kind === 'Provider' ? WEBHOOK_PORT : GRPC_PORT];
}

function isNumbered({ containerPort, protocol }: JsonObject, role: RolePort): boolean {
  return containerPort === role.containerPort && (protocol ?? 'TCP') === 'TCP';
}

function pathsIn(mounts: unknown): string[] {
  if (!Array.isArray(mounts)) return [];
  return mounts.flatMap((mount: unknown) => {
    const path = isJsonObject(mount) ? mount['mountPath'] : undefined;
    return typeof path === 'string' ? [path] : [];
  });
}
