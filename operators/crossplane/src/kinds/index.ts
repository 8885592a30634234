export * from './configuration.ts';
export * from './controller-config.ts';
export * from './deployment-runtime-config.ts';
export * from './function.ts';
export * from './group.ts';
export * from './image-config.ts';
export * from './lock.ts';
export {
  IMAGE_CONFIG_REASONS,
  type ImageConfigReason,
} from './package-fields.ts';
export * from './provider.ts';
