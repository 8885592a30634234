// The rights of a pod and its containers on the machine, and the fields that depend on its operating system.
import {
  type AppArmorProfile,
  type Container,
  type PodSecurityContext,
  type PodSpec,
  type SeccompProfile,
  type SecurityContext,
  validateDns1123Subdomain,
  type WindowsSecurityContextOptions,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { accountId, descendingPath, type Errors, fieldDuplicate, named, supported } from './rules.ts';

export function containerSecurity(
  errors: Errors,
  path: string,
  context: SecurityContext | undefined,
  { hostUsers = true }: PodSpec,
): void {
  if (!context) return;
  accountId(errors, `${path}.runAsUser`, context.runAsUser);
  accountId(errors, `${path}.runAsGroup`, context.runAsGroup);
  supported(errors, `${path}.procMount`, context.procMount, ['Default', 'Unmasked']);
  if (hostUsers && context.procMount === 'Unmasked') {
    const detail = '`hostUsers` must be false to use `Unmasked`';
    errors.push(fieldInvalid(`${path}.procMount`, context.procMount, detail));
  }
  seccomp(errors, `${path}.seccompProfile`, context.seccompProfile);
  if (context.allowPrivilegeEscalation === false) {
    const clash = (detail: string) =>
      errors.push(
        fieldInvalid(
          path,
          goSecurityContext(context),
          `cannot set \`allowPrivilegeEscalation\` to false and ${detail}`,
        ),
      );
    if (context.privileged) clash('`privileged` to true');
    for (const capability of context.capabilities?.add ?? []) {
      if (capability === 'CAP_SYS_ADMIN') clash('`capabilities.Add` CAP_SYS_ADMIN');
    }
  }
  windowsOptions(errors, `${path}.windowsOptions`, context.windowsOptions);
  appArmor(errors, `${path}.appArmorProfile`, context.appArmorProfile);
}

/** As Kubernetes shows it in a message: Go's struct, with every field. */
function goSecurityContext(context: SecurityContext): unknown {
  const { capabilities, seLinuxOptions, windowsOptions: windows, seccompProfile, appArmorProfile } = context;
  const profile = (one: SeccompProfile | undefined) =>
    one ? { Type: one.type, LocalhostProfile: one.localhostProfile ?? null } : null;
  return {
    Capabilities: capabilities ? { Add: capabilities.add ?? null, Drop: capabilities.drop ?? null } : null,
    Privileged: context.privileged ?? null,
    SELinuxOptions: seLinuxOptions
      ? {
          User: seLinuxOptions.user ?? '',
          Role: seLinuxOptions.role ?? '',
          Type: seLinuxOptions.type ?? '',
          Level: seLinuxOptions.level ?? '',
        }
      : null,
    WindowsOptions: windows
      ? {
          GMSACredentialSpecName: windows.gmsaCredentialSpecName ?? null,
          GMSACredentialSpec: windows.gmsaCredentialSpec ?? null,
          RunAsUserName: windows.runAsUserName ?? null,
          HostProcess: windows.hostProcess ?? null,
        }
      : null,
    RunAsUser: context.runAsUser ?? null,
    RunAsGroup: context.runAsGroup ?? null,
    RunAsNonRoot: context.runAsNonRoot ?? null,
    ReadOnlyRootFilesystem: context.readOnlyRootFilesystem ?? null,
    AllowPrivilegeEscalation: context.allowPrivilegeEscalation ?? null,
    ProcMount: context.procMount ?? null,
    SeccompProfile: profile(seccompProfile),
    AppArmorProfile: profile(appArmorProfile),
  };
}

const SYSCTL_NAME = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const SYSCTL_DETAIL =
  'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$';

export function podSecurity(errors: Errors, path: string, spec: PodSpec): void {
  const context: PodSecurityContext = spec.securityContext ?? {};
  accountId(errors, `${path}.fsGroup`, context.fsGroup);
  accountId(errors, `${path}.runAsUser`, context.runAsUser);
  accountId(errors, `${path}.runAsGroup`, context.runAsGroup);
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    accountId(errors, `${path}.supplementalGroups[${index}]`, group);
  }
  if (spec.shareProcessNamespace && spec.hostPID) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled';
    errors.push(fieldInvalid(`${path}.shareProcessNamespace`, true, detail));
  }
  sysctls(errors, `${path}.sysctls`, spec);
  supported(errors, `${path}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  seccomp(errors, `${path}.seccompProfile`, context.seccompProfile);
  windowsOptions(errors, `${path}.windowsOptions`, context.windowsOptions);
  appArmor(errors, `${path}.appArmorProfile`, context.appArmorProfile);
  supported(errors, `${path}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  supported(errors, `${path}.seLinuxChangePolicy`, context.seLinuxChangePolicy, ['MountOption', 'Recursive']);
}

function sysctls(errors: Errors, path: string, { securityContext, hostNetwork, hostIPC }: PodSpec): void {
  const seen = new Set<string>();
  for (const [index, { name }] of (securityContext?.sysctls ?? []).entries()) {
    const at = `${path}[${index}].name`;
    if (name === '') errors.push(fieldRequired(at));
    else if (name.length > 253 || !SYSCTL_NAME.test(name)) errors.push(fieldInvalid(at, name, SYSCTL_DETAIL));
    else if (seen.has(name)) errors.push(fieldDuplicate(at, name));
    const dotted = name.replaceAll('/', '.');
    if (hostNetwork && dotted.startsWith('net.')) {
      errors.push(fieldInvalid(at, name, "may not be specified when 'hostNetwork' is true"));
    } else if (hostIPC && /^(kernel\.(shm|msg|sem)|fs\.mqueue\.)/.test(dotted)) {
      errors.push(fieldInvalid(at, name, "may not be specified when 'hostIPC' is true"));
    }
    seen.add(name);
  }
}

const PROFILES = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function seccomp(errors: Errors, path: string, profile: SeccompProfile | undefined): void {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  if (!type) errors.push(fieldRequired(`${path}.type`, 'type is required when seccompProfile is set'));
  else supported(errors, `${path}.type`, type, PROFILES);
  const at = `${path}.localhostProfile`;
  if (type !== 'Localhost') {
    const shown = { Type: type, LocalhostProfile: localhostProfile };
    if (localhostProfile !== undefined) {
      errors.push(fieldInvalid(at, shown, 'can only be set when seccomp type is Localhost'));
    }
  } else if (localhostProfile === undefined) {
    errors.push(fieldRequired(at, 'must be set when seccomp type is Localhost'));
  } else descendingPath(errors, at, localhostProfile);
}

function appArmor(errors: Errors, path: string, profile: AppArmorProfile | undefined): void {
  if (!profile) return;
  const { type, localhostProfile } = profile;
  const at = `${path}.localhostProfile`;
  if (!type) errors.push(fieldRequired(`${path}.type`, 'type is required when appArmorProfile is set'));
  else if (!PROFILES.includes(type)) errors.push(fieldNotSupported(`${path}.type`, type, PROFILES));
  else if (type !== 'Localhost') {
    if (localhostProfile !== undefined) {
      errors.push(fieldInvalid(at, localhostProfile, 'can only be set when AppArmor type is Localhost'));
    }
  } else if (!localhostProfile) {
    errors.push(fieldRequired(at, 'must be set when AppArmor type is Localhost'));
  } else if (localhostProfile.trim() !== localhostProfile) {
    errors.push(fieldInvalid(at, localhostProfile, 'must not be padded with whitespace'));
  }
}

function windowsOptions(errors: Errors, path: string, options: WindowsSecurityContextOptions | undefined): void {
  const name = options?.gmsaCredentialSpecName;
  if (name !== undefined) named(errors, `${path}.gmsaCredentialSpecName`, name, validateDns1123Subdomain(name));
  if (options?.runAsUserName === '') {
    errors.push(fieldInvalid(`${path}.runAsUserName`, '', 'runAsUserName cannot be an empty string'));
  }
}

/** Containers that share everything with a Windows machine: all of a pod, or none. */
export function hostProcess(errors: Errors, path: string, spec: PodSpec): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  const all = containersAt(spec, path);
  let count = 0;
  for (const [at, { securityContext }] of all) {
    const own = securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      errors.push(fieldInvalid(`${at}.securityContext.windowsOptions.hostProcess`, own, detail));
    }
    if (own ?? ofPod) count += 1;
  }
  if (count === 0) return;
  if (count !== all.length) {
    const detail = 'If pod contains any hostProcess containers then all containers must be HostProcess containers';
    errors.push(fieldInvalid(path, '', detail));
  }
  if (!spec.hostNetwork) {
    const detail = 'hostNetwork must be true if pod contains any hostProcess containers';
    errors.push(fieldInvalid(`${path}.hostNetwork`, false, detail));
  }
}

/** A pod with users of its own shares nothing of the machine. */
export function ownUsers(errors: Errors, path: string, spec: PodSpec): void {
  if (spec.hostUsers !== false) return;
  const detail = 'when `hostUsers` is false';
  if (spec.hostNetwork) errors.push(fieldForbidden(`${path}.hostNetwork`, detail));
  if (spec.hostPID) errors.push(fieldForbidden(`${path}.HostPID`, detail));
  if (spec.hostIPC) errors.push(fieldForbidden(`${path}.HostIPC`, detail));
  for (const [at, { volumeDevices }] of containersAt(spec, path)) {
    if ((volumeDevices ?? []).length > 0) errors.push(fieldForbidden(`${at}.volumeDevices`, detail));
  }
}

/** Init containers first, as Kubernetes visits them. */
function containersAt(spec: PodSpec, path: string): [at: string, container: Container][] {
  return (['initContainers', 'containers'] as const).flatMap((field) =>
    (spec[field] ?? []).map((one, index): [string, Container] => [`${path}.${field}[${index}]`, one]),
  );
}

export function operatingSystem(errors: Errors, path: string, spec: PodSpec): void {
  if (!spec.os) return;
  const { name } = spec.os;
  if (!name) errors.push(fieldRequired(`${path}.os.name`));
  else if (name === 'linux') linux(errors, path, spec);
  else if (name === 'windows') windows(errors, path, spec);
  else errors.push(fieldNotSupported(`${path}.os`, name, ['linux', 'windows']));
}

function linux(errors: Errors, path: string, spec: PodSpec): void {
  const detail = 'windows options cannot be set for a linux pod';
  const places: [string, Container | PodSpec][] = [[path, spec], ...containersAt(spec, path)];
  for (const [at, { securityContext }] of places) {
    if (securityContext?.windowsOptions) {
      errors.push(fieldForbidden(`${at}.securityContext.windowsOptions`, detail));
    }
  }
}

const NOT_IN_WINDOWS_PODS = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'fsGroup',
  'fsGroupChangePolicy',
  'sysctls',
  'runAsUser',
  'runAsGroup',
  'supplementalGroups',
  'supplementalGroupsPolicy',
  'seLinuxChangePolicy',
] as const satisfies readonly (keyof PodSecurityContext)[];

const NOT_IN_WINDOWS_CONTAINERS = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const satisfies readonly (keyof SecurityContext)[];

function windows(errors: Errors, path: string, spec: PodSpec): void {
  const refuse = (field: string) => errors.push(fieldForbidden(field, 'cannot be set for a windows pod'));
  if (spec.hostUsers !== undefined) refuse(`${path}.hostUsers`);
  if (spec.hostPID) refuse(`${path}.hostPID`);
  if (spec.hostIPC) refuse(`${path}.hostIPC`);
  if (spec.shareProcessNamespace !== undefined) refuse(`${path}.shareProcessNamespace`);
  for (const field of NOT_IN_WINDOWS_PODS) {
    if (spec.securityContext?.[field] !== undefined) refuse(`${path}.securityContext.${field}`);
  }
  for (const [at, { securityContext }] of containersAt(spec, path)) {
    for (const field of NOT_IN_WINDOWS_CONTAINERS) {
      if (securityContext?.[field] !== undefined) refuse(`${at}.securityContext.${field}`);
    }
  }
}
