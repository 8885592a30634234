import { type Operator, operator } from '@capstan/reconcile';
import { ADMISSION } from './admission.ts';
import { COMMANDS } from './commands/program.ts';
import { configurationChanges } from './deployment/configuration-changes.ts';
import { CONFIGURATION_FINALIZER } from './deployment/finalizer.ts';
import { gatewayKinds } from './gateway/api/objects.ts';
import { provisionGateway, readParameters } from './gateway/provisioning/provision-gateway.ts';
import { gatewayClassStatus } from './gateway/reconcilers/gateway-class-status.ts';
import { ExtensionService } from './kinds/extension-service.ts';
import { HTTPProxy } from './kinds/http-proxy.ts';
import { SesameConfiguration, SesameDeployment } from './kinds/index.ts';
import { TLSCertificateDelegation } from './kinds/tls-certificate-delegation.ts';
import { createSesameDeploymentReconciler } from './reconcilers/sesame-deployment.ts';
import { DEFAULT_SETTINGS, FLAGS, type Settings, settingsOf } from './settings.ts';

/** Every program that Sesame consists of, by the command that starts it. Each is loaded when it is started. */
export const PROGRAMS = {
  /** One in a cluster: deploys Sesame and Envoy for each SesameDeployment. */
  operator: () => Promise.resolve({ createSesame }),
  /** Each pod of Sesame: the control plane, which reads routes and programs Envoys. */
  serve: () => import('./program/serve.ts'),
  /** Each pod of Envoy, before it starts: its bootstrap. */
  bootstrap: () => import('./bootstrap/bootstrap.ts'),
  /** Each pod of Envoy, beside it: holds its end until connections are closed. */
  'envoy shutdown-manager': () => import('./commands/envoy-shutdown-manager.ts'),
} as const;

/** The program `operator`: deploys Sesame and Envoy for each SesameDeployment. */
export function createSesame(given: Partial<Settings> = {}): Operator {
  const settings = { ...DEFAULT_SETTINGS, ...given };
  const kinds = gatewayKinds();
  const { gatewayControllerName: controllerName } = settings;
  return operator({
    name: 'sesame',
    alsoWritesAs: ['sesame-serve', 'sesame-routes'],
    alsoHolds: [CONFIGURATION_FINALIZER],
    description: 'Ingress: deployments of Sesame and Envoy, and their configuration.',
    // Those of routes too: every Sesame that is deployed reads them.
    kinds: [SesameConfiguration, SesameDeployment, HTTPProxy, TLSCertificateDelegation, ExtensionService],
    reconcilers: [
      createSesameDeploymentReconciler(settings),
      provisionGateway({ kinds, controllerName }),
      gatewayClassStatus({
        kind: kinds.GatewayClass,
        reads: [SesameDeployment],
        isOurs: (_read, name) => name === controllerName,
        parametersProblem(read, { parametersRef }) {
          const found = parametersRef && readParameters(read, parametersRef);
          return found && !found.isOk ? found.problem : undefined;
        },
      }),
    ],
    admission: ADMISSION,
    sinks: [configurationChanges],
    // With the whole of `sesame serve`: loaded when a plan asks for it.
    instances: async (context) => (await import('./program/find-instances.ts')).findInstances(context),
    commands: COMMANDS,
    flags: FLAGS,
    withFlags: (values) => createSesame({ ...given, ...settingsOf(values) }),
  });
}

export default createSesame();
