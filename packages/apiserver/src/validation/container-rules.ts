import { type Container, type LifecycleHandler, type PodSpec, type Probe, validatePortName } from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { environment, environmentSources } from './environment-rules.ts';
import { resources } from './resource-rules.ts';
import {
  type Errors,
  fieldDuplicate,
  fieldTooMany,
  named,
  notNegative,
  oneOf,
  PROTOCOLS,
  PULL_POLICIES,
  portNumber,
  portNumberOrName,
  requiredLabel,
  supported,
} from './rules.ts';
import { containerSecurity } from './security-rules.ts';
import { devices, mounts, type Volumes } from './volume-rules.ts';

/** The facts about a pod that the checks of its containers need. */
export interface PodContext {
  spec: PodSpec;
  volumes: Volumes;
  /** Names of the pod's resource claims. */
  claims: ReadonlySet<string>;
}

/** The containers of a list; `taken` are names that others have. */
export function containers(errors: Errors, path: string, pod: PodContext, taken: Set<string>, isInit = false): void {
  const list = (isInit ? pod.spec.initContainers : pod.spec.containers) ?? [];
  for (const [index, container] of list.entries()) {
    const at = `${path}[${index}]`;
    oneContainer(errors, at, container, pod);
    // An init container with restartPolicy Always runs beside the others.
    const staysUp = !isInit || container.restartPolicy === 'Always';
    if (isInit) restartPolicy(errors, at, container);
    if (taken.has(container.name)) errors.push(fieldDuplicate(`${at}.name`, container.name));
    taken.add(container.name);
    // Init containers run one after the other, so each may have the ports of another; Kubernetes reports them all as the first.
    if (isInit) hostPorts(errors, path, [container]);
    if (staysUp) {
      lifecycle(errors, `${at}.lifecycle`, container, pod.spec);
      probes(errors, at, container, pod.spec);
    } else {
      for (const field of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
        const detail = 'may not be set for init containers without restartPolicy=Always';
        if (container[field]) errors.push(fieldForbidden(`${at}.${field}`, detail));
      }
      for (const [place, { restartPolicy: policy }] of (container.resizePolicy ?? []).entries()) {
        const detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
        if (policy !== 'RestartContainer') continue;
        errors.push(fieldInvalid(`${at}.resizePolicy[${place}].restartPolicy`, policy, detail));
      }
    }
    if (!isInit) restartPolicy(errors, at, container);
  }
  if (!isInit) hostPorts(errors, path, list);
}

function oneContainer(errors: Errors, at: string, container: Container, { spec, volumes, claims }: PodContext): void {
  requiredLabel(errors, `${at}.name`, container.name);
  if (!container.image) errors.push(fieldRequired(`${at}.image`));
  oneOf(errors, `${at}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'File',
    'FallbackToLogsOnError',
  ]);
  ports(errors, `${at}.ports`, container.ports);
  environment(errors, `${at}.env`, container.env);
  environmentSources(errors, `${at}.envFrom`, container.envFrom);
  mounts(errors, `${at}.volumeMounts`, container, volumes);
  devices(errors, `${at}.volumeDevices`, container, volumes);
  oneOf(errors, `${at}.imagePullPolicy`, container.imagePullPolicy, PULL_POLICIES);
  resources(errors, `${at}.resources`, container.resources, claims);
  resizePolicy(errors, `${at}.resizePolicy`, container, spec);
  containerSecurity(errors, `${at}.securityContext`, container.securityContext, spec);
}

/** Kubernetes reports most of these at the list. */
function resizePolicy(errors: Errors, path: string, { resizePolicy: list }: Container, spec: PodSpec): void {
  const seen = new Set<string>();
  for (const [index, one] of (list ?? []).entries()) {
    if (seen.has(one.resourceName)) errors.push(fieldDuplicate(`${path}[${index}]`, one.resourceName));
    seen.add(one.resourceName);
    oneOf(errors, path, one.resourceName, ['cpu', 'memory']);
    oneOf(errors, path, one.restartPolicy, ['NotRequired', 'RestartContainer']);
    if (spec.restartPolicy === 'Never' && one.restartPolicy !== 'NotRequired') {
      const detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
      errors.push(fieldInvalid(path, one.restartPolicy, detail));
    }
  }
}

const MOST_RULES = 20;

/** Checks the reaction to the end of this container, where it differs from the pod's. */
function restartPolicy(
  errors: Errors,
  at: string,
  { restartPolicy: policy, restartPolicyRules: rules = [] }: Container,
) {
  supported(errors, `${at}.restartPolicy`, policy, ['Always', 'Never', 'OnFailure']);
  if (policy === undefined && rules.length > 0) {
    errors.push(fieldRequired(`${at}.restartPolicy`, 'must specify restartPolicy when restart rules are used'));
  }
  if (rules.length > MOST_RULES) errors.push(fieldTooMany(`${at}.restartPolicyRules`, rules.length, MOST_RULES));
  for (const [index, { action, exitCodes }] of rules.entries()) {
    const rule = `${at}.restartPolicyRules[${index}]`;
    if (action !== 'Restart') errors.push(fieldNotSupported(`${rule}.action`, action, ['Restart']));
    if (exitCodes) supported(errors, `${rule}.exitCodes.operator`, exitCodes.operator, ['In', 'NotIn']);
    else errors.push(fieldRequired(`${rule}.exitCodes`, 'must be specified'));
  }
}

function probes(errors: Errors, at: string, container: Container, spec: PodSpec): void {
  for (const field of ['livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
    const probe = container[field];
    if (!probe) continue;
    checkProbe(errors, `${at}.${field}`, probe, spec);
    const grace = probe.terminationGracePeriodSeconds;
    if (field === 'readinessProbe') {
      // It stops no container, so there is nothing to wait for.
      const detail = 'must not be set for readinessProbes';
      if (grace !== undefined) {
        errors.push(fieldInvalid(`${at}.${field}.terminationGracePeriodSeconds`, grace, detail));
      }
    } else if (probe.successThreshold !== 1) {
      errors.push(fieldInvalid(`${at}.${field}.successThreshold`, probe.successThreshold, 'must be 1'));
    }
  }
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

function lifecycle(errors: Errors, path: string, container: Container, spec: PodSpec): void {
  const { postStart, preStop } = container.lifecycle ?? {};
  if (postStart) handler(errors, `${path}.postStart`, postStart, spec);
  if (preStop) handler(errors, `${path}.preStop`, preStop, spec);
}

function checkProbe(errors: Errors, path: string, probe: Probe, spec: PodSpec): void {
  handler(errors, path, probe, spec);
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

const HEADER_NAME =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;

function handler(errors: Errors, path: string, given: LifecycleHandler & Probe, spec: PodSpec): void {
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
    for (const { name } of given.httpGet.httpHeaders ?? []) {
      if (!/^[-A-Za-z0-9]+$/.test(name)) errors.push(fieldInvalid(`${at}.httpHeaders`, name, HEADER_NAME));
    }
  }
  if (first === 'tcpSocket' && given.tcpSocket) portNumberOrName(errors, `${at}.port`, given.tcpSocket.port);
  if (first === 'grpc' && given.grpc) portNumber(errors, `${at}.port`, given.grpc.port);
  if (first === 'sleep' && given.sleep) {
    const { terminationGracePeriodSeconds: most = 0 } = spec;
    const { seconds } = given.sleep;
    const detail = `must be non-negative and less than terminationGracePeriodSeconds (${most})`;
    if (seconds < 0 || seconds > most) errors.push(fieldInvalid(at, seconds, detail));
  }
}
