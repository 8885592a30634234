import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Container, ContainerState } from '@capstan/kube';
import { createVirtualClock } from '@capstan/testing';
import type { Exit, RunningProcess } from '../process/launch.ts';
import { type ContainerOptions, type ContainerRun, runContainer } from './container.ts';

/** A program that does nothing by itself: the test ends it, and sees its signals. */
interface FakeProcess extends RunningProcess {
  end(code: number): void;
  readonly signals: string[];
}

function createScene(t: TestContext, container: Partial<Container> = {}, options: Partial<ContainerOptions> = {}) {
  const clock = createVirtualClock();
  const processes: FakeProcess[] = [];
  const events: string[] = [];
  const run: ContainerRun = runContainer({
    container: { name: 'main', ...container },
    policy: 'Always',
    podId: 'pod',
    graceSeconds: 30,
    clock,
    async launch({ output }) {
      await output?.('stderr', Buffer.from('no such file\n'));
      let settle: (exit: Exit) => void = () => {};
      const exited = new Promise<Exit>((resolve) => {
        settle = resolve;
      });
      const signals: string[] = [];
      const kill = (signal: NodeJS.Signals) => {
        signals.push(signal);
        if (signal === 'SIGKILL') settle({ code: 137, signal });
      };
      const process = { pid: 1, exited, kill, signals, end: (code: number) => settle({ code }) };
      processes.push(process);
      return process;
    },
    prepare: async () => ({ start: { argv: ['x'], env: {}, cwd: '/' } }),
    openLog: async () => ({ write: async () => {}, close: async () => {} }),
    check: async () => undefined,
    hook: async () => undefined,
    restartCount: 0,
    changed() {},
    event: ({ reason }) => events.push(reason),
    ...options,
  });
  t.after(async () => {
    const stopped = run.stop(0);
    await clock.advance(60_000);
    await stopped;
  });
  return {
    run,
    clock,
    processes,
    events,
    last: () => {
      const process = processes.at(-1);
      assert.ok(process);
      return process;
    },
  };
}

const nameOf = (state: ContainerState) => state.waiting?.reason ?? state.terminated?.reason ?? 'Running';

test('a container that keeps failing is started at once, after 10 s, 20 s and so on up to five minutes', async (t) => {
  const { run, clock, processes, last } = createScene(t);
  const waits: number[] = [];
  await clock.settle();
  for (let round = 0; round < 8; round++) {
    const before = processes.length;
    last().end(1);
    const since = clock.now();
    await clock.runUntilIdle(400_000, () => processes.length > before);
    waits.push((clock.now() - since) / 1000);
  }
  assert.deepEqual(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
  assert.equal(run.view().restartCount, 8);
  assert.equal(run.view().lastState.terminated?.exitCode, 1);
});

test('the back-off of a container that ran for ten minutes is reset', async (t) => {
  const { clock, processes, last } = createScene(t);
  await clock.settle();
  for (let round = 0; round < 4; round++) {
    last().end(1);
    await clock.advance(100_000);
  }
  await clock.advance(600_000);
  const before = processes.length;
  last().end(1);
  await clock.settle();
  assert.equal(processes.length, before + 1);
});

test('while it waits to be restarted a container says since when and why', async (t) => {
  const { run, clock, last } = createScene(t);
  await clock.settle();
  last().end(1);
  await clock.settle();
  last().end(2);
  await clock.settle();
  assert.equal(run.view().state.waiting?.reason, 'CrashLoopBackOff');
  assert.equal(run.view().state.waiting?.message, 'back-off 10s restarting failed container=main pod=pod');
  assert.equal(run.view().lastState.terminated?.exitCode, 2);
  assert.equal(run.view().isReady, false);
});

test('the last output of a container that failed is reported, if its termination message policy asks for that', async (t) => {
  for (const [terminationMessagePolicy, code, message] of [
    ['FallbackToLogsOnError', 1, 'no such file'],
    ['FallbackToLogsOnError', 0, undefined],
    ['File', 1, undefined],
  ] as const) {
    const { run, clock, last } = createScene(t, { terminationMessagePolicy }, { policy: 'Never' });
    await clock.settle();
    last().end(code);
    await clock.settle();
    assert.equal(run.view().state.terminated?.message, message);
  }
});

test('restart policies say what is started again', async (t) => {
  const cases = [
    ['Always', 0, true],
    ['OnFailure', 0, false],
    ['OnFailure', 1, true],
    ['Never', 1, false],
  ] as const;
  for (const [policy, code, isRestarted] of cases) {
    const { clock, processes, last } = createScene(t, {}, { policy });
    await clock.settle();
    last().end(code);
    await clock.settle();
    assert.equal(processes.length === 2, isRestarted, `${policy} after ${code}`);
  }
});

test('liveness and readiness wait for the startup probe', async (t) => {
  let isUp = false;
  const probes: string[] = [];
  const check: ContainerOptions['check'] = async (probe) => {
    const name = probe.exec?.command?.[0] ?? '';
    probes.push(name);
    return name === 'startup' && !isUp ? 'not yet' : undefined;
  };
  const probe = (name: string) => ({ exec: { command: [name] }, periodSeconds: 1, failureThreshold: 100 });
  const { run, clock } = createScene(
    t,
    { startupProbe: probe('startup'), livenessProbe: probe('liveness'), readinessProbe: probe('readiness') },
    { check },
  );
  await clock.advance(5000);
  assert.deepEqual(new Set(probes), new Set(['startup']));
  assert.equal(run.view().isStarted, false);
  isUp = true;
  await clock.advance(2000);
  assert.equal(run.view().isStarted, true);
  assert.equal(run.view().isReady, true);
  const before = probes.length;
  await clock.advance(2000);
  assert.ok(!probes.slice(before).includes('startup'));
});

test('a container is unready after as many bad looks as its probe says, and ready after as many good ones', async (t) => {
  let answer: string | undefined;
  const readinessProbe = { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 3, successThreshold: 2 };
  const { run, clock, events } = createScene(t, { readinessProbe }, { check: async () => answer });
  await clock.settle();
  assert.equal(run.view().isReady, false);
  await clock.advance(1000);
  assert.equal(run.view().isReady, true);
  answer = 'refused';
  await clock.advance(2000);
  assert.equal(run.view().isReady, true);
  await clock.advance(1000);
  assert.equal(run.view().isReady, false);
  assert.ok(events.includes('Unhealthy'));
});

test('a container that is not alive any more is ended with grace and started again', async (t) => {
  let answer: string | undefined = 'dead';
  const livenessProbe = {
    tcpSocket: { port: 1 },
    periodSeconds: 1,
    failureThreshold: 2,
    terminationGracePeriodSeconds: 5,
  };
  const { run, clock, processes } = createScene(t, { livenessProbe }, { check: async () => answer });
  await clock.advance(1000);
  const [first] = processes;
  assert.deepEqual(first?.signals, ['SIGTERM']);
  answer = undefined;
  await clock.advance(5000);
  assert.deepEqual(first?.signals.slice(0, 2), ['SIGTERM', 'SIGKILL']);
  assert.equal(processes.length, 2);
  assert.equal(run.view().lastState.terminated?.exitCode, 137);
});

test('a stop runs the hook, asks, and after the grace insists', async (t) => {
  const order: string[] = [];
  const hook: ContainerOptions['hook'] = async (name) => {
    order.push(name);
    return undefined;
  };
  const { run, clock, last } = createScene(t, { lifecycle: { preStop: { exec: { command: ['x'] } } } }, { hook });
  await clock.settle();
  const { signals } = last();
  const stopped = run.stop(10_000);
  await clock.advance(9000);
  assert.deepEqual([...order, ...signals], ['preStop', 'SIGTERM']);
  await clock.advance(1000);
  await stopped;
  assert.ok(signals.includes('SIGKILL'));
  assert.equal(nameOf(run.view().state), 'Error');
});

test('a stop in a hurry does not wait for the grace', async (t) => {
  const { run, clock, last } = createScene(t);
  await clock.settle();
  const hurry = new AbortController();
  const stopped = run.stop(600_000, hurry.signal);
  await clock.advance(1000);
  assert.deepEqual(last().signals, ['SIGTERM']);
  hurry.abort();
  await stopped;
  assert.ok(last().signals.includes('SIGKILL'));
});

test('a container that cannot be started yet says what it waits for, and one that cannot at all keeps trying', async (t) => {
  let missing: string | undefined = 'secret "x" not found';
  const prepare: ContainerOptions['prepare'] = async () =>
    missing === undefined ? { start: { argv: ['x'], env: {}, cwd: '/' } } : { missing };
  const { run, clock, processes } = createScene(t, {}, { prepare });
  await clock.advance(5000);
  assert.deepEqual(run.view().state.waiting, { reason: 'CreateContainerConfigError', message: 'secret "x" not found' });
  missing = undefined;
  await clock.advance(2000);
  assert.equal(processes.length, 1);

  const broken = createScene(t, {}, { launch: () => Promise.reject(new Error('spawn nowhere ENOENT')) });
  await broken.clock.advance(1000);
  assert.equal(broken.run.view().state.waiting?.reason, 'CrashLoopBackOff');
  assert.equal(broken.run.view().lastState.terminated?.reason, 'StartError');
  assert.match(broken.run.view().lastState.terminated?.message ?? '', /ENOENT/);
});
