import { type Operator, operator } from '@capstan/reconcile';
import { FLAGS } from './commands/flags.ts';
import { registrySourceOf } from './commands/package-registry.ts';
import { COMMANDS, PROGRAM } from './commands/program.ts';
import { createInstalledPackages } from './dependencies/installed-packages.ts';
import { createPayloads } from './establish/payload.ts';
import { createRegistryFacts } from './facts/registry-facts.ts';
import {
  Configuration,
  ConfigurationRevision,
  ControllerConfig,
  DeploymentRuntimeConfig,
  FunctionPackage,
  FunctionRevision,
  ImageConfig,
  Lock,
  Provider,
  ProviderRevision,
} from './kinds/index.ts';
import { ADMISSION } from './packages/admission.ts';
import { PACKAGE_KINDS, runtimeFor, runtimesInUse } from './packages/package-kind.ts';
import { createRevisionContents } from './packages/revision-content.ts';
import { createDependencyReconciler } from './reconcilers/dependencies.ts';
import { createEssentialsReconciler } from './reconcilers/essentials.ts';
import { createLockReconciler } from './reconcilers/lock.ts';
import { createPackageReconciler } from './reconcilers/package.ts';
import { createPayloadReconciler } from './reconcilers/payload.ts';
import { createProviderRbacReconciler } from './reconcilers/provider-rbac.ts';
import { createRevisionReconciler } from './reconcilers/revision.ts';
import { createRuntimeReconciler } from './reconcilers/runtime.ts';
import { createRuntimeConfigReconciler } from './reconcilers/runtime-config.ts';
import { createServiceAccountReconciler } from './reconcilers/service-accounts.ts';
import { createPackagesReport } from './reports/packages-report.ts';
import { isBuiltIn } from './runtime/index.ts';
import { defaultSettings, type Settings, settingsOf } from './settings.ts';
import { createAccountsInUse } from './workload/accounts.ts';
import { createCertificates } from './workload/certificates.ts';
import { createRevisionRuntimes } from './workload/runtime-of-revision.ts';

export const CROSSPLANE_KINDS = [
  Provider,
  ProviderRevision,
  FunctionPackage,
  FunctionRevision,
  Configuration,
  ConfigurationRevision,
  Lock,
  DeploymentRuntimeConfig,
  ControllerConfig,
  ImageConfig,
];

/** Packages: pulled from registries, installed, and run according to their runtime configuration. */
export function createCrossplane(given: Partial<Settings> = {}): Operator {
  const settings = { ...defaultSettings(), ...given };
  const facts = createRegistryFacts(settings.source, settings.pollMs);
  const contents = createRevisionContents(settings, facts);
  const runtimes = createRevisionRuntimes(settings, contents);
  const installed = createInstalledPackages(settings.registry);
  const payloads = createPayloads({ settings, contents, runtimes, installed });
  const certificates = createCertificates(settings);
  const accounts = createAccountsInUse(settings, runtimes);
  const builtIn = Object.values(settings.runtimes).filter(isBuiltIn);
  return operator({
    name: 'crossplane',
    description: 'Packages from OCI registries, installed and run by their runtime configuration.',
    kinds: [...new Set<Operator['kinds'][number]>([...CROSSPLANE_KINDS, ...builtIn.map(({ config }) => config.kind)])],
    admission: ADMISSION,
    reconcilers: [
      createEssentialsReconciler(settings, certificates),
      ...PACKAGE_KINDS.flatMap((kind) => [
        createPackageReconciler(kind, settings, facts),
        createPayloadReconciler(kind, settings, payloads),
        createDependencyReconciler(kind, settings, facts, installed),
        createRevisionReconciler(kind, { settings, contents, payloads, runtimes, installed }),
      ]),
      ...PACKAGE_KINDS.flatMap((kind) => {
        const runtime = runtimeFor(kind, settings);
        return runtime === undefined
          ? []
          : [createRuntimeReconciler(kind, settings, runtime, runtimes, certificates, accounts)];
      }),
      // A controller outside has accounts of its own.
      ...(runtimesInUse(settings).length > 0 ? [createServiceAccountReconciler(settings, accounts)] : []),
      createLockReconciler(installed),
      ...builtIn.map((runtime) => createRuntimeConfigReconciler(runtime, runtimes)),
      ...(settings.manageRbac ? [createProviderRbacReconciler(settings, runtimes)] : []),
    ],
    ...(settings.runtimeConfig.warning === undefined ? {} : { warnings: [settings.runtimeConfig.warning] }),
    flags: FLAGS,
    withFlags: (values, env) =>
      createCrossplane({ source: registrySourceOf(values, env), ...given, ...settingsOf(values) }),
    reports: [createPackagesReport(runtimes)],
    commands: COMMANDS,
    program: PROGRAM,
  });
}

export default createCrossplane();
