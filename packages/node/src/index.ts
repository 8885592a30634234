export { type Controllers, type ControllersOptions, createControllers } from './controllers.ts';
export { NodeErrors } from './errors.ts';
export { findImage, type KnownImage, type Substitution } from './images/image-table.ts';
export type { LogOptions } from './logs/read-log.ts';
export { type AddressPool, createAddressPool, isInRange, POD_RANGE } from './network/address-pool.ts';
export {
  createForwarder,
  type Forwarder,
  type ForwarderOptions,
  SERVICE_RANGE,
} from './network/service-forwarder.ts';
export { createNode, type LocalNode, type NodeOptions } from './node/local-node.ts';
export { type Machine, thisMachine } from './node/machine.ts';
export { SIMULATED, SIMULATED_CONDITION, type SimulateOptions } from './pod/simulated-pod.ts';
export { type Exit, type Launch, type LaunchOptions, launch, type RunningProcess } from './process/launch.ts';
export { endOrphans } from './process/orphans.ts';
