export { CLUSTER_OPTIONS, type Cluster, connectTo, openCluster, withCluster } from '@capstan/reconcile/command-line';
