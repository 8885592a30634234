// Every error that the test tools raise themselves, and the broken connections that they inject.
import { catalogue, TransportError } from '@capstan/kube';

export const TestingErrors = catalogue('testing', {
  ReentrantClock: () => ({
    message: 'the virtual clock was asked to run while it is running',
    remedy: 'call advance and runUntilIdle from the test only, one after the other',
  }),
  EndlessYields: (turns: number, now: number) => ({
    message: `the virtual clock waited ${turns} turns at ${instant(now)} for the code under test to rest, and it still yields`,
    remedy: 'find the loop around clock.yield() that does not end',
  }),
  EndlessTimers: (fired: number, now: number) => ({
    message: `the virtual clock fired ${fired} timers at ${instant(now)} without time passing`,
    remedy: 'find the timer of 0 ms that sets itself again',
  }),
  NoControlPlane: (missing: string) => ({ message: 'cannot start a real control plane', remedy: missing }),
  NoProgram: (program: string, folder: string) => ({
    message: `cannot start a real control plane: ${program} is not in ${folder}`,
    remedy:
      'unset KUBEBUILDER_ASSETS and run `npm run setup:real -- kubernetes`, or start without the part that needs it',
  }),
  PartEnded: (program: string, detail: string) => ({
    message: `${program} ended while the control plane was starting, with the output: ${detail}`,
    remedy: 'read its output; a damaged program is rebuilt by `npm run setup:real -- kubernetes`',
  }),
  NotCompacted: (status: number, detail: string) => ({
    message: `etcd did not remove its history (status ${status}): ${detail}`,
    remedy: 'check its log; its JSON gateway must not be disabled',
  }),
  NotReady: (ms: number, detail: string) => ({
    message: `the real control plane was not ready after ${ms} ms; its last output: ${detail}`,
    remedy: 'check whether the machine is overloaded, then try again',
  }),
  NotCreated: (lines: readonly string[]) => ({
    message: `the program removed or replaced objects that it did not create: ${lines.join(', ')}`,
    remedy: 'leave objects of others alone, or name the ruling with the option `ruled` of the stage',
  }),
  SecretWritten: (places: readonly string[]) => ({
    message: `the program wrote values of Secrets where others may read them: ${places.join(', ')}`,
    remedy: 'name the Secret and its key instead of the value, or use a keyed digest',
  }),
  Denied: (requests: readonly string[]) => ({
    message: `the server denied what the program did under its own account: ${requests.join('; ')}`,
    remedy: "declare it in the reconciler's reads and writes, from which its role is generated",
  }),
  UnknownServer: (name: string, known: readonly string[]) => ({
    message: `CAPSTAN_TEST_SERVER=${name} names no server for tests`,
    remedy: `use one of ${known.join(', ')}`,
  }),
  NotEstablished: (name: string) => ({
    message: `the real server does not serve the CRD ${name}`,
    remedy: 'check its conditions: its schema or its names are not accepted',
  }),
  NotCollected: (ms: number) => ({
    message: `after ${ms} ms the real server has not collected objects whose owners are deleted`,
    remedy: 'check the log of its controller manager',
  }),
  NothingToPick: () => ({
    message: 'pick was given an empty list',
    remedy: 'give it at least one entry',
  }),
});

/** Nothing listened: the request surely did not happen. */
export function connectionRefused(address: string, target: string): TransportError {
  return new TransportError('refused', address, { request: target });
}

/** The connection broke: the request may have happened. */
export function connectionReset(address: string, target: string): TransportError {
  return new TransportError('reset', address, { request: target });
}

export function requestTimedOut(address: string, target: string): TransportError {
  return new TransportError('timeout', address, { request: target });
}

export function requestAborted(address: string, signal: AbortSignal): TransportError {
  return new TransportError('aborted', address, { cause: signal.reason });
}

export function connectionClosed(address: string): TransportError {
  return new TransportError('closed', address);
}

function instant(now: number): string {
  return new Date(now).toISOString();
}
