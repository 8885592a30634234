import {
  type Container,
  compareQuantities,
  type EnvVar,
  type LifecycleHandler,
  type Probe,
  type ResourceRequirements,
  validatePortName,
  validateQualifiedName,
} from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldRequired } from '../errors.ts';
import {
  configKeyProblems,
  type Errors,
  fieldDuplicate,
  fieldNotFound,
  named,
  notNegative,
  oneOf,
  PROTOCOLS,
  portNumber,
  portNumberOrName,
  requiredLabel,
} from './rules.ts';

/** The containers of a list, at least one unless it is of init containers; `taken` are names that others have. */
export function containers(
  errors: Errors,
  path: string,
  list: readonly Container[] | undefined,
  volumes: ReadonlySet<string>,
  taken: Set<string>,
  isInit = false,
): void {
  for (const [index, container] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    requiredLabel(errors, `${at}.name`, container.name);
    if (!container.image) errors.push(fieldRequired(`${at}.image`));
    oneOf(errors, `${at}.terminationMessagePolicy`, container.terminationMessagePolicy, [
      'FallbackToLogsOnError',
      'File',
    ]);
    ports(errors, `${at}.ports`, container.ports);
    environment(errors, `${at}.env`, container.env);
    mounts(errors, `${at}.volumeMounts`, container, volumes);
    oneOf(errors, `${at}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
    resources(errors, `${at}.resources`, container.resources);
    if (taken.has(container.name)) errors.push(fieldDuplicate(`${at}.name`, container.name));
    taken.add(container.name);
    // Init containers run one after the other, so each may have the ports of another; Kubernetes reports them all as the first.
    if (isInit) hostPorts(errors, path, [container]);
    lifecycle(errors, `${at}.lifecycle`, container);
    for (const field of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
      const probe = container[field];
      if (!probe) continue;
      if (isInit && container.restartPolicy !== 'Always') {
        errors.push(
          fieldForbidden(`${at}.${field}`, 'may not be set for init containers without restartPolicy=Always'),
        );
        continue;
      }
      checkProbe(errors, `${at}.${field}`, probe);
      if (field !== 'readinessProbe' && probe.successThreshold !== 1) {
        errors.push(fieldInvalid(`${at}.${field}.successThreshold`, probe.successThreshold, 'must be 1'));
      }
    }
  }
  if (!isInit) hostPorts(errors, path, list ?? []);
}

/** Ports of the machine that are wanted twice. */
function hostPorts(errors: Errors, path: string, list: readonly Container[]): void {
  const taken = new Set<string>();
  for (const [index, container] of list.entries()) {
    for (const [at, port] of (container.ports ?? []).entries()) {
      if (!port.hostPort) continue;
      const id = `${port.protocol ?? ''}/${port.hostIP ?? ''}/${port.hostPort}`;
      if (taken.has(id)) errors.push(fieldDuplicate(`${path}[${index}].ports[${at}].hostPort`, id));
      taken.add(id);
    }
  }
}

function ports(errors: Errors, path: string, list: Container['ports']): void {
  const names = new Set<string>();
  for (const [index, port] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (port.name) {
      const problems = validatePortName(port.name);
      named(errors, `${at}.name`, port.name, problems);
      if (problems.length === 0 && names.has(port.name)) errors.push(fieldDuplicate(`${at}.name`, port.name));
      names.add(port.name);
    }
    if (port.containerPort === 0) errors.push(fieldRequired(`${at}.containerPort`));
    else portNumber(errors, `${at}.containerPort`, port.containerPort);
    if (port.hostPort) portNumber(errors, `${at}.hostPort`, port.hostPort);
    oneOf(errors, `${at}.protocol`, port.protocol, PROTOCOLS);
  }
}

const ENV_NAME = "a valid environment variable name must consist only of printable ASCII characters other than '='";
const ENV_SOURCES = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';

function environment(errors: Errors, path: string, list: readonly EnvVar[] | undefined): void {
  for (const [index, variable] of (list ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (variable.name === '') errors.push(fieldRequired(`${at}.name`));
    else if (!/^[ -<>-~]+$/.test(variable.name)) errors.push(fieldInvalid(`${at}.name`, variable.name, ENV_NAME));
    const { valueFrom } = variable;
    if (!valueFrom) continue;
    const from = `${at}.valueFrom`;
    if (valueFrom.fieldRef && !valueFrom.fieldRef.fieldPath) errors.push(fieldRequired(`${from}.fieldRef.fieldPath`));
    if (valueFrom.resourceFieldRef && !valueFrom.resourceFieldRef.resource) {
      errors.push(fieldRequired(`${from}.resourceFieldRef.resource`));
    }
    for (const field of ['configMapKeyRef', 'secretKeyRef'] as const) {
      const reference = valueFrom[field];
      if (!reference) continue;
      if (!reference.key) errors.push(fieldRequired(`${from}.${field}.key`));
      else named(errors, `${from}.${field}.key`, reference.key, configKeyProblems(reference.key));
    }
    const count = Object.keys(valueFrom).length;
    if (count === 0) errors.push(fieldInvalid(from, '', `must specify one of: ${ENV_SOURCES}`));
    else if (variable.value) errors.push(fieldInvalid(from, '', 'may not be specified when `value` is not empty'));
    else if (count > 1) errors.push(fieldInvalid(from, '', 'may not have more than one field specified at a time'));
  }
}

function mounts(errors: Errors, path: string, { volumeMounts }: Container, volumes: ReadonlySet<string>): void {
  const places = new Set<string>();
  for (const [index, mount] of (volumeMounts ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (mount.name === '') errors.push(fieldRequired(`${at}.name`));
    if (!volumes.has(mount.name)) errors.push(fieldNotFound(`${at}.name`, mount.name));
    if (mount.mountPath === '') errors.push(fieldRequired(`${at}.mountPath`));
    if (places.has(mount.mountPath)) errors.push(fieldInvalid(`${at}.mountPath`, mount.mountPath, 'must be unique'));
    places.add(mount.mountPath);
    const { subPath = '' } = mount;
    if (subPath.startsWith('/')) errors.push(fieldInvalid(`${path}.subPath`, subPath, 'must be a relative path'));
    if (subPath.split('/').includes('..'))
      errors.push(fieldInvalid(`${path}.subPath`, subPath, "must not contain '..'"));
  }
}

const STANDARD = new Set(['cpu', 'memory', 'ephemeral-storage', 'storage']);

function resources(errors: Errors, path: string, given: ResourceRequirements | undefined): void {
  for (const part of ['limits', 'requests'] as const) {
    for (const [name, quantity] of Object.entries(given?.[part] ?? {})) {
      const at = `${path}.${part}[${name}]`;
      const problems = validateQualifiedName(name);
      named(errors, at, name, problems);
      if (problems.length === 0 && !name.includes('/') && !STANDARD.has(name) && !name.startsWith('hugepages-')) {
        errors.push(fieldInvalid(at, name, 'must be a standard resource type or fully qualified'));
        errors.push(fieldInvalid(at, name, 'must be a standard resource for containers'));
      }
      if (compareQuantities(quantity, '0') < 0) {
        errors.push(fieldInvalid(at, quantity, 'must be greater than or equal to 0'));
      }
      const limit = part === 'requests' ? given?.limits?.[name] : undefined;
      if (limit === undefined || compareQuantities(quantity, limit) <= 0) continue;
      const detail = `must be less than or equal to ${name} limit of ${limit}`;
      errors.push(fieldInvalid(`${path}.requests`, quantity, detail));
    }
  }
}

function lifecycle(errors: Errors, path: string, container: Container): void {
  const { postStart, preStop } = container.lifecycle ?? {};
  if (postStart) handler(errors, `${path}.postStart`, postStart);
  if (preStop) handler(errors, `${path}.preStop`, preStop);
}

function checkProbe(errors: Errors, path: string, probe: Probe): void {
  handler(errors, path, probe);
  for (const field of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const) {
    notNegative(errors, `${path}.${field}`, probe[field]);
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) {
    errors.push(fieldInvalid(`${path}.terminationGracePeriodSeconds`, grace, 'must be greater than 0'));
  }
}

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

function handler(errors: Errors, path: string, given: LifecycleHandler & Probe): void {
  const [first, ...more] = HANDLERS.filter((field) => given[field] !== undefined);
  if (first === undefined) errors.push(fieldRequired(path, 'must specify a handler type'));
  for (const field of more) {
    errors.push(fieldForbidden(`${path}.${field}`, 'may not specify more than 1 handler type'));
  }
  const at = `${path}.${first}`;
  if (first === 'exec' && (given.exec?.command ?? []).length === 0) errors.push(fieldRequired(`${at}.command`));
  if (first === 'httpGet' && given.httpGet) {
    portNumberOrName(errors, `${at}.port`, given.httpGet.port);
    oneOf(errors, `${at}.scheme`, given.httpGet.scheme, ['HTTP', 'HTTPS']);
  }
  if (first === 'tcpSocket' && given.tcpSocket) portNumberOrName(errors, `${at}.port`, given.tcpSocket.port);
  if (first === 'grpc' && given.grpc) portNumber(errors, `${at}.port`, given.grpc.port);
}
