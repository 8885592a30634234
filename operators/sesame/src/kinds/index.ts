export {
  type ConfigurationSpec,
  configurationSchema,
  DEFAULT_CIPHER_SUITES,
  DEFAULT_JSON_FIELDS,
  type FullConfiguration,
} from './configuration-spec.ts';
export { DEFAULT_NAMESPACE, GROUP, VERSION } from './group.ts';
export { type DetailedCondition, SesameConfiguration, type SubCondition } from './sesame-configuration.ts';
export { SesameDeployment, type SesameDeploymentSpec } from './sesame-deployment.ts';
