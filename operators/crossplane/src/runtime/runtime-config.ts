// A DeploymentRuntimeConfig in its normal form. The renderer works with it, whatever version and shape the original has. normalize.ts
// creates it.
import type { DeploymentSpec, ObjectMeta, PodSpec } from '@capstan/kube';

/** The group of packages and of their runtime configurations. */
export const PACKAGE_GROUP = 'pkg.crossplane.io';
export const RUNTIME_CONFIG_KIND = 'DeploymentRuntimeConfig';
/** All are the same schema; the seed's documents use the first and the last, upstream the middle one. */
export const RUNTIME_CONFIG_VERSIONS = ['v1alpha1', 'v1beta1', 'v1'] as const;
export type RuntimeConfigVersion = (typeof RUNTIME_CONFIG_VERSIONS)[number];

/** The container of a pod template that runs the package. */
export const RUNTIME_CONTAINER = 'package-runtime';
/** On a DeploymentRuntimeConfig: `"true"` keeps the image that its template gives the runtime container. */
export const KEEP_IMAGE_ANNOTATION = 'capstan.dev/keep-template-image';

/** The metadata that a template may set on its objects. */
export interface TemplateMetadata {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A pod template of which nothing is required: the renderer fills in the rest. */
export interface PodTemplate {
  readonly metadata?: Pick<ObjectMeta, 'labels' | 'annotations'>;
  readonly spec?: Partial<PodSpec>;
}

export type DeploymentTemplateSpec = Partial<Omit<DeploymentSpec, 'template'>> & { readonly template?: PodTemplate };

export interface RuntimeConfig {
  /** Whether an image that the template gives the runtime container is used instead of the package's. */
  readonly keepsImage: boolean;
  readonly deployment: { readonly metadata: TemplateMetadata; readonly spec: DeploymentTemplateSpec };
  readonly service: TemplateMetadata;
  readonly serviceAccount: TemplateMetadata;
}

/** An empty config: all fields have the renderer's defaults. */
export const EMPTY_RUNTIME_CONFIG: RuntimeConfig = {
  keepsImage: false,
  deployment: { metadata: {}, spec: {} },
  service: {},
  serviceAccount: {},
};
