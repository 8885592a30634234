/** Where all kinds live: policies, clusters, endpoints and gateways in v1, configuration in v1alpha1. */
export const GROUP = 'submariner.io';

/** The properties that all kinds share: `kubectl get cables` lists them all. (`submariner` would hide the kind of that name.) */
export const COMMON = { group: GROUP, scope: 'Namespaced' as const, categories: ['cables'] };

/** Where members keep their objects. */
export const MEMBER_NAMESPACE = 'submariner-operator';
/** Where the broker keeps them. */
export const BROKER_NAMESPACE = 'submariner-k8s-broker';

/** On synced copies: the id of the cluster that the object comes from. */
export const ORIGIN_LABEL = 'submariner-io/clusterID';
/** The origin of objects that were created on the broker itself; no cluster may have this id. */
export const BROKER_ORIGIN = 'submariner-broker';
/** On a Cluster: the uid of the Submariner resource that it stands for. It distinguishes two clusters that use one id. */
export const OWNER_ANNOTATION = 'submariner.io/cluster-owner';
/** On a member's copy of the Broker: the spec of the default policy as it last was valid. */
export const LAST_DEFAULT_ANNOTATION = 'submariner.io/last-default-policy';
/** When a policy was first created, wherever that was; both ends order policies by it. */
export const CREATED_AT_ANNOTATION = 'submariner.io/policy-created-at';
/** The label under which selectors find a cluster by its id. */
export const CLUSTER_ID_LABEL = 'submariner.io/cluster-id';
/** On a copy that lies under another name, because its own is taken by a policy that lost to it. */
export const REAL_NAME_ANNOTATION = 'submariner.io/policy-name';
