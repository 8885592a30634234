// The tools of tests with real packets, for benches.
export { startTraffic } from './cables/capture.ts';
export { countWithoutBackstop, ENCRYPTED_DRIVERS, FAULTS, type FaultReport, injectFaults } from './cables/faults.ts';
export { openRotatingPair, type RotatingPair } from './cables/rotation.ts';
export { ping } from './cables/traffic.ts';
export { createUnderlay, skip, type TestGateway } from './cables/underlay.ts';
export { openLocalSet } from './gateway/local-set.ts';
export { type ClusterSet, connectionsOf, createClusterSet, type GatewayProcess } from './gateway/set.ts';
export { openTakeoverStage, TAKEOVER_EVENTS, type TakeoverEvent, type TakeoverReport } from './gateway/takeover.ts';
export { until } from './until.ts';
