export { type Controllers, type ControllersOptions, createControllers } from './controllers.ts';
export { type AddressPool, createAddressPool, POD_RANGE } from './network/address-pool.ts';
export { createNode, type LocalNode, type NodeOptions } from './node/local-node.ts';
export { type Machine, thisMachine } from './node/machine.ts';
export { SIMULATED, SIMULATED_CONDITION, type SimulateOptions } from './pod/simulated-pod.ts';
