// The set-up of the containers of a pod: environment, command, folders, logs, the pod's identity.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Container,
  type ContainerState,
  type ContainerStatus,
  formatMicroTime,
  formatTime,
  type LifecycleHandler,
  type Pod,
  type Probe,
  Service,
  sleep,
} from '@capstan/kube';
import { written } from '../container/attachments.ts';
import { check } from '../container/check.ts';
import { argvOf } from '../container/command.ts';
import { type ContainerRun, type Prepared, runContainer } from '../container/container.ts';
import { buildEnvironment } from '../container/environment.ts';
import { expand } from '../container/expand.ts';
import { createSubstitute, type Substitute } from '../container/substitution.ts';
import type { Toolkit } from '../controller/toolkit.ts';
import { NodeErrors } from '../errors.ts';
import type { KnownImage } from '../images/image-table.ts';
import { openLogFile } from '../logs/log-file.ts';
import type { Exit, Launch, RunningProcess } from '../process/launch.ts';
import { RECORD_FILE } from '../process/orphans.ts';
import { followSizes, inTerminal } from '../process/terminal.ts';
import { createPodVolumes, type PodVolumes } from '../volumes/pod-volumes.ts';
import { volumeContent } from '../volumes/volume-files.ts';
import type { PodContext } from './pod-context.ts';
import type { AttachToContainer, RunInContainer } from './pod-streams.ts';
import type { References } from './references.ts';
import { ACCOUNT_FOLDER, accountVolume, createTokenSource, isWithoutTokens } from './service-account.ts';
import type { Placement } from './simulated-pod.ts';

export interface ProcessPodOptions {
  tools: Toolkit;
  placement: Placement;
  imageOf(image: string): KnownImage;
  /** The pod's own; it is removed with the pod. */
  folder: string;
  allocatable: Record<string, string>;
  launch: Launch;
  /** The environment of every process unless the pod sets another value: above all PATH. */
  hostEnv: Readonly<Record<string, string>>;
  /** Where pods reach the API server. */
  apiServer?: { host: string; port: number };
  /** For the reader of logs. */
  onLog(container: string, restartCount: number, isOpen: () => boolean): void;
  /** For clients that run commands beside the containers, or attach to their programs. */
  onStart(run: RunInContainer, attach: AttachToContainer): void;
}

export const DEFAULT_GRACE_SECONDS = 30;

export interface ContainerSetup {
  volumes: PodVolumes;
  start(container: Container, policy: 'Always' | 'OnFailure' | 'Never', changed: () => void): ContainerRun;
  /** A command beside the container's program, with a client's streams. */
  run: RunInContainer;
}

/** `first` is the pod before its status was written: it shows the containers that ran when this node last stopped. */
export async function createContainerSetup(
  context: PodContext,
  options: ProcessPodOptions,
  references: References,
  first: Pod,
): Promise<ContainerSetup> {
  const { tools, placement, folder, launch } = options;
  const { clock } = tools;
  const { podIP, hostIP } = placement;
  const { name: podName = '', namespace = '', uid } = context.pod().metadata;
  const servicesCache = tools.cache(Service);
  await servicesCache.synced(context.deletion);
  const token = createTokenSource(tools, context.pod());
  const facts = () => ({ pod: context.pod(), podIP, hostIP });
  const sources = {
    configMap: references.configMap,
    secret: references.secret,
    token,
    allocatable: options.allocatable,
    get pod() {
      return context.pod();
    },
    podIP,
    hostIP,
    substitute: (text: string) => fileSubstitute()(text),
  };
  const account = accountVolume(context.pod());
  const hasAccount = account !== undefined && (await canMount());
  const volumes = createPodVolumes({
    folder,
    volumes: [...(context.pod().spec?.volumes ?? []), ...(hasAccount ? [account] : [])],
    sources,
    stamp: () => formatMicroTime(clock.now()).replace(/[-:TZ]/g, '_'),
  });

  async function canMount(): Promise<boolean> {
    if (account === undefined) return false;
    try {
      // Only whether it can be had: nothing is replaced in it yet, since that takes the folders of all volumes.
      await volumeContent(account, { ...sources, substitute: (text) => text });
      return true;
    } catch (error) {
      if (isWithoutTokens(error)) return false;
      throw error;
    }
  }

  function baseVariables(container: Container): Record<string, string> {
    const image = options.imageOf(container.image ?? '');
    const { apiServer } = options;
    const base: Record<string, string> = {
      ...options.hostEnv,
      HOME: folder,
      HOSTNAME: context.pod().spec?.hostname ?? podName,
      POD_IP: podIP,
      POD_NAME: podName,
      POD_NAMESPACE: namespace,
      HOST_IP: hostIP,
      ...(apiServer === undefined
        ? {}
        : {
            KUBERNETES_SERVICE_HOST: apiServer.host,
            KUBERNETES_SERVICE_PORT: String(apiServer.port),
            KUBERNETES_SERVICE_PORT_HTTPS: String(apiServer.port),
          }),
      ...(image.kubeconfig === true && apiServer !== undefined && accountFolder(container) !== undefined
        ? { KUBECONFIG: join(folder, 'kubeconfig') }
        : {}),
    };
    for (const [key, value] of Object.entries(image.env ?? {})) base[key] = expand(value, base);
    return base;
  }

  function substituteFor(container: Container, variables: Readonly<Record<string, string>>): Substitute {
    const paths = volumes.pathsOf(container, (text) => expand(text, variables));
    if (hasAccount) paths.set(ACCOUNT_FOLDER, volumes.folderOf(account.name));
    const image = options.imageOf(container.image ?? '');
    return createSubstitute({ image, paths, services: servicesCache.list(), namespace, variables });
  }

  /** Volumes are shared: the replacements in files are those of the first container whose image defines them. */
  function fileSubstitute(): (text: string) => string {
    const containers = context.pod().spec?.containers ?? [];
    const asking = containers.find(({ image = '' }) => options.imageOf(image).substituteInFiles === true);
    return asking === undefined ? (text) => text : substituteFor(asking, baseVariables(asking)).file;
  }

  async function prepare(container: Container): Promise<Prepared & { substitute?: Substitute }> {
    const base = baseVariables(container);
    const environment = buildEnvironment(container, {
      ...facts(),
      configMap: references.configMap,
      secret: references.secret,
      services: servicesCache.list().filter(({ metadata }) => metadata.namespace === namespace),
      allocatable: options.allocatable,
    });
    if ('missing' in environment) return environment;
    const variables = { ...base, ...environment.variables };
    const substitute = substituteFor(container, variables);
    const env = { ...base };
    for (const [key, value] of Object.entries(environment.variables)) env[key] = substitute.text(value);
    const own = join(folder, 'containers', container.name);
    const mapped = container.workingDir === undefined ? undefined : substitute.text(container.workingDir);
    const cwd = mapped !== undefined && mapped.startsWith(folder) ? mapped : join(own, 'work');
    await mkdir(cwd, { recursive: true });
    if (env['KUBECONFIG'] === join(folder, 'kubeconfig')) await writeKubeconfig(env['KUBECONFIG'], container);
    const argv = argvOf(container, options.imageOf(container.image ?? ''), variables, substitute);
    return { start: { argv, env, cwd, recordFile: join(own, RECORD_FILE) }, substitute };
  }

  /** Where the pod's identity is: in the volume that the server put into the pod, or in ours where it did not. */
  function accountFolder({ volumeMounts = [] }: Container): string | undefined {
    if (hasAccount) return volumes.folderOf(account.name);
    const mount = volumeMounts.find(({ mountPath }) => mountPath.replace(/\/$/, '') === ACCOUNT_FOLDER);
    return mount === undefined ? undefined : volumes.folderOf(mount.name);
  }

  async function writeKubeconfig(file: string, container: Container): Promise<void> {
    const { apiServer } = options;
    const at = accountFolder(container);
    if (apiServer === undefined || at === undefined) return;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'local',
          cluster: {
            server: `https://${apiServer.host}:${apiServer.port}`,
            'certificate-authority': join(at, 'ca.crt'),
          },
        },
      ],
      users: [{ name: 'pod', user: { tokenFile: join(at, 'token') } }],
      contexts: [{ name: 'pod', context: { cluster: 'local', user: 'pod', namespace } }],
      'current-context': 'pod',
    };
    await writeFile(file, JSON.stringify(config), { mode: 0o600 });
  }

  /** Prepares a command in the container's surroundings. */
  async function prepareCommand(container: Container, command: readonly string[]): Promise<Prepared> {
    const prepared = await prepare(container);
    if ('missing' in prepared) return prepared;
    const { env, cwd } = prepared.start;
    const substitute = prepared.substitute ?? { text: (text: string) => text, file: (text: string) => text };
    const image = options.imageOf(container.image ?? '');
    const argv = argvOf({ command: [...command] }, { ...image, extraArgs: [], cmd: [] }, env, substitute);
    return { start: { argv: archiveNames(command, argv), env, cwd } };
  }

  /** For probes and hooks. */
  async function exec(container: Container, command: readonly string[], signal: AbortSignal) {
    const prepared = await prepareCommand(container, command);
    if ('missing' in prepared) return { code: 128, output: prepared.missing };
    let output = '';
    const process = await launch({
      ...prepared.start,
      output: (_, chunk) => {
        if (output.length < 10_000) output += chunk.toString();
      },
    });
    const { code } = await endedBy(process, signal);
    return { code, output };
  }

  const run: RunInContainer = async (container, { command, tty }, { stdin, stdout, stderr, sizes }, signal) => {
    const prepared = await prepareCommand(container, command);
    if ('missing' in prepared) throw NodeErrors.CannotStart(container.name, new Error(prepared.missing));
    const { argv, env } = prepared.start;
    const inside = tty ? await inTerminal(argv) : undefined;
    if (tty && inside === undefined)
      stdout?.write('This machine has no way to open a terminal (script of util-linux): going on without.\r\n');
    const process = await launch({
      ...prepared.start,
      argv: inside ?? argv,
      env: tty ? { TERM: 'xterm', ...env, SHELL: '/bin/sh' } : env,
      ...(stdin && { stdin }),
      output: (name, chunk) => written(name === 'stderr' && !tty ? stderr : stdout, chunk),
    }).catch((error: unknown) => {
      throw NodeErrors.CannotStart(container.name, error);
    });
    if (sizes !== undefined && inside !== undefined) void followSizes(process.pid, sizes);
    return (await endedBy(process, signal)).code;
  };

  function start(container: Container, policy: 'Always' | 'OnFailure' | 'Never', changed: () => void): ContainerRun {
    const target = {
      address: podIP,
      container,
      exec: (command: readonly string[], signal: AbortSignal) => exec(container, command, signal),
    };
    const known = knownStatus(first, container.name);
    const run: ContainerRun = runContainer({
      container,
      policy,
      podId: `${podName}_${namespace}(${uid})`,
      graceSeconds: context.pod().spec?.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS,
      clock,
      launch,
      prepare: () => prepare(container),
      async openLog(restartCount) {
        const path = logPath(folder, container.name, restartCount);
        // The run before this one can still be read; those before it cannot.
        await rm(logPath(folder, container.name, restartCount - 2), { force: true });
        options.onLog(container.name, restartCount, () => run.view().state.running !== undefined);
        return openLogFile({ path, clock });
      },
      check: (probe: Probe, signal) => check(probe, target, signal),
      hook: (name, signal) => runHook(container.lifecycle?.[name] ?? {}, target, signal),
      restartCount: known.restartCount,
      lastState: known.lastState,
      changed,
      event: context.event,
    });
    return run;
  }

  function runHook(handler: LifecycleHandler, target: Parameters<typeof check>[1], signal: AbortSignal) {
    const { sleep: pause, ...rest } = handler;
    if (pause === undefined) return check(rest, target, signal);
    return sleep(clock, pause.seconds * 1000, signal).then(
      () => undefined,
      () => undefined,
    );
  }

  /** A container that ran when this node was last here has been ended since: it is started once more. */
  function knownStatus(pod: Pod, name: string): { restartCount: number; lastState: ContainerState } {
    const statuses: ContainerStatus[] = [
      ...(pod.status?.containerStatuses ?? []),
      ...(pod.status?.initContainerStatuses ?? []),
    ];
    const known = statuses.find((one) => one.name === name);
    if (known === undefined) return { restartCount: 0, lastState: {} };
    const { state = {}, lastState = {}, restartCount } = known;
    if (state.terminated !== undefined) return { restartCount: restartCount + 1, lastState: state };
    if (state.running === undefined) return { restartCount, lastState };
    const { startedAt } = state.running;
    const terminated = {
      exitCode: 255,
      reason: 'Unknown',
      ...(startedAt === undefined ? {} : { startedAt }),
      finishedAt: formatTime(clock.now()),
    };
    return { restartCount: restartCount + 1, lastState: { terminated } };
  }

  return { volumes, start, run };
}

/** An abort ends it. */
async function endedBy(process: RunningProcess, signal: AbortSignal): Promise<Exit> {
  const kill = () => process.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  const exit = await process.exited;
  signal.removeEventListener('abort', kill);
  return exit;
}

/**
 * `kubectl cp` asks for an archive of a path and expects that path in it, which is elsewhere on this machine: the archive gets the
 * names that were asked for.
 */
function archiveNames(command: readonly string[], argv: readonly string[]): string[] {
  const [asked, real] = [command.at(-1) ?? '', argv.at(-1) ?? ''];
  if (command[0] !== 'tar' || !(command[1] ?? '').includes('c') || asked === real) return [...argv];
  const bare = (path: string) => path.replace(/^\/+/, '').replaceAll(/[\\|&.*[\]^$]/g, '\\$&');
  return [...argv.slice(0, -1), `--transform=s|^/*${bare(real)}|${bare(asked)}|`, real];
}

export function logPath(folder: string, container: string, restartCount: number): string {
  return join(folder, 'containers', container, `${restartCount}.log`);
}
