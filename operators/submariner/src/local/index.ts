export * from './local-cables.ts';
export * from './network-namespaces.ts';
export * from './programs.ts';
