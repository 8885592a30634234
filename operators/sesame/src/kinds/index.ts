export {
  type ConfigurationSpec,
  configurationSchema,
  DEFAULT_CIPHER_SUITES,
  DEFAULT_JSON_FIELDS,
  type FullConfiguration,
} from './configuration-spec.ts';
export { ExtensionService } from './extension-service.ts';
export { DEFAULT_NAMESPACE, GROUP, VERSION } from './group.ts';
export { HTTPProxy } from './http-proxy.ts';
export { type DetailedCondition, SesameConfiguration, type SubCondition } from './sesame-configuration.ts';
export { CONFIGURATION_ALIASES, SesameDeployment, type SesameDeploymentSpec } from './sesame-deployment.ts';
export { TLSCertificateDelegation } from './tls-certificate-delegation.ts';
