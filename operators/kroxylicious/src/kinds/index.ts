export * from './group.ts';
export * from './kafka-protocol-filter.ts';
export * from './kafka-proxy.ts';
export * from './kafka-proxy-ingress.ts';
export * from './kafka-service.ts';
export * from './strimzi-kafka.ts';
export * from './tls.ts';
export * from './virtual-kafka-cluster.ts';
