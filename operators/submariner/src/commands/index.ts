export { brokerInfoOf, ensureBroker } from './deploy-broker.ts';
export type { SubctlIo } from './io.ts';
export { joinCluster, labelGateway } from './join.ts';
export { COMMANDS, runSubctl } from './subctl.ts';
