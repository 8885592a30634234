// The decisions and findings of a conversion for each manifest. Pure: manifests in, decisions out; the text is
// rewritten elsewhere.
//
// A ControllerConfig is converted for all of its packages or for none: if one of them cannot follow (it has a runtime config
// already), the ControllerConfig and all of its packages stay as they are, so that no reference points to a removed object.
import { equal, type JsonObject } from '@capstan/kube';
import type { BuiltinSchemas } from '../runtime/check-template.ts';
import { normalizeRuntimeConfig } from '../runtime/normalize.ts';
import { RUNTIME_CONFIG_KIND } from '../runtime/runtime-config.ts';
import {
  controllerConfigOf,
  convertPackage,
  missingPullSecrets,
  type PackageChange,
  rivalReference,
} from './convert-package.ts';
import { differencesOf } from './differences.ts';
import type { ConversionFinding, RenderedChange } from './finding.ts';
import { referredEnv } from './managed-names.ts';
import { type Manifest, nameOf, objectIn, roleOf } from './manifest.ts';
import { CONTROLLER_CONFIG_FIELDS, toRuntimeConfig } from './to-runtime-config.ts';
import { DEFAULT_PULL_POLICY, ownPullPolicy, type User, usersIn } from './user.ts';

export interface ConversionPlan {
  /** The replacements of the manifests that change. */
  readonly replacements: ReadonlyMap<Manifest, Replacement>;
  readonly findings: readonly ConversionFinding[];
}

export type Replacement =
  | { readonly how: 'runtimeConfig'; readonly value: JsonObject }
  | { readonly how: 'package'; readonly value: JsonObject; readonly change: PackageChange };

export interface PlanOptions {
  /** The apiVersion of the configs and of the references to them: `pkg.crossplane.io/v1beta1`. */
  readonly apiVersion: string;
  /** Appended to the name of every converted config. */
  readonly nameSuffix: string;
  readonly schemas: BuiltinSchemas;
}

export function planConversion(manifests: readonly Manifest[], options: PlanOptions): ConversionPlan {
  const findings: ConversionFinding[] = [];
  const replacements = new Map<Manifest, Replacement>();
  const ofRole = (role: string) => manifests.filter(({ value }) => roleOf(value) === role);
  const configs = Map.groupBy(ofRole('controllerConfig'), ({ value }) => nameOf(value));
  const users = Map.groupBy(usersIn(manifests), ({ manifest }) => controllerConfigOf(manifest.value) ?? '');
  const taken = new Map(ofRole('runtimeConfig').map(({ value }) => [nameOf(value), value]));

  for (const [name, used] of users) {
    if (configs.has(name)) continue;
    for (const { manifest, id } of used) findings.push(missing(manifest, id, name));
  }
  for (const [name, same] of configs) {
    const used = users.get(name) ?? [];
    const obstacle = obstacleOf(name, same, used);
    if (obstacle !== undefined) findings.push(...obstacle);
    else for (const manifest of same) convertOne(manifest, name, used);
  }
  return { replacements, findings };

  function convertOne(manifest: Manifest, name: string, used: readonly User[]): void {
    const draft = (target: string) => draftOf(manifest.value, target, used, options);
    const target = freeName(`${name}${options.nameSuffix}`, (candidate) => {
      const there = taken.get(candidate);
      return candidate !== 'default' && (there === undefined || equal(there['spec'] ?? {}, draft(candidate)['spec']));
    });
    const value = draft(target);
    const about = (level: 'note' | 'warning', message: string, changes: readonly RenderedChange[] = []) =>
      findings.push({ level, place: manifest.place, subject: `ControllerConfig ${name}`, message, changes });
    const { errors, warnings } = normalizeRuntimeConfig(value, options.schemas);
    if (errors.length > 0) {
      for (const { message } of errors) about('warning', `not changed: as a ${RUNTIME_CONFIG_KIND} ${message}`);
      return;
    }
    for (const { message } of warnings) about('warning', `not carried over: ${message}`);
    for (const field of Object.keys(objectIn(manifest.value, 'spec'))) {
      if (CONTROLLER_CONFIG_FIELDS.includes(field)) continue;
      about('warning', `spec.${field} is not a field of a ControllerConfig and is not carried over`);
    }
    if (target !== `${name}${options.nameSuffix}`) about('warning', renamed(name + options.nameSuffix, target));
    if (taken.has(target))
      about(
        'note',
        `the input has an equal ${RUNTIME_CONFIG_KIND} ${target} already, so the ControllerConfig is not changed; remove it once nothing refers to it`,
      );
    else replacements.set(manifest, { how: 'runtimeConfig', value });
    for (const user of used) {
      const change = changeOf(user, manifest.value, {
        apiVersion: options.apiVersion,
        kind: RUNTIME_CONFIG_KIND,
        name: target,
      });
      replacements.set(user.manifest, { how: 'package', value: convertPackage(user.manifest.value, change), change });
    }
    findings.push(...differencesOf(manifest, used));
  }
}

/** Why a ControllerConfig and all who use it stay as they are. */
function obstacleOf(name: string, same: readonly Manifest[], used: readonly User[]): ConversionFinding[] | undefined {
  const [first] = same;
  const subject = `ControllerConfig ${name}`;
  if (same.some(({ value }) => !equal(value, first?.value))) {
    const message = `not changed, with what uses it, because the input has ${same.length} different ones of that name; keep one of them`;
    return same.map(({ place }) => ({ level: 'warning', place, subject, message, changes: [] }));
  }
  const rivals = used.flatMap(({ manifest, id }) => {
    const rival = rivalReference(manifest.value);
    return rival === undefined ? [] : [{ place: manifest.place, id, rival }];
  });
  if (rivals.length === 0) return undefined;
  return rivals.map(({ place, id, rival }) => ({
    level: 'warning',
    place,
    subject: id,
    message: `has both spec.controllerConfigRef (${name}) and spec.runtimeConfigRef (${rival.name}), and only one of them ever counted; it, the ControllerConfig and what else uses it are left as they are: remove one of the two and convert again`,
    changes: [],
  }));
}

function missing({ place }: Manifest, subject: string, name: string): ConversionFinding {
  const message = `refers to the ControllerConfig ${name}, which is not in the input, and is not changed; convert both together`;
  return { level: 'warning', place, subject, message, changes: [] };
}

function draftOf(
  controllerConfig: JsonObject,
  name: string,
  used: readonly User[],
  { apiVersion }: PlanOptions,
): JsonObject {
  return toRuntimeConfig(controllerConfig, {
    name,
    apiVersion,
    movesPulling: used.length > 0,
    // Functions are never scraped.
    forbidsScraping: used.length === 0 || used.some(({ kind }) => kind === 'Provider'),
    envBefore: referredEnv(controllerConfig, used.length === 0 ? ['Provider'] : used.map(({ kind }) => kind)),
  });
}

function changeOf(user: User, controllerConfig: JsonObject, reference: PackageChange['reference']): PackageChange {
  const policy = objectIn(controllerConfig, 'spec')['imagePullPolicy'];
  const isMoved =
    typeof policy === 'string' && policy !== '' && policy !== DEFAULT_PULL_POLICY && ownPullPolicy(user) === undefined;
  return {
    reference,
    ...(isMoved && { packagePullPolicy: policy }),
    packagePullSecrets: missingPullSecrets(user.manifest.value, controllerConfig),
  };
}

function freeName(wanted: string, isFree: (name: string) => boolean): string {
  if (isFree(wanted)) return wanted;
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? `${wanted}-converted` : `${wanted}-converted-${number}`;
    if (isFree(candidate)) return candidate;
  }
}

function renamed(name: string, target: string): string {
  return name === 'default'
    ? `is called ${target} now, because a ${RUNTIME_CONFIG_KIND} named default is for all packages that name none`
    : `is called ${target} now, because the input has another ${RUNTIME_CONFIG_KIND} ${name}`;
}
