// Every error that this package throws for others to handle.
import { catalogue, reasonOf } from '@capstan/kube';

export const NodeErrors = catalogue('node', {
  NoAddressLeft: (range: string) => ({
    message: `a pod needs an address of its own, and none is left in ${range}`,
    remedy: 'delete pods that are not needed',
  }),
  BadRange: (range: string) => ({
    message: `${JSON.stringify(range)} is not a range of IPv4 addresses`,
    remedy: 'write it as 127.64.0.0/11',
  }),
  NoSuchContainer: (pod: string, container: string, names: readonly string[]) => ({
    message: `container ${container} is not valid for pod ${pod}`,
    remedy: `choose one of: [${names.join(' ')}]`,
  }),
  ContainerNotChosen: (pod: string, names: readonly string[]) => ({
    message: `a container name must be specified for pod ${pod}`,
    remedy: `choose one of: [${names.join(' ')}]`,
  }),
  NoPreviousContainer: (pod: string, container: string) => ({
    message: `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)} not found`,
    remedy: 'ask for the logs of the running one',
  }),
  ContainerNotStarted: (pod: string, container: string) => ({
    message: `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)} is waiting to start`,
    remedy: 'check its state with kubectl describe pod',
  }),
  Simulated: (pod: string, why: string) => ({
    message: `pod ${JSON.stringify(pod)} is simulated, nothing of it runs (${why})`,
    remedy: 'use a pod whose images this node knows',
  }),
  ContainerNotRunning: (pod: string, container: string) => ({
    message: `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)} is not running`,
    remedy: 'check its state with kubectl describe pod',
  }),
  NoInput: (pod: string, container: string) => ({
    message: `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)} has no input`,
    remedy: 'set stdin: true in its specification, or attach without -i',
  }),
  PodNotRunning: (pod: string) => ({
    message: `pod ${JSON.stringify(pod)} is not running`,
    remedy: 'check its state with kubectl describe pod',
  }),
  NoSuchPod: (pod: string, node: string) => ({
    message: `pod ${JSON.stringify(pod)} is not on node ${node}`,
    remedy: 'find its node with kubectl get pod -o wide',
  }),
  CannotStart: (container: string, error: unknown) => ({
    message: `container ${container} could not be started: ${reasonOf(error)}`,
    remedy: 'check the command in its pod and in the image table',
    cause: error,
  }),
});
