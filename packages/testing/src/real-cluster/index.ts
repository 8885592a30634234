export { type Binaries, findBinaries, type Program } from './binaries.ts';
export { type RealCluster, type RealClusterOptions, startRealCluster } from './real-cluster.ts';
export { type SimulatedNodes, type SimulatedNodesOptions, simulateNodes } from './simulated-nodes.ts';
